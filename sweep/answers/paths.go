package answers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// PathQuery asks by how much one path's figure differs from another's. Empty fields stand for all.
type PathQuery struct {
	A, B                  string // the difference is A − B
	Probe, Source, Target string
	Since, Until          time.Time
	Statistic             Statistic // empty: ComparedOf each probe's kind
}

// PathDifferences are the differences between two paths, probe by probe.
type PathDifferences struct {
	A, B   string
	Probes []ProbeDifference
}

// ProbeDifference is what one probe says of two paths.
type ProbeDifference struct {
	Probe     string
	Kind      wire.Kind
	Statistic Statistic
	Pairs     []PairDifference
	// All is of all pairs together, without the paths' own figures. What befalls the network in a
	// slot befalls many pairs, which are therefore one observation: the median of their values.
	All PairDifference
}

// PairDifference compares the two paths of one source and target. Only slots in which both were
// measured count, because what a network does by the hour is then the same for both.
type PairDifference struct {
	Source, Target string
	// Slots were measured over both paths; OnlyA and OnlyB over one of them.
	Slots, OnlyA, OnlyB int
	// Difference is trend.Paired of A − B over the slots; nil without any.
	Difference *trend.Estimate
	// MedianA and MedianB are of the same slots.
	MedianA, MedianB *float64
	A, B             PathFigures
}

// PathFigures are what all runs of one series over a path say, from their samples. Times are
// microseconds; nil where the kind has no samples, or they are too few.
type PathFigures struct {
	Runs, Failed, Samples      int
	MinUS, MeanUS, MaxUS       *float64
	P50US, P50LowUS, P50HighUS *float64
	Simulated                  bool // a model made up one of the runs
}

// ReadPathDifferences answers the query from the rows of both paths. It holds two numbers a run.
func ReadPathDifferences(ctx context.Context, from RunRows, q PathQuery) (*PathDifferences, error) {
	sides := [2]map[ends]*side{}
	for i, path := range []string{q.A, q.B} {
		var err error
		if sides[i], err = readSide(ctx, from, tables.RunQuery{Source: q.Source, Target: q.Target, Path: path, Probe: q.Probe, Since: q.Since, Until: q.Until}, q.Statistic); err != nil {
			return nil, fmt.Errorf("reading the runs over path %q: %w", path, err)
		}
	}
	out := &PathDifferences{A: q.A, B: q.B}
	pooled := map[string]*matched{}
	for _, e := range slices.SortedFunc(maps.Keys(sides[0]), ends.compare) {
		a, b := sides[0][e], sides[1][e]
		if b == nil || a.kind != b.kind {
			continue // measured over one of the paths
		}
		if n := len(out.Probes); n == 0 || out.Probes[n-1].Probe != e.probe {
			out.Probes = append(out.Probes, ProbeDifference{Probe: e.probe, Kind: a.kind, Statistic: a.statistic})
			pooled[e.probe] = &matched{}
		}
		p, m := &out.Probes[len(out.Probes)-1], match(a.values, b.values)
		pair := m.difference()
		pair.Source, pair.Target, pair.A, pair.B = e.source, e.target, a.figures, b.figures
		p.Pairs = append(p.Pairs, pair)
		pooled[e.probe].add(m)
	}
	for i := range out.Probes {
		out.Probes[i].All = pooled[out.Probes[i].Probe].bySlot().difference()
	}
	return out, nil
}

// ends are a series without its path.
type ends struct{ probe, source, target string }

func (e ends) compare(o ends) int {
	return cmp.Or(cmp.Compare(e.probe, o.probe), cmp.Compare(e.source, o.source), cmp.Compare(e.target, o.target))
}

// side is one series over one of the paths.
type side struct {
	kind      wire.Kind
	statistic Statistic
	values    []value // newest first, as the rows come
	figures   PathFigures
}

type value struct {
	slot int64 // Unix seconds
	is   float64
}

// readSide reads the series over a path. The rows of a series follow each other, so that one
// histogram at a time is enough.
func readSide(ctx context.Context, from RunRows, q tables.RunQuery, s Statistic) (map[ends]*side, error) {
	out := map[ends]*side{}
	var at ends
	var samples pool
	done := func() {
		if last := out[at]; last != nil {
			samples.finish(&last.figures)
		}
		samples = pool{}
	}
	for row, err := range from.Runs(ctx, q) {
		if err != nil {
			return nil, err
		}
		if s != "" && !s.Has(row.Kind) {
			continue
		}
		e := ends{row.Series.Probe, row.Series.Source, row.Series.Target}
		if e != at {
			done()
			at = e
		}
		of := out[e]
		if of == nil {
			of = &side{kind: row.Kind, statistic: cmp.Or(s, ComparedOf(row.Kind))}
			out[e] = of
		}
		of.figures.Runs++
		of.figures.Simulated = of.figures.Simulated || row.Simulated
		if row.Failure != "" {
			of.figures.Failed++
			continue
		}
		if err := samples.add(&row); err != nil {
			return nil, fmt.Errorf("reading the histogram of %s at %s: %w", row.Series, wire.SlotName(row.Slot), err)
		}
		if v := of.statistic.of(&row); v != nil {
			of.values = append(of.values, value{row.Slot.Unix(), *v})
		}
	}
	done()
	return out, nil
}

// matched are the values of slots that two series share.
type matched struct {
	slots             []int64 // Unix seconds
	a, b, differences []float64
	onlyA, onlyB      int
}

// match pairs the values of two series, both newest first, by their slots.
func match(a, b []value) *matched {
	m := &matched{}
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].slot > b[0].slot:
			m.onlyA, a = m.onlyA+1, a[1:]
		case a[0].slot < b[0].slot:
			m.onlyB, b = m.onlyB+1, b[1:]
		default:
			m.slots = append(m.slots, a[0].slot)
			m.a, m.b, m.differences = append(m.a, a[0].is), append(m.b, b[0].is), append(m.differences, a[0].is-b[0].is)
			a, b = a[1:], b[1:]
		}
	}
	m.onlyA, m.onlyB = m.onlyA+len(a), m.onlyB+len(b)
	return m
}

func (m *matched) add(o *matched) {
	m.slots = append(m.slots, o.slots...)
	m.a, m.b, m.differences = append(m.a, o.a...), append(m.b, o.b...), append(m.differences, o.differences...)
	m.onlyA, m.onlyB = m.onlyA+o.onlyA, m.onlyB+o.onlyB
}

// bySlot makes one observation of those of a slot: their medians.
func (m *matched) bySlot() *matched {
	of := map[int64][]int{}
	for i, slot := range m.slots {
		of[slot] = append(of[slot], i)
	}
	out := &matched{onlyA: m.onlyA, onlyB: m.onlyB}
	for _, slot := range slices.Sorted(maps.Keys(of)) {
		median := func(values []float64) float64 {
			var here []float64
			for _, i := range of[slot] {
				here = append(here, values[i])
			}
			e, _ := trend.Median(here)
			return e.Value
		}
		out.slots = append(out.slots, slot)
		out.a, out.b, out.differences = append(out.a, median(m.a)), append(out.b, median(m.b)), append(out.differences, median(m.differences))
	}
	return out
}

func (m *matched) difference() PairDifference {
	out := PairDifference{Slots: len(m.differences), OnlyA: m.onlyA, OnlyB: m.onlyB}
	if e, ok := trend.Paired(m.differences); ok {
		out.Difference = &e
	}
	if e, ok := trend.Median(m.a); ok {
		out.MedianA = &e.Value
	}
	if e, ok := trend.Median(m.b); ok {
		out.MedianB = &e.Value
	}
	return out
}
