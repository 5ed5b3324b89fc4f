package foreign

import (
	"errors"
	"io"
	"regexp"
	"strings"
)

// sockperf measures round trips of messages on sockets, and prints half of them unless it is told
// --full-rtt: the label decides, latency or rtt. Both come as its text and as the log of every
// message (--full-log), and of the client only: the server prints no figures.
//
// Source: Mellanox/sockperf, src/client.cpp.
var sockperf = &Format{Name: "sockperf", Title: "the text of sockperf's client, and its --full-log", Streams: true,
	recognise: isSockperf,
	read: func(in io.Reader, d *Document) error {
		return (&sockperfReader{d: d, lines: newNumberedLines(in), room: newSampleRoom()}).read()
	},
}

var (
	// sockperfColour is a terminal's colour, or what is left of it where the escape character was lost.
	sockperfColour  = regexp.MustCompile("\x1b?\\[[0-9;]+m")
	sockperfVersion = regexp.MustCompile(`^sockperf: == version #(\S+) == ?`)
	sockperfPeer    = regexp.MustCompile(`^\[ *\d+\] IP = (\S+) +PORT = +(\d+) +# (TCP|UDP)`)
	sockperfServer  = regexp.MustCompile(`^Printing statistics for Server No: (\d+)$`)
)

const sockperfLogBegins = "test was performed using the following parameters: --mps="

func isSockperf(h *Head) bool {
	for _, line := range h.lines(20) {
		line = sockperfColour.ReplaceAllString(line, "")
		if sockperfVersion.MatchString(line) || strings.HasPrefix(line, sockperfLogBegins) ||
			strings.HasPrefix(line, "sockperf: [Total Run] RunTime=") || strings.HasPrefix(line, "sockperf: ERROR: ") {
			return true
		}
	}
	return false
}

// sockperfReader follows the text of one client after the other.
type sockperfReader struct {
	d     *Document
	lines *numberedLines
	room  *int
	run   *sockperfRun // nil before the first
}

func (r *sockperfReader) read() error {
	for {
		line, err := r.lines.read()
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
		if r.run != nil && r.run.section.isRow(line) {
			if f := r.run.section.row(line, r.lines); f != nil {
				r.d.leave(*f)
			}
			continue // a log has millions of them
		}
		if strings.Contains(line, "[") {
			line = sockperfColour.ReplaceAllString(line, "")
		}
		if err := r.take(line); err != nil {
			return err
		}
	}
}

func (r *sockperfReader) begin() {
	r.run = &sockperfRun{begins: r.lines.line, section: r.section()}
}

func (r *sockperfReader) section() sockperfSection {
	return sockperfSection{samples: sampleList{room: r.room}}
}

// take reads one line.
func (r *sockperfReader) take(line string) error {
	version := sockperfVersion.FindStringSubmatch(line)
	if version != nil || strings.HasPrefix(line, sockperfLogBegins) {
		if err := r.end(); err != nil {
			return err
		}
		r.begin()
		r.run.log = version == nil
		if version != nil {
			r.run.version = version[1]
		}
		return nil
	}
	if r.run == nil {
		if !strings.HasPrefix(line, "sockperf: ") {
			return nil
		}
		r.begin() // its first lines are missing
	}
	if m := sockperfServer.FindStringSubmatch(line[max(strings.Index(line, "Printing statistics"), 0):]); m != nil {
		if s := &r.run.section; s.measured() || s.failure != "" {
			if err := r.run.hand(r.d); err != nil {
				return err
			}
		}
		r.run.section = r.section()
		r.run.section.server = m[1]
		return nil
	}
	if f := r.run.take(line, r.lines); f != nil {
		r.d.leave(*f)
	}
	return nil
}

// end hands over the run that was read.
func (r *sockperfReader) end() error {
	run := r.run
	r.run = nil
	if run == nil {
		return nil
	}
	return run.hand(r.d)
}
