// Package wire holds what the app and the probers say to each other: registrations,
// assignments, result documents, the session handshake and the names of the blobs they
// travel in. It is the one package that both sides import, so it imports nothing of the
// project, does no input or output, and knows nothing of storage accounts.
//
// The normative description of every type is docs/formats.md; a change edits that page, the
// version constant and the golden file together.
package wire

import "time"

// Versions of what is exchanged. The app reads documents of the current version and the one
// before; a registration lists the assignment versions that its prober reads.
const (
	DocumentVersion     = 1
	AssignmentsVersion  = 1
	RegistrationVersion = 1
)

// Limits that both sides hold, so that neither can make the other store or unpack without end.
const (
	// MaxSamples is the most samples that one document may hold, warm-up left out. The planner
	// splits assignments so that none exceeds it.
	MaxSamples = 100_000
	// MaxDocumentBytes is the most bytes that a document may unpack to.
	MaxDocumentBytes = 32 << 20
	// MaxRuns is the most runs that one assignment, and so one document, may hold.
	MaxRuns = 1000
	// MaxDetailBytes is the longest free text that goes with a failure; longer is cut.
	MaxDetailBytes = 300
	// MaxMessageBytes is the largest request or response of the tcp kind.
	MaxMessageBytes = 1 << 20
	// MaxTimeout is the longest that a sample may wait for its reply. It lies well within the
	// range of the histograms, so that every received sample fits them.
	MaxTimeout = time.Minute
)
