// Package foreign reads what other tools print: one file a tool.
//
// A format is recognised by what the text is, never by its name. It turns the text into findings, a
// finding a run, with the tool's own figures in the project's units; every figure can say how the
// tool wrote it. What a tool does not say is null. A failed measurement is a finding too, with a
// failure code. Of a text that is damaged, what can be trusted becomes findings, and the rest is
// told with its place.
package foreign

import (
	"fmt"
	"io"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// Finding is one run as another tool tells of it.
type Finding struct {
	// Tool is what measured, with its version as far as the document says: "iperf3 3.12".
	Tool string
	// From and To are what the document calls the two ends, host names or addresses; empty where
	// it does not say. They are not the names of probers: those the caller gives.
	From, To string
	// Source, Target, Path and Probe are our own names, where the document carries them: as series has
	// them, the probe's without "ext.". Empty where it does not; what the caller says goes first.
	Source, Target, Path, Probe string
	// Variant tells findings of the same ends and time apart: a label of JMeter, a measurement. It
	// becomes part of the probe's name.
	Variant string
	// Run holds the kind, the times, the address, failure, detail, counts and TCP_INFO, as far as the
	// document says. Start is when the run began; nil where it does not say. Target, Path,
	// PlannedStart, Samples and histograms are left to the caller.
	Run wire.Run
	// Counted says which of Run.Counts the document tells.
	Counted Counted
	// RTT are the round trips in ns, in the order in which they were sent, lost ones left out; Bins
	// are those of which the order is not told. At most one of the two is there; then Summary's
	// figures of round trips, and the histograms, are computed from them.
	RTT  []int64
	Bins summary.Distribution
	// Summary holds the figures that the document itself gives and that RTT and Bins do not.
	Summary summary.Summary
	// Explained says where figures come from: what --explain shows.
	Explained []Explanation
}

// Counted says which counts a document tells.
type Counted struct {
	Warmup, Sent, Received, Lost, Late, Duplicate, Reordered, PacingViolations bool
}

// Explanation says how the document writes what a row's column holds.
type Explanation struct {
	Column   string // of the row: rtt_min_us
	Original string // the text in the document
	Unit     string // its unit there, as the tool means it; empty for a count or a name
	Where    string // the place: end.sum_received.bits_per_second, or line 7
}

// Fault is a part of a document that was left out, and why.
type Fault struct {
	Line   int   // from 1; 0 where there is none to name
	Offset int64 // bytes in front of it, in the text as UTF-8; NoOffset where there is none to name
	Where  string
	Reason string
}

// NoOffset is a Fault's Offset when there is no one place to name.
const NoOffset int64 = -1

// Error gives the place and the reason in one line.
func (f *Fault) Error() string {
	if p := f.Place(); p != "" {
		return p + ": " + f.Reason
	}
	return f.Reason
}

// Place is the place as far as it is known.
func (f *Fault) Place() (s string) {
	add := func(format string, args ...any) {
		if s != "" {
			s += ", "
		}
		s += fmt.Sprintf(format, args...)
	}
	if f.Where != "" {
		add("%s", f.Where)
	}
	if f.Line > 0 {
		add("line %d", f.Line)
	}
	if f.Offset >= 0 {
		add("byte %d", f.Offset)
	}
	return s
}

// Document is what a whole text came to.
type Document struct {
	Format   string // its name, such as "iperf3"
	Findings []Finding
	// Left is what could not be read of it, the first MaxFaults; LeftCount counts all.
	Left      []Fault
	LeftCount int
}

// The limits of one document.
const (
	MaxFindings = 10_000
	MaxFaults   = 100
)

// leave notes a part that is left out.
func (d *Document) leave(f Fault) {
	if d.LeftCount++; len(d.Left) < MaxFaults {
		d.Left = append(d.Left, f)
	}
}

// lost says whether more parts than that could not be read, so that the rest is not worth the time,
// and notes where the reading ends.
func (d *Document) lost(most int, at Fault) bool {
	if d.LeftCount <= most {
		return false
	}
	at.Reason = "the rest is not looked at: too much of the text in front of it could not be read"
	d.leave(at)
	return true
}

// add appends a finding.
func (d *Document) add(f Finding) error {
	if len(d.Findings) >= MaxFindings {
		return &Fault{Offset: NoOffset, Reason: fmt.Sprintf("more than %d runs in one document: split it", MaxFindings)}
	}
	f.detach()
	d.Findings = append(d.Findings, f)
	return nil
}

// Format is one tool's way of writing results.
type Format struct {
	Name  string // lower case; the probe's name unless the caller gives one
	Title string // the tool and the options that make it write so, for people
	// Streams says that it is read in constant memory, so that a text may have any size.
	Streams bool

	// recognise says whether a text that begins so is of the format.
	recognise func(*Head) bool
	// read turns the text, UTF-8 without a byte-order mark, into findings. The error is a *Fault when
	// the text is at fault as a whole; any other is the reader's own.
	read func(in io.Reader, d *Document) error
}

// formats are all formats, in the order in which they are tried.
var formats = []*Format{iperf3, ntttcp, mtr, fping, jmeter, lagscope, irtt, nmap, sockperf, psping, ping, ookla, fortio, ndt7, ethr, atlas, perfsonar, connectionMonitor}

// Formats lists the formats, in the order of the documentation.
func Formats() []*Format { return formats }

// Recognise finds the format of a text by its first HeadBytes, or nil.
func Recognise(head []byte) *Format {
	h := newHead(head)
	for _, f := range formats {
		if f.recognise(h) {
			return f
		}
	}
	return nil
}

// Read reads a text of the format: UTF-8 without a byte-order mark. The error is a *Fault when the
// text cannot be trusted in any part; any other is in's own.
func (f *Format) Read(in io.Reader) (*Document, error) {
	d := &Document{Format: f.Name}
	if err := f.read(in, d); err != nil {
		return nil, err
	}
	d.Findings = slices.DeleteFunc(d.Findings, func(f Finding) bool {
		fault := f.check()
		if fault != nil {
			d.leave(*fault)
		}
		return fault != nil
	})
	switch {
	case len(d.Findings) > 0:
		return d, nil
	case len(d.Left) > 0:
		return nil, &d.Left[0]
	}
	return nil, &Fault{Offset: NoOffset, Reason: "it holds no measurement"}
}

// epoch and horizon bound the times that are believed of a document.
var (
	epoch   = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	horizon = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
)
