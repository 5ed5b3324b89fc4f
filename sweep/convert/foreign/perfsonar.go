package foreign

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

// perfsonar reads what pScheduler hands out: a run with its task, as its archivers write it; a run as
// its REST interface shows it; a bare result, as pscheduler task --format json prints it; a point of
// an esmond archive that holds such a result (event type pscheduler-raw); and lists of them, as an
// array or one a line.
var perfsonar = &Format{Name: "perfsonar", Title: "perfSONAR's pScheduler results and archives",
	recognise: isPerfsonar, read: readPerfsonar}

// The result is often beyond the head: the run, which stands in front of it, repeats the tool's output.
func isPerfsonar(h *Head) bool {
	v := h.object()
	switch {
	case perfsonarTest(v).Get("type").Kind() == jsontext.String && perfsonarTest(v).Get("spec").Kind() == jsontext.Object:
		return v.Has("participants") || v.Has("schedule", "tool") || v.Has("run", "task") || v.Has("result", "run")
	case v.Has("participants") && (v.Has("result-merged") || v.Has("result-full")):
		return true
	case v.Get("ts").Kind() == jsontext.Number && v.Get("val").Kind() == jsontext.Object:
		return perfsonarType(v.Get("val")) != ""
	}
	return perfsonarType(v) != ""
}

// perfsonarTest is the test that a run belongs to. pScheduler 4.2.1 left it out in some runs; the task
// repeats it.
func perfsonarTest(v jsontext.Value) jsontext.Value {
	if t := v.Get("test"); t.Kind() == jsontext.Object {
		return t
	}
	return v.Get("task", "test")
}

// perfsonarType is the type of test that a bare result is of, by its members; empty for none.
func perfsonarType(r jsontext.Value) string {
	switch {
	case r.Has("roundtrips", "loss", "succeeded"):
		return "rtt"
	case r.Has("packets-sent", "packets-lost", "histogram-latency"), r.Has("packets-sent", "max-clock-error"):
		return "latency"
	case r.Get("summary", "summary").Has("throughput-bits"), r.Get("intervals").At(0).Get("summary").Has("throughput-bits"):
		return "throughput"
	case r.Has("paths", "schema", "succeeded"):
		return "trace"
	}
	return ""
}

// perfsonarReader goes through a text, value by value.
type perfsonarReader struct {
	d      *Document
	text   []byte
	base   int    // where the value begins that is read
	prefix string // in front of places: which value of several
}

func readPerfsonar(in io.Reader, d *Document) error {
	text, err := readText(in)
	if err != nil {
		return err
	}
	p := &perfsonarReader{d: d, text: text}
	for n := 0; ; n++ {
		for p.base < len(text) && strings.IndexByte(" \t\r\n", text[p.base]) >= 0 {
			p.base++
		}
		if p.base == len(text) {
			return nil
		}
		if d.lost(MaxFindings, Fault{Offset: int64(p.base)}) {
			return nil
		}
		if n > 0 {
			p.prefix = fmt.Sprintf("value %d: ", n+1)
		}
		more, err := p.value()
		if err != nil || !more {
			return err
		}
	}
}

// value reads the value that begins at the base, and moves behind it. One that ends with its line is
// read alone, so that a line that is damaged takes no other with it.
func (p *perfsonarReader) value() (more bool, err error) {
	rest := p.text[p.base:]
	end := len(rest)
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		end = i
	}
	t, fault := jsontext.Parse(rest[:end], jsontext.Options{})
	whole := fault != nil && fault.Cut && end < len(rest)
	if whole {
		if t, fault = jsontext.Parse(rest, jsontext.Options{Trailing: true}); fault == nil {
			end = len(rest) - len(t.Rest())
		}
	}
	if err := p.document(t.Root()); err != nil {
		return false, err
	}
	if fault != nil {
		p.leave(fault.Offset, "%s", fault.Text)
		if whole {
			return false, nil
		}
	}
	p.base += end
	return true, nil
}

// leave notes a part that is left out; offset counts from the base.
func (p *perfsonarReader) leave(offset int64, format string, args ...any) {
	f := Fault{Offset: int64(p.base) + offset, Where: strings.TrimSuffix(p.prefix, ": "), Reason: fmt.Sprintf(format, args...)}
	if p.d.LeftCount < MaxFaults {
		f.Line = 1 + bytes.Count(p.text[:f.Offset], []byte("\n"))
	}
	p.d.leave(f)
}

