package probe

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"isochrone/prober/wire"
)

// What a run's own code finds.
var (
	errProtocol     = errors.New("the target broke the protocol")
	errUnauthorized = errors.New("the target did not accept or prove the session's key")
	errUnsupported  = errors.New("this system cannot do that")
	// errStopped marks a run that was stopped, or whose deadline came, before its session stood.
	errStopped = errors.New("stopped before the session was open")
	// errEnded marks a run that was stopped, or whose deadline came, while it was made.
	errEnded = errors.New("stopped before its time")
	// errDeadline is what a read or write returns that a deadline of ours ended.
	errDeadline = os.ErrDeadlineExceeded
)

// failureOf is the one place where an error becomes a failure code. The codes of errors that
// the system reports are in errnoFailures, a table each for Unix and Windows.
func failureOf(err error) wire.Failure {
	var said *refused
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errStopped), errors.Is(err, errEnded): // before what they wrap
		return wire.FailureCanceled
	case errors.Is(err, errUnauthorized): // before what it wraps
		return wire.FailureUnauthorized
	case errors.Is(err, errUnsupported): // before what it wraps
		return wire.FailureUnsupported
	case errors.As(err, &said):
		return said.said.Failure
	case errors.Is(err, errProtocol):
		return wire.FailureProtocol
	case errors.Is(err, context.Canceled):
		return wire.FailureCanceled
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return wire.FailureTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wire.FailureReset // closed while replies were awaited
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if f, ok := errnoFailures[errno]; ok {
			return f
		}
		if errno.Timeout() {
			return wire.FailureTimeout
		}
	}
	// What nobody knows is not blamed on the network: the run's detail has the text.
	return wire.FailureLocal
}
