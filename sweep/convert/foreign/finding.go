package foreign

import (
	"fmt"
	"math"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// Unknown is a wire.TCPInfo's Retransmits where the document does not tell them; its other figures are
// zero then, which none of them ever is.
const Unknown = -1

// explain notes where a column comes from.
func (f *Finding) explain(column string, q Quantity) {
	f.Explained = append(f.Explained, Explanation{Column: column, Original: cut(q.Text), Unit: q.Unit, Where: q.Where})
}

// cut shortens what an explanation repeats.
func cut(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}

// duration fills in a figure in ns, and explains it. What is not there stays null.
func (f *Finding) duration(column string, at **float64, q Quantity) error {
	return f.figure(column, at, q, q.nanoseconds)
}

// rate fills in a figure in bit/s.
func (f *Finding) rate(column string, at **float64, q Quantity) error {
	return f.figure(column, at, q, q.bitsPerSecond)
}

// ratio fills in a part of 1.
func (f *Finding) ratio(column string, at **float64, q Quantity) error {
	return f.figure(column, at, q, q.ratio)
}

func (f *Finding) figure(column string, at **float64, q Quantity, read func() (*float64, error)) error {
	v, err := read()
	if err != nil {
		return err
	}
	if q.there() {
		f.explain(column, q)
	}
	*at = v
	return nil
}

// count fills in a count and says that it is known.
func (f *Finding) count(column string, at *int, known *bool, q Quantity) error {
	n, err := q.count()
	if err != nil || n == nil {
		return err
	}
	*at, *known = *n, true
	f.explain(column, q)
	return nil
}

// quantile fills in a quantile that the tool gives; it has no interval.
func (f *Finding) quantile(column string, at *summary.Quantile, q Quantity) error {
	return f.duration(column, &at.Value, q)
}

// bulk is the finding's part for what loads the network, made when first asked for.
func (f *Finding) bulk() *summary.Bulk {
	if f.Summary.Bulk == nil {
		f.Summary.Bulk = &summary.Bulk{}
	}
	return f.Summary.Bulk
}

// began sets when the run began, and where the document says so.
func (f *Finding) began(at time.Time, q Quantity) {
	at = at.UTC()
	f.Run.Start = &at
	f.explain("start", q)
}

// detach makes the finding's texts its own and as short as a row's. They are parts of a line, a row or
// a whole document, which would otherwise be kept for the sake of a few bytes of it.
func (f *Finding) detach() {
	for _, text := range []*string{&f.Tool, &f.From, &f.To, &f.Variant, &f.Run.Address} {
		*text = strings.Clone(*text)
	}
	f.Run.Detail = strings.Clone(wire.CutDetail(strings.ToValidUTF8(f.Run.Detail, "\uFFFD")))
	for i := range f.Explained {
		e := &f.Explained[i]
		e.Original, e.Where = strings.Clone(e.Original), strings.Clone(e.Where)
	}
}

// check refuses a finding that no row can hold: what a reader of a format must not let through.
func (f *Finding) check() *Fault {
	refuse := func(format string, args ...any) *Fault {
		return &Fault{Offset: NoOffset, Where: f.whose(), Reason: fmt.Sprintf(format, args...)}
	}
	if err := wire.ValidateName("kind", string(f.Run.Kind)); err != nil {
		return refuse("%v", err)
	}
	if err := f.Run.Failure.Validate(); err != nil {
		return refuse("%v", err)
	}
	for _, t := range []*time.Time{f.Run.Start, f.Run.End} {
		if t != nil && (t.Before(epoch) || t.After(horizon)) {
			return refuse("the time %s lies outside the years 2000 to 9999", t.Format(time.RFC3339))
		}
	}
	if f.Run.Start != nil && f.Run.End != nil && f.Run.End.Before(*f.Run.Start) {
		return refuse("it ends (%s) before it begins (%s)", f.Run.End.Format(time.RFC3339), f.Run.Start.Format(time.RFC3339))
	}
	if len(f.RTT) > 0 && len(f.Bins) > 0 {
		return refuse("its round trips are told twice")
	}
	for _, v := range f.RTT {
		if v < 0 || float64(v) > maxDurationNS {
			return refuse("a round trip of %d ns is not to be believed", v)
		}
	}
	s := &f.Summary
	for _, v := range []*float64{s.Min, s.Mean, s.Max, s.Stddev, s.P50.Value, s.P90.Value, s.P95.Value, s.P99.Value, s.P999.Value, s.Jitter} {
		if v != nil && (math.IsNaN(*v) || *v < 0 || *v > maxDurationNS) {
			return refuse("a figure of %g ns is not to be believed", *v)
		}
	}
	return nil
}

// whose names the run by its ends and time, for a fault that has no place in the text.
func (f *Finding) whose() string {
	s := fmt.Sprintf("the run from %.60q to %.60q", f.From, f.To)
	if f.Run.Start != nil {
		s += " at " + f.Run.Start.Format(time.RFC3339)
	}
	return s
}