func (p *perfsonarReader) document(v jsontext.Value) error {
	if v.Kind() != jsontext.Array {
		return p.run(v)
	}
	prefix := p.prefix
	defer func() { p.prefix = prefix }()
	for i, one := range v.Values() {
		p.prefix = fmt.Sprintf("%s[%d].", prefix, i)
		if one.Kind() == jsontext.Array {
			p.leave(one.Offset(), "an array stands where a run should")
		} else if err := p.run(one); err != nil {
			return err
		}
	}
	return nil
}

// perfsonarRun is one run with what is known around its result.
type perfsonarRun struct {
	*perfsonarReader
	f      Finding
	kind   string // of test: rtt, latency …
	tool   string
	spec   jsontext.Value
	result jsontext.Value
	at     string // where the result stands, with a dot behind it
}

// run reads one run, if the text ended in no part of it that matters.
func (p *perfsonarReader) run(v jsontext.Value) error {
	r := &perfsonarRun{perfsonarReader: p, spec: perfsonarTest(v).Get("spec"), kind: perfsonarTest(v).Get("type").Text(), tool: v.Get("tool", "name").Text()}
	if r.tool == "" {
		r.tool = v.Get("task", "tool").Text()
	}
	about := v.Get("run")
	if v.Has("result-merged") || v.Has("result-full") {
		about = v
	}
	r.find(v, about)
	if r.kind == "" {
		r.kind = perfsonarType(r.result)
	}
	switch {
	case v.Kind() != jsontext.Object:
		p.leave(v.Offset(), "%s stands where a run should", v.Kind())
		return nil
	case r.spec.Cut() || about.Kind() == jsontext.Object && about.Cut() || r.result.Cut() || r.result.Kind() == jsontext.Absent && v.Cut():
		p.leave(v.Offset(), "the run is not told to its end")
		return nil
	case r.kind == "":
		p.leave(v.Offset(), "it does not say which test it is of, and its result does not either")
		return nil
	}
	err := r.describe(v, about)
	if err == nil {
		var told bool
		if told, err = r.outcome(about); err == nil && !told {
			return nil
		}
	}
	if fault, ok := err.(*Fault); ok {
		p.leave(v.Offset(), "%s", fault.Error())
		return nil
	}
	if err != nil {
		return err
	}
	return p.d.add(r.f)
}

// find looks for the result: beside the test, in the run, as an archive's value, or it is the whole.
func (r *perfsonarRun) find(v, about jsontext.Value) {
	places := []struct {
		result jsontext.Value
		at     string
	}{{v.Get("result"), "result."}, {v.Get("result-merged"), "result-merged."}, {about.Get("result-merged"), "run.result-merged."}}
	if v.Get("ts").Kind() == jsontext.Number {
		places = append(places, struct {
			result jsontext.Value
			at     string
		}{v.Get("val"), "val."})
	}
	for _, p := range places {
		if p.result.Kind() != jsontext.Object {
			continue
		}
		r.result, r.at = p.result, p.at
		if inner := p.result.Get("result"); inner.Kind() == jsontext.Object { // as a tool hands it to pScheduler
			r.result, r.at = inner, p.at+"result."
		}
		return
	}
	if perfsonarType(v) != "" {
		r.result = v
	}
}

// place is where a member of the result stands.
func (r *perfsonarRun) place(name string) string { return r.prefix + r.at + name }

// told is a figure of the result.
func (r *perfsonarRun) told(unit string, names ...string) Quantity {
	return quantityOf(r.result.Get(names...), unit, r.place(strings.Join(names, ".")))
}

// describe fills in what the run says beside its result.
func (r *perfsonarRun) describe(v, about jsontext.Value) error {
	f := &r.f
	f.Tool = strings.TrimSpace("perfSONAR " + r.tool)
	f.Variant = r.kind
	if r.tool != "" {
		f.Variant += "-" + r.tool
	}
	f.From, f.To = r.spec.Get("source").Text(), r.spec.Get("dest").Text()
	if f.From == "" { // a test without a source runs at the first participant
		f.From = v.Get("participants").At(0).Text()
	}
	f.Run.Kind = r.measures()
	for _, t := range []struct {
		text  string
		where string
	}{{about.Get("start-time").Text(), "run.start-time"}, {v.Get("schedule", "start").Text(), "schedule.start"}} {
		if t.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, t.text)
		if err != nil {
			return &Fault{Offset: NoOffset, Where: r.prefix + t.where, Reason: fmt.Sprintf("%.40q is no time with an offset from UTC", t.text)}
		}
		f.began(at, Quantity{Text: t.text, Where: r.prefix + t.where})
		break
	}
	if at, ok := perfsonarSeconds(v.Get("ts")); ok && f.Run.Start == nil {
		f.began(at, Quantity{Text: v.Get("ts").Text(), Unit: "s since 1970", Where: r.prefix + "ts"})
	}
	if end := about.Get("end-time").Text(); end != "" && f.Run.Start != nil {
		if at, err := time.Parse(time.RFC3339, end); err == nil && !at.Before(*f.Run.Start) {
			at = at.UTC()
			f.Run.End = &at
			f.explain("end", Quantity{Text: end, Where: r.prefix + "run.end-time"})
		}
	}
	return nil
}

