package inbox

import "time"

// Archived is a document that is stored, as a listing shows it.
type Archived struct {
	Name    string // of its blob, container in front
	Size    int64  // bytes
	Created time.Time
	// Day is that of the folder which it lies in (UTC).
	Day time.Time

	// Source, Slot and Assignment are those of a prober's document.
	Source     string
	Slot       time.Time
	Assignment string
	// Sum is the hash of a foreign document and its parameters.
	Sum string
}

// Held is what lies in quarantine: a body and why it was refused.
type Held struct {
	Name    string    // of the body's blob, container in front; empty when only the reason is left
	SHA256  string    // of the body, in hexadecimal
	Day     time.Time // of the folder which it lies in (UTC): when the body came
	Size    int64     // bytes
	Created time.Time
	// Why is the reason. Of one that cannot be read Text says so, and the rest is empty.
	Why Reason
	// WhyName is the reason's blob, container in front; empty when only the body is left.
	WhyName string
}
