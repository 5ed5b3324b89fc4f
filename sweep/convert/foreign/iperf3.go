package foreign

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"isochrone/sweep/convert/jsontext"
)

// iperf3 writes one object a run (-J), or one a line for each event of a run (--json-stream). Either
// may be cut off, follow others in one file, and have text around it.
var iperf3 = &Format{Name: "iperf3", Title: "iperf3 -J and --json-stream", Streams: true,
	recognise: isIperf3,
	read:      readIperf3,
}

func isIperf3(h *Head) bool {
	o := h.object()
	if isIperf3Start(o.Get("start")) {
		return true
	}
	data := o.Get("data")
	switch o.Get("event").Text() {
	case "start":
		return isIperf3Start(data)
	case "interval":
		return data.Get("streams").Kind() == jsontext.Array && data.Has("sum")
	case "error": // before anything was connected: an end with nothing in it follows
		return data.Kind() == jsontext.String && strings.Contains(string(h.text), `{"event":"end","data":{`)
	}
	return false
}

func isIperf3Start(start jsontext.Value) bool {
	return strings.HasPrefix(start.Get("version").Text(), "iperf 3") && start.Get("connected").Kind() == jsontext.Array
}

// iperf3Read are the members that are looked at.
var iperf3Read = map[string]bool{"start": true, "intervals": true, "end": true, "error": true, "extra_data": true, "event": true, "data": true}

func readIperf3(in io.Reader, d *Document) error {
	t := &iperf3Text{in: bufio.NewReaderSize(in, 64<<10), line: 1}
	r := &iperf3Reader{d: d, run: &iperf3Run{}}
	for {
		r.event, r.data, r.single = "", nil, false
		line := t.line
		whole, broken, err := t.next(r.take)
		switch {
		case errors.Is(err, io.EOF):
			return r.finish()
		case err != nil:
			return err
		}
		if err := r.object(whole, broken, line); err != nil {
			return err
		}
	}
}

// iperf3Reader makes runs of what a text is made of.
type iperf3Reader struct {
	d    *Document
	run  *iperf3Run
	last string // the cookie of the run before, and its side

	// Of the object that is being read.
	event  string
	data   *jsontext.Value
	single bool // it is a whole run, as -J writes it
}

// take is what becomes of one part of an object.
func (r *iperf3Reader) take(p iperf3Part) error {
	if !iperf3Read[p.name] {
		return nil // a part of no interest in which the text ends
	}
	if p.tooLong {
		r.leave(p, fmt.Sprintf("more than %d bytes", iperf3Member))
		return nil
	}
	if p.name != "event" && p.name != "data" && !r.single {
		if err := r.finish(); err != nil { // of the stream before
			return err
		}
		r.single = true
	}
	raw := p.raw
	if p.name != "intervals" { // all others are looked at when the whole object is known
		raw = append([]byte(nil), raw...)
	}
	text, fault := jsontext.Parse(raw, jsontext.Options{NaN: true})
	if fault != nil && !(p.cut && fault.Cut) {
		r.d.leave(Fault{Line: p.line + fault.Line - 1, Offset: p.offset + fault.Offset, Where: p.name, Reason: fault.Text})
		return nil
	}
	v := text.Root()
	switch p.name {
	case "event":
		r.event = v.Text()
	case "data":
		r.data = &v
	default:
		r.run.take(p.name, v)
	}
	return nil
}

func (r *iperf3Reader) leave(p iperf3Part, reason string) {
	r.d.leave(Fault{Line: p.line, Offset: p.offset, Where: p.name, Reason: reason})
}

// object is what becomes of an object when all of its parts are known.
func (r *iperf3Reader) object(whole bool, broken error, line int) error {
	if broken != nil {
		r.d.leave(Fault{Line: line, Offset: NoOffset, Reason: "the object that begins here is left out from some place on: " + broken.Error()})
	}
	if r.run.line = line; r.single {
		r.run.ends = whole
		return r.finish()
	}
	if r.data == nil || !whole {
		if broken == nil {
			r.d.leave(Fault{Line: line, Offset: NoOffset, Reason: "an object that iperf3 does not write"})
		}
		return nil
	}
	switch r.event {
	case "start":
		if err := r.finish(); err != nil { // one that did not come to its end
			return err
		}
		r.run.take("start", *r.data)
	case "interval":
		r.run.take("intervals", *r.data)
	case "error":
		r.run.take("error", *r.data)
	case "end":
		r.run.take("end", *r.data)
		r.run.ends = true
		return r.finish()
	}
	return nil
}

// finish makes a finding of the run that was read, if there is one, and begins the next.
func (r *iperf3Reader) finish() error {
	run := r.run
	if r.run = new(iperf3Run); !run.known {
		return nil
	}
	// With --json-stream-full-output a whole document follows the stream of the same run.
	if id := run.id(); id != "" {
		if id == r.last {
			return nil
		}
		r.last = id
	}
	f, err := run.finding(r.d)
	if err != nil || f == nil {
		return err
	}
	return r.d.add(*f)
}
