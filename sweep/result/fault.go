package result

import "errors"

// What both stores say in the same words, so that those who may not import them can tell what
// to try again from what is final. Every other error of a store is a fault that may pass.
var (
	// ErrRefused is in the chain of every error that says that the service was not asked,
	// because it would refuse the data or their name, or because they belong to another
	// environment. Trying again gives the same.
	ErrRefused = errors.New("refused")
	// ErrTaken is in the chain of the error for a foreign run whose row another document has.
	ErrTaken = errors.New("another document's run is stored there")
	// ErrChanged is in the chain of the error for what somebody else changed since it was read.
	// Reading and deciding once more is the remedy.
	ErrChanged = errors.New("changed by somebody else")
)
