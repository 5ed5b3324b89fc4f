package convert

import (
	"fmt"

	"isochrone/prober/wire"
)

// Stage is how far a body came before it was refused.
type Stage string

// The stages, in the order in which a body passes them.
const (
	// StageRecognise: the body is none of the formats that this program reads.
	StageRecognise Stage = "recognise"
	// StageUnpack: the gzip stream is damaged, or holds more than a document may.
	StageUnpack Stage = "unpack"
	// StageRead: the text is no well-formed document: syntax, structure or a limit.
	StageRead Stage = "read"
	// StageCheck: the document is well-formed and says something that cannot be.
	StageCheck Stage = "check"
)

// NoOffset is a Refusal's Offset when there is no one place in the body to name.
const NoOffset int64 = -1

// Refusal says why a body was not accepted, in words that the person who sent it can act on.
type Refusal struct {
	Stage Stage
	// Text is what is wrong.
	Text string
	// Where names the place inside the document, such as runs[2].samples.rtt_ns[17]; empty
	// when the whole body is meant.
	Where string
	// Offset is the number of bytes in front of the place, in the unpacked text (at
	// StageUnpack, in what had been unpacked by then), or NoOffset.
	Offset int64
	// Remedy is what to do about it.
	Remedy string
	// TooLarge says that the body broke a limit of size, rather than a rule of form.
	TooLarge bool
}

// Error gives text, place and remedy in one line.
func (r *Refusal) Error() string {
	s := r.Text
	if p := r.Place(); p != "" {
		s = p + ": " + s
	}
	if r.Remedy != "" {
		s += " (" + r.Remedy + ")"
	}
	return s
}

// Place is the place in the document and in the text, as far as they are known.
func (r *Refusal) Place() string {
	switch {
	case r.Offset == NoOffset:
		return r.Where
	case r.Where == "":
		return fmt.Sprintf("byte %d", r.Offset)
	}
	return fmt.Sprintf("%s at byte %d", r.Where, r.Offset)
}

// Remedies that several refusals share.
const (
	remedyFormat = "docs/formats.md lists what a document of version 1 holds"
	remedyAgain  = "it was cut off or damaged on its way: send it again"
	remedySplit  = "split it into several documents"
)

// remedyMost is what to do about a list that is too long: only the runs can go into another document.
func remedyMost(most int) string {
	if most == wire.MaxRuns {
		return remedySplit
	}
	return remedyFormat
}
