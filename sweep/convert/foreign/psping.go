package foreign

import (
	"errors"
	"io"
	"regexp"
	"strings"

	"isochrone/prober/wire"
)

// PsPing is a Windows tool with four tests: TCP connects, ICMP echoes, round trips of messages, and
// bandwidth. Its times have two decimal places of a millisecond. Its histogram (-h) tells only the
// lower edges of few bins: nothing is computed from it.
//
// Source: the documentation of Sysinternals and what people have published of its output.
var psping = &Format{Name: "psping", Title: "PsPing's text", Streams: true,
	recognise: isPsPing,
	read: func(in io.Reader, d *Document) error {
		return (&pspingReader{d: d, lines: newNumberedLines(in), room: newSampleRoom()}).read()
	},
}

var (
	pspingBanner = regexp.MustCompile(`^PsPing v(\d[\w.]*) - `)
	pspingWarmup = regexp.MustCompile(`^(?:\d+|Infinite) (?:iterations|seconds) \((?:warmup (\d+)|(\d+) warmup(?: pings)?)\)`)
)

// pspingTests are the lines with which a test begins; groups: the transport where it is named, and
// the destination.
var pspingTests = []struct {
	form *regexp.Regexp
	test string
}{
	{regexp.MustCompile(`^()TCP connect to (\S+):$`), "connect"},
	{regexp.MustCompile(`^()Pinging (\S+)(?: \[\S+\])? with \d+ bytes of data:$`), "icmp"},
	{regexp.MustCompile(`^(TCP|UDP) latency test connecting to (\S+):`), "latency"},
	{regexp.MustCompile(`^(TCP|UDP) bandwidth test connecting to (\S+):`), "bandwidth"},
}

// pspingTest is the run that a line begins, or nil.
func pspingTest(line string) *pspingRun {
	for _, t := range pspingTests {
		m := t.form.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		r := &pspingRun{test: t.test, udp: m[1] == "UDP", destination: m[2]}
		switch {
		case t.test == "connect":
			r.kind = wire.KindConnect
		case t.test == "icmp":
			r.kind = wire.KindICMP
		case t.test == "bandwidth":
			r.kind = wire.KindThroughput
		case r.udp:
			r.kind = wire.KindUDP
		default:
			r.kind = wire.KindTCP
		}
		return r
	}
	return nil
}

// isPsPing asks for the banner, or for the two lines with which a test begins: the first alone may be
// the ping of Windows.
func isPsPing(h *Head) bool {
	test := false
	for _, line := range h.lines(20) {
		if pspingBanner.MatchString(line) || test && pspingWarmup.MatchString(line) {
			return true
		}
		test = pspingTest(line) != nil
	}
	return false
}

// pspingReader follows one test after the other.
type pspingReader struct {
	d       *Document
	lines   *numberedLines
	room    *int
	version string
	run     *pspingRun // nil before the first
}

func (r *pspingReader) read() error {
	for {
		text, err := r.lines.read()
		if err == io.EOF {
			return r.end()
		}
		if f, ok := errors.AsType[*Fault](err); ok {
			r.d.leave(*f)
			continue
		}
		if err != nil {
			return err
		}
		for line := range strings.SplitSeq(text, "\r") { // progress is written over itself
			if err := r.take(strings.TrimRight(line, " \t")); err != nil {
				return err
			}
		}
	}
}

// take reads one line.
func (r *pspingReader) take(line string) error {
	if m := pspingBanner.FindStringSubmatch(line); m != nil {
		if err := r.end(); err != nil {
			return err
		}
		r.version = m[1]
		return nil
	}
	if run := pspingTest(line); run != nil {
		if err := r.end(); err != nil {
			return err
		}
		run.version, run.begins, run.samples.room = r.version, r.lines.line, r.room
		r.run = run
		return nil
	}
	if r.run == nil {
		return nil
	}
	if f := r.run.take(line, r.lines); f != nil {
		r.d.leave(*f)
	}
	return nil
}

// end hands over the test that was read.
func (r *pspingReader) end() error {
	run := r.run
	r.run = nil
	if run == nil {
		return nil
	}
	f, err := run.finding(r.d)
	if err != nil {
		r.d.leave(Fault{Line: run.begins, Offset: NoOffset, Reason: err.Error()})
		return nil
	}
	return r.d.add(*f)
}
