package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"isochrone/sweep/convert/xmltext"
)

// ntttcpMaxDepth is how deep a document may nest below its root.
const ntttcpMaxDepth = 8

// ntttcpReader reads XML documents one behind the other.
type ntttcpReader struct {
	d       *Document
	out     []*ntttcpEnd // nil for samples without any
	end     *ntttcpEnd   // being read
	samples bool         // it is one of several of a run
	path    []string     // below its root
	metric  string
	value   []byte
}

func ntttcpXML(text []byte, d *Document) ([]*ntttcpEnd, error) {
	r := &ntttcpReader{d: d}
	tokens := xmltext.NewReader(bytes.NewReader(text), xmltext.Options{Roots: true, Lenient: true})
	for {
		t, err := tokens.Next()
		if fault, ok := errors.AsType[*xmltext.Fault](err); ok {
			d.leave(Fault{Line: fault.Line, Offset: fault.Offset, Reason: fault.Text})
			if r.end != nil { // what stands in front of it counts
				r.join()
			}
			return r.out, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return r.out, nil
		case err != nil:
			return nil, err
		}
		switch t.Kind {
		case xmltext.Start:
			if err := r.start(t); err != nil {
				return nil, err
			}
		case xmltext.Text, xmltext.CDATA:
			if len(r.path) > 0 && len(r.value) < 1000 {
				r.value = append(r.value, t.Text...)
			}
		case xmltext.End:
			r.ended(string(t.Name))
		}
	}
}

func (r *ntttcpReader) start(t *xmltext.Token) error {
	name := string(t.Name)
	fault := func(format string, args ...any) *Fault {
		return &Fault{Line: t.Line, Offset: t.Offset, Where: cut(name), Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case r.end != nil && len(r.path) >= ntttcpMaxDepth:
		return fault("nested more than %d deep", ntttcpMaxDepth)
	case r.end != nil:
		r.path = append(r.path, name)
		metric, _ := t.Attribute("metric")
		r.metric, r.value = cut(string(metric)), r.value[:0]
	case len(r.out) > MaxFindings:
		return fault("more than %d runs in one document: split it", MaxFindings)
	case name == "ntttcps" || name == "ntttcpr":
		host, _ := t.Attribute("computername")
		version, _ := t.Attribute("version")
		r.end = newNtttcpEnd(name, string(host), string(version))
		r.end.line, r.path = t.Line, r.path[:0]
	case name == "samples":
		r.samples = true
		r.out = append(r.out, nil) // the run to which the next ones belong
	default:
		r.d.leave(*fault("an element that ntttcp does not write"))
	}
	return nil
}

func (r *ntttcpReader) ended(name string) {
	switch {
	case len(r.path) > 0:
		r.end.take(strings.Join(r.path, "/"), r.metric, strings.TrimSpace(string(r.value)))
		r.path, r.value = r.path[:len(r.path)-1], r.value[:0]
	case r.end != nil:
		r.join()
	case name == "samples":
		r.samples = false
	}
}

// join appends the document, or adds it to the run of whose samples it is one.
func (r *ntttcpReader) join() {
	switch last := len(r.out) - 1; {
	case !r.samples:
		r.out = append(r.out, r.end)
	case r.out[last] == nil:
		r.out[last] = r.end
	default:
		r.out[last].more = append(r.out[last].more, r.end)
	}
	r.end = nil
}
