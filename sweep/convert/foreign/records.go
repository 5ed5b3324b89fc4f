package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/convert/jsontext"
)

// toldRecord is one JSON object of a text that has several: one a line, or over many lines.
type toldRecord struct {
	jsontext.Value
	line   int
	offset int64
}

// where names a place in the record.
func (r toldRecord) where(names ...string) string {
	return strings.TrimSuffix(fmt.Sprintf("line %d, %s", r.line, strings.Join(names, ".")), ", ")
}

// quantity is a figure of the record, in the unit that the tool means.
func (r toldRecord) quantity(unit string, names ...string) Quantity {
	return quantityOf(r.Get(names...), unit, r.where(names...))
}

// time is a time of RFC 3339 in the record.
func (r toldRecord) time(names ...string) (at time.Time, q Quantity, ok bool) {
	v := r.Get(names...)
	if v.Kind() != jsontext.String {
		return time.Time{}, Quantity{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, v.Text())
	if err != nil || at.Before(epoch) || at.After(horizon) {
		return time.Time{}, Quantity{}, false
	}
	return at.UTC(), Quantity{v.Text(), "RFC 3339", r.where(names...)}, true
}

// toldRecords are a text's objects in order. What stands between them, and one that is damaged, is left
// out with its line; what stands in front of the first is what a tool or a shell says before it
// begins. An object that the text cuts off is the last, with what it has.
func toldRecords(text []byte, d *Document) iter.Seq[toldRecord] {
	return func(yield func(toldRecord) bool) {
		at, line, seen := 0, 1, false
		lineEnd := 0 // behind the line of at; looked for once a line, which may hold many objects
		skip := func(n int) {
			line += bytes.Count(text[at:at+n], []byte{'\n'})
			at += n
		}
		for at < len(text) && !d.lost(MaxFindings, Fault{Line: line, Offset: int64(at)}) {
			rest := text[at:]
			if blank := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n")); blank > 0 {
				skip(blank)
				continue
			}
			if rest[0] == '[' && !seen {
				if list := toldList(rest, d); list.Kind() == jsontext.Array {
					for _, v := range list.Values() {
						if v.Kind() == jsontext.Object && !yield(toldRecord{v, line + v.Line() - 1, int64(at) + v.Offset()}) {
							return
						}
					}
					return
				}
			}
			if at >= lineEnd {
				if lineEnd = at + bytes.IndexByte(rest, '\n') + 1; lineEnd == at {
					lineEnd = len(text)
				}
			}
			end := lineEnd - at
			if rest[0] != '{' {
				if seen {
					d.leave(Fault{Line: line, Offset: int64(at), Reason: fmt.Sprintf("%.40q is no JSON object", bytes.TrimSpace(rest[:end]))})
				}
				skip(end)
				continue
			}
			r := toldRecord{line: line, offset: int64(at)}
			t, fault := jsontext.Parse(rest[:end], jsontext.Options{Trailing: true})
			if fault != nil && fault.Cut && end < len(rest) { // it goes on in the next line
				t, fault = jsontext.Parse(rest, jsontext.Options{Trailing: true})
			}
			if fault != nil {
				d.leave(Fault{Line: line + fault.Line - 1, Offset: int64(at) + fault.Offset, Reason: fault.Text})
				if !fault.Cut || t.Root().Kind() != jsontext.Object {
					skip(end)
					continue
				}
			}
			seen = true
			r.Value = t.Root()
			if !yield(r) || fault != nil {
				return
			}
			skip(max(len(r.Raw()), 1))
		}
	}
}

// toldList is the array of objects that a text begins with, or Absent: a line of a log begins with a
// bracket too.
func toldList(text []byte, d *Document) jsontext.Value {
	t, fault := jsontext.Parse(text, jsontext.Options{})
	if t.Root().At(0).Kind() != jsontext.Object {
		return jsontext.Value{}
	}
	if fault != nil {
		d.leave(Fault{Line: fault.Line, Offset: fault.Offset, Reason: fault.Text})
	}
	return t.Root()
}

// tell leaves a figure that is not to be believed out, and says so.
func (d *Document) tell(line int, errs ...error) {
	for _, err := range errs {
		if fault, ok := errors.AsType[*Fault](err); ok {
			f := *fault
			f.Line, f.Where = line, strings.TrimPrefix(f.Where, fmt.Sprintf("line %d, ", line))
			d.leave(f)
		}
	}
}

// toldQuantile fills in a quantile of n values, unless fewer than ten of them lie above it: then it is
// as good as the largest, whatever a tool calls it. n 0 is not known.
func (f *Finding) toldQuantile(column string, at *summary.Quantile, q Quantity, p float64, n int) error {
	const slack = 1e-9
	if n > 0 && float64(n)*(1-p) < 10-slack {
		return nil
	}
	return f.quantile(column, at, q)
}

// toldFail says that nothing was measured, and why.
func (f *Finding) toldFail(code wire.Failure, detail string) {
	f.Run.Failure, f.Run.Detail = code, detail
}
