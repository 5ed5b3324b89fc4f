package foreign

import (
	"fmt"

	"isochrone/sweep/convert/jsontext"
)

// isFpingRecord says whether a JSON object is a record of fping's: one member, of a known name, with
// what that has. Of a record that was cut, what is there must fit.
func isFpingRecord(v jsontext.Value) bool {
	if v.Len() != 1 {
		return false
	}
	for name, inner := range v.Members() {
		switch name {
		case "resp":
			return inner.Has("host", "seq", "rtt")
		case "timeout":
			return inner.Has("host", "seq")
		case "summary", "intSum":
			return inner.Has("host", "xmt", "rcv")
		case "vSum":
			return inner.Has("host", "values")
		case "stats":
			return inner.Has("icmpEchosSent", "targets")
		}
	}
	return false
}

// takeRecord takes a record. Types and members that are not known are ignored, as fping asks for.
func (r *fpingReader) takeRecord(line []byte, where string) error {
	text, fault := jsontext.Parse(line, jsontext.Options{NaN: true})
	if fault != nil {
		return &Fault{Offset: NoOffset, Reason: fmt.Sprintf("byte %d of the line: %s", fault.Offset, fault.Text)}
	}
	for kind, v := range text.Root().Members() {
		host := v.Get("host").Text()
		if host == "" {
			continue
		}
		if err := r.record(kind, host, v, where); err != nil {
			return err
		}
	}
	return nil
}

func (r *fpingReader) record(kind, host string, v jsontext.Value, where string) error {
	place := func(name string) string { return where + ", " + kind + "." + name }
	ms := func(name string) Quantity { return quantityOf(v.Get(name), "ms", place(name)) }
	switch kind {
	case "resp", "timeout", "summary", "vSum":
	case "intSum":
		r.intervals++
		return nil
	default:
		return nil
	}
	t, err := r.target(host, true)
	if err != nil {
		return err
	}
	t.place = where
	stamp := Quantity{Text: v.Get("timestamp").Text(), Where: place("timestamp")}
	switch kind {
	case "resp", "timeout":
		seq, err := quantityOf(v.Get("seq"), "", place("seq")).count()
		if err != nil {
			return err
		}
		if seq == nil {
			return &Fault{Offset: NoOffset, Reason: kind + " without its seq"}
		}
		if kind == "timeout" {
			t.lost(int64(*seq), stamp)
			return nil
		}
		rtt := ms("rtt")
		if !rtt.there() {
			return &Fault{Offset: NoOffset, Reason: "resp without its rtt"}
		}
		return t.reply(int64(*seq), rtt, stamp)
	case "summary":
		t.sum(quantityOf(v.Get("xmt"), "", place("xmt")), quantityOf(v.Get("rcv"), "", place("rcv")), ms("rttMin"), ms("rttAvg"), ms("rttMax"))
	case "vSum":
		list := v.Get("values")
		if list.Kind() != jsontext.Array {
			return &Fault{Offset: NoOffset, Reason: "vSum without its values"}
		}
		values := make([]Quantity, 0, list.Len())
		for _, inner := range list.Values() {
			values = append(values, quantityOf(inner, "ms", place("values")))
		}
		return t.list(values)
	}
	return nil
}
