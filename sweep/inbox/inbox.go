// Package inbox holds the words for what reaches the app through storage: what the probers say of
// themselves, the documents that wait, and what became of a document. The archive package keeps
// them; dispatch and ingest, which may not import it, work on them.
package inbox

import (
	"errors"
	"time"
)

// Registered is a prober's registration as it wrote it. Nobody has looked at it yet.
type Registered struct {
	// Prober is the id that the blob's path says. Storage lets nobody else write there.
	Prober string
	// Body is empty when the registration is larger than any could be.
	Body []byte
}

// Item is a document that waits.
type Item struct {
	Name     string // within the inbox container: <prober>/… or _http/…
	ETag     string
	Attempts int // how often it was taken and not given back
	Size     int64
	Created  time.Time
	// Meta is the parameters that a foreign document came with; nil for a prober's document.
	Meta map[string]string
}

// ErrTooLarge is in the chain of the error for a blob that is larger than its kind may be. An
// item of the inbox is taken all the same, and its beginning is returned.
var ErrTooLarge = errors.New("too large")

// ErrLocked is in the chain of the error for an item that storage does not let the app count, read or
// remove, and nothing the app may do changes that: its sender holds a lease that the app may not
// break, or has archived it or encrypted it with a key of its own. It waits until its sender, or an
// operator, sets it free.
var ErrLocked = errors.New("locked by its sender")

// ErrWaiting is in the chain of the error for a document that lies in the inbox already.
var ErrWaiting = errors.New("it lies in the inbox already")

// Outcome says what came of storing a document.
type Outcome int

// The outcomes.
const (
	// Stored: the document is new.
	Stored Outcome = iota + 1
	// Same: it was stored before, byte for byte.
	Same
	// Conflict: another document is stored for the assignment, and stays.
	Conflict
)

// String is the outcome's word for logs.
func (o Outcome) String() string {
	switch o {
	case Stored:
		return "stored"
	case Same:
		return "same"
	case Conflict:
		return "conflict"
	}
	return "unknown"
}

// Reason says why something is in quarantine.
type Reason struct {
	Origin   string    `json:"origin"` // the inbox blob, or where it came from
	Stage    string    `json:"stage"`  // how far it came
	Text     string    `json:"text"`   // for a person to act on
	Attempts int       `json:"attempts"`
	When     time.Time `json:"when"`
	// Parameters are those that a foreign document came with.
	Parameters map[string]string `json:"parameters,omitempty"`
}