// perfsonarSeconds is a time that an archive gives in seconds since 1970.
func perfsonarSeconds(v jsontext.Value) (time.Time, bool) {
	n, err := Quantity{Text: v.Text()}.in(map[string]float64{"": 1}, 0, float64(horizon.Unix()), "a time")
	if v.Kind() != jsontext.Number || n == nil || err != nil {
		return time.Time{}, false
	}
	return time.Unix(int64(*n), 0), true
}

// measures is the kind of row that the test makes. A trace says which way packets went, and the round
// trip of its last hop.
func (r *perfsonarRun) measures() wire.Kind {
	switch r.kind {
	case "latency", "latencybg":
		return wire.KindUDP
	case "throughput":
		return wire.KindThroughput
	case "trace":
		return "trace"
	}
	switch r.tool {
	case "ping":
		return wire.KindICMP
	case "twping":
		return wire.KindUDP
	case "tcpping":
		return wire.KindConnect
	}
	return "rtt" // a bare result does not say by what it was measured
}

// outcome reads the result, or why there is none. Told is false when the run is left out, which has
// been noted then.
func (r *perfsonarRun) outcome(about jsontext.Value) (told bool, err error) {
	state := about.Get("state").Text()
	if r.result.Kind() != jsontext.Object {
		switch state {
		case "pending", "on-deck", "running", "cleanup":
			r.leave(about.Offset(), "the run has not ended: it is %s", state)
			return false, nil
		case "missed", "preempted", "nonstart", "canceled", "overdue":
			r.fail(wire.FailureCanceled, strings.TrimSpace("the run was "+state+"; "+about.Get("errors").Text()), "run.state")
			return true, nil
		}
		why := strings.TrimSpace(about.Get("errors").Text())
		if why == "" {
			why = "the run has no result"
		}
		r.fail(perfsonarFailure(why), why, "run.errors")
		return true, nil
	}
	if twice := r.result.Twice("succeeded", "roundtrips", "sent", "received", "lost", "packets-sent", "packets-received", "packets-lost", "histogram-latency", "max-clock-error", "summary", "paths"); twice != nil {
		return false, &Fault{Offset: NoOffset, Where: strings.TrimSuffix(r.place(""), "."), Reason: twice.Text}
	}
	if ok := r.result.Get("succeeded"); ok.Kind() == jsontext.Truth && !ok.True() {
		why := strings.TrimSpace(r.result.Get("error").Text())
		r.fail(perfsonarFailure(why), why, r.at+"error")
		return true, nil
	}
	switch r.kind {
	case "rtt":
		return true, r.roundTrips()
	case "latency", "latencybg":
		return true, r.latency()
	case "throughput":
		return true, r.throughput()
	case "trace":
		return true, r.trace()
	}
	r.leave(r.result.Offset(), "results of a test of type %.40q are not read", r.kind)
	return false, nil
}

// fail makes the run a failed one.
func (r *perfsonarRun) fail(code wire.Failure, why, where string) {
	r.f.Run.Failure, r.f.Run.Detail = code, why
	r.f.explain("failure", Quantity{Text: why, Where: r.prefix + where})
}

// perfsonarFailure sorts the tool's own words.
func perfsonarFailure(words string) wire.Failure {
	words = strings.ToLower(words)
	for _, c := range []struct {
		code wire.Failure
		any  []string
	}{
		{wire.FailureRefused, []string{"refused"}},
		{wire.FailureDNS, []string{"name or service not known", "unknown host", "resolve", "resolution", "can't find same-family", "no address associated"}},
		{wire.FailureUnreachable, []string{"unreachable", "no route", "prohibited"}},
		{wire.FailureTargetBusy, []string{"busy", "resources unavailable"}},
		{wire.FailureUnauthorized, []string{"unauthorized", "authoriz", "authentic", "denied", "limits"}},
		{wire.FailureReset, []string{"reset by peer", "broken pipe", "closed"}},
		{wire.FailureTimeout, []string{"timed out", "timeout", "time out", "took too long"}},
	} {
		for _, w := range c.any {
			if strings.Contains(words, w) {
				return c.code
			}
		}
	}
	return wire.FailureLocal
}
