package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"isochrone/sweep/convert/jsontext"
)

// fping is what fping prints: its lines and summaries, and the JSON records of version 5.3 and later
// (doc/fping-json.md of its repository). A finding is a target.
var fping = &Format{Name: "fping", Title: "fping -J and fping's text", Streams: true,
	recognise: isFping,
	read:      readFping,
}

// The limits of a line: a JSON record may hold the round trips of a whole run.
const (
	maxFpingLine = 2 << 20
	fpingHead    = 50 // lines that recognition looks at
	fpingRecords = 5
)

func isFping(h *Head) bool {
	if h.json.Kind() == jsontext.Object {
		if isFpingRecord(h.json) {
			return true
		}
		for i, line := range bytes.SplitN(h.text, []byte("\n"), fpingRecords+1) { // records of types to come may stand in front
			if t, _ := jsontext.Parse(line, jsontext.Options{}); i < fpingRecords && isFpingRecord(t.Root()) {
				return true
			}
		}
		return false
	}
	lines := fpingHeadLines(h)
	likely, values := false, -1
	for i, line := range lines {
		f := parseFpingLine(strings.TrimRight(line, " \t\r"))
		switch f.kind {
		case fpingReply, fpingTimeout, fpingCounts, fpingRefusal:
			return true
		case fpingList:
			// Others write a name, a colon and numbers too: fping, of hosts, and as many for each.
			n := len(strings.Fields(f.rest))
			if !strings.ContainsAny(f.host, ".:") && f.host != "localhost" || values >= 0 && n != values && i < len(lines)-1 {
				return false
			}
			likely, values = true, n
		case fpingAlive, fpingDead:
			likely = true
		case fpingOther:
			if i < len(lines)-1 || i == 0 { // the last may be cut
				return false
			}
		}
	}
	return likely
}

// fpingHeadLines are the first lines. A time stamp or a clock in brackets looks like a JSON array.
func fpingHeadLines(h *Head) []string {
	if h.json.Kind() != jsontext.Array {
		return h.lines(fpingHead)
	}
	lines := strings.SplitN(string(h.text), "\n", fpingHead+1)
	return lines[:min(len(lines), fpingHead)]
}

// fpingReader gathers the targets' runs.
type fpingReader struct {
	d       *Document
	targets map[string]*fpingTarget
	order   []*fpingTarget
	budget  *echoBudget
	seen    map[string]int // finished runs, by target
	// interval holds the targets of which the summary of the interval that was announced last is there.
	interval  map[string]bool
	intervals int // summaries of intervals
	tooMany   bool
}

func readFping(in io.Reader, d *Document) error { return readFpingWithin(in, d, newEchoBudget()) }

func readFpingWithin(in io.Reader, d *Document, budget *echoBudget) error {
	r := &fpingReader{d: d, targets: map[string]*fpingTarget{}, budget: budget, seen: map[string]int{}}
	buffered := bufio.NewReaderSize(in, 64<<10)
	for n := 1; ; n++ {
		line, long, err := fpingLine(buffered)
		if long {
			d.leave(Fault{Line: n, Offset: NoOffset, Reason: fmt.Sprintf("a line of more than %d bytes", maxFpingLine)})
		} else if fault := r.take(n, line); fault != nil {
			if f, ok := errors.AsType[*Fault](fault); ok && !r.full() {
				f.Line, f.Where = n, strings.TrimPrefix(strings.TrimPrefix(f.Where, fpingPlace(n)), ", ")
				d.leave(*f)
			} else {
				return fault
			}
		}
		if errors.Is(err, io.EOF) {
			return r.finish()
		}
		if err != nil {
			return err
		}
	}
}

// full says that a limit of the document was passed, so that the rest would be lost one by one.
func (r *fpingReader) full() bool { return r.budget.bins < 0 || r.tooMany }

// fpingLine reads a line, of which no more than the limit is kept in memory.
func fpingLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxFpingLine {
			long, line = true, line[:0]
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), long, err
		}
	}
}

func (r *fpingReader) take(n int, line []byte) error {
	where := fpingPlace(n)
	if text := bytes.TrimSpace(line); len(text) > 0 && text[0] == '{' {
		return r.takeRecord(text, where)
	}
	return r.takeLine(strings.TrimRight(string(line), " \t"), where)
}

// target finds the run of a target that is being read, or begins one. One whose summary was read is over
// when more replies come: somebody appended another run.
func (r *fpingReader) target(host string, more bool) (*fpingTarget, error) {
	t := r.targets[host]
	if t != nil && (!more || !t.summed) {
		return t, nil
	}
	if len(host) > maxHostName {
		return nil, &Fault{Offset: NoOffset, Reason: fmt.Sprintf("%.40q… is no name of a host", host)}
	}
	if len(r.order) >= MaxFindings {
		return nil, r.beyond()
	}
	host = strings.Clone(host) // the line need not be kept with it
	t = &fpingTarget{host: host, echoes: echoes{budget: r.budget}}
	r.targets[host] = t
	r.order = append(r.order, t)
	return t, nil
}

// beyond ends the reading of a document that has more targets than one may have.
func (r *fpingReader) beyond() error {
	r.tooMany = true
	return &Fault{Offset: NoOffset, Reason: fmt.Sprintf("more than %d runs in one document: split it", MaxFindings)}
}

func (r *fpingReader) finish() error {
	for _, t := range r.order {
		f, faults := t.finding()
		for _, fault := range faults {
			r.d.leave(*fault)
		}
		if f == nil {
			continue
		}
		if f.Run.Start == nil {
			r.seen[f.To]++
			f.Variant = nthRun(r.seen[f.To])
		}
		if err := r.d.add(*f); err != nil {
			return err
		}
	}
	if r.intervals > 0 && len(r.d.Findings) == 0 {
		r.d.leave(Fault{Offset: NoOffset, Reason: "it has summaries of intervals alone, and none of the whole: fping writes that one when it is ended by SIGINT"})
	}
	return nil
}
