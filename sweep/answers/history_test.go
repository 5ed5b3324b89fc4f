package answers

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

var _ ExportRows = (*tables.Store)(nil)

// hourStore is hours in memory, of any series.
type hourStore struct {
	store
	hours map[wire.Series][]tables.Hour // newest first
	err   error

	mu    sync.Mutex
	asked []tables.HourQuery
}

func (s *hourStore) Hours(_ context.Context, q tables.HourQuery) iter.Seq2[tables.Hour, error] {
	s.mu.Lock()
	s.asked = append(s.asked, q)
	s.mu.Unlock()
	return func(yield func(tables.Hour, error) bool) {
		for _, is := range s.list(q.Source) {
			if q.Target != "" && q.Target != is.Target || q.Path != "" && q.Path != is.Path || q.Probe != "" && q.Probe != is.Probe {
				continue
			}
			for _, h := range s.hours[is] {
				if !h.Begin.Before(q.Since) && h.Begin.Before(q.Until) && !yield(h, nil) {
					return
				}
			}
		}
		if s.err != nil {
			yield(tables.Hour{}, s.err)
		}
	}
}

func (s *hourStore) list(source string) (out []wire.Series) {
	for is := range s.hours {
		if is.Source == source {
			out = append(out, is)
		}
	}
	slices.SortFunc(out, func(a, b wire.Series) int { return strings.Compare(orderOf(a), orderOf(b)) })
	return out
}

func (s *hourStore) SeriesOf(_ context.Context, source string) ([]wire.Series, error) {
	return s.list(source), nil
}

// add stores hours that come oldest first.
func (s *hourStore) add(is wire.Series, hours []tables.Hour) {
	if s.hours == nil {
		s.hours = map[wire.Series][]tables.Hour{}
	}
	out := slices.Clone(hours)
	slices.Reverse(out)
	for i := range out {
		out[i].Series = is
	}
	s.hours[is] = out
}

// shape is what a made-up hour is like: its least round trip, and how far the median lies above it, µs.
type shape struct {
	floor, above float64
	gone         bool // the hour has no row
}

// made makes hours of 600 round trips from floor to twice above it, evenly, with a noise of the floor of 20 µs.
func made(t testing.TB, first time.Time, n int, of func(i int, at time.Time) shape) (out []tables.Hour) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		at := first.Add(time.Duration(i) * time.Hour)
		s := of(i, at)
		noise := 20 * rnd.NormFloat64()
		if s.gone {
			continue
		}
		values := make([]float64, 600)
		for k := range values {
			values[k] = s.floor + noise + 2*s.above*float64(k)/600
		}
		out = append(out, hourOfValues(t, at, values))
	}
	return out
}

// hourOfValues is an hour with these round trips, µs.
func hourOfValues(t testing.TB, at time.Time, values []float64) tables.Hour {
	t.Helper()
	sorted := slices.Sorted(slices.Values(values))
	ns := make([]int64, len(sorted))
	sum := 0.0
	for i, v := range sorted {
		ns[i] = int64(math.Round(v * 1000))
		sum += v
	}
	text, over, err := wire.EncodeHistogram(ns)
	if err != nil || over > 0 {
		t.Fatal(err, over)
	}
	n, lost := len(values), 0
	mean, ratio := sum/float64(n), 0.0
	h := tables.Hour{Begin: at, Kind: wire.KindTCP, Runs: 6, First: at, Last: at.Add(50 * time.Minute), Histogram: text,
		Counts: tables.HourCounts{Sent: &n, Received: &n, Lost: &lost}, Loss: tables.Loss{Sent: &n, Ratio: &ratio},
		RTT: tables.RTTs{MinUS: &sorted[0], MeanUS: &mean, P50US: &sorted[(n+1)/2-1], MaxUS: &sorted[n-1]}}
	return h
}

var (
	pairSeries = wire.Series{Environment: "dev", Source: "westeurope", Target: "eastus", Path: "public", Probe: "tcp-64"}
	monday     = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
)

func askPair(since time.Time, hours int) SeriesQuery {
	return SeriesQuery{Source: "westeurope", Target: "eastus", Path: "public", Probe: "tcp-64", Since: since, Until: since.Add(time.Duration(hours) * time.Hour)}
}

// rhythm is a median that is 1 ms higher at 15:00 UTC than at 03:00.
func rhythm(at time.Time) float64 {
	return 1000 + 500*math.Cos(2*math.Pi*float64(at.Hour()-15)/24)
}

func TestHoursWithoutDataAreMaskedAndTheNewestIsTold(t *testing.T) {
	hours := made(t, monday, 100, func(i int, at time.Time) shape { return shape{80_000, 1000, i >= 10 && i < 15} })
	hours[3].Simulated = 2
	from := &hourStore{}
	from.add(pairSeries, hours)
	for _, c := range []struct {
		now    time.Time
		behind bool
	}{{monday.Add(100*time.Hour + 30*time.Minute), false}, {monday.Add(101*time.Hour + 20*time.Minute), false}, {monday.Add(103 * time.Hour), true}} {
		got, err := ReadTrend(t.Context(), from, parse(t, threeRegions), askPair(monday, 104), c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got.InWindow != 104 || got.Rests != (Rests{Samples: 95 * 600, Runs: 95 * 6, Hours: 95, Simulated: true}) || len(got.Hours) != 95 {
			t.Errorf("%d in the window, resting on %+v, %d hours", got.InWindow, got.Rests, len(got.Hours))
		}
		if want := monday.Add(99 * time.Hour); !got.Newest.Equal(want) || got.Behind != c.behind || got.Kind != wire.KindTCP {
			t.Errorf("at %s: newest %s, behind %t, kind %s; want %s, %t", c.now, got.Newest, got.Behind, got.Kind, want, c.behind)
		}
		if !got.Hours[9].Begin.Equal(monday.Add(9*time.Hour)) || !got.Hours[10].Begin.Equal(monday.Add(15*time.Hour)) {
			t.Errorf("around the gap: %s and %s", got.Hours[9].Begin, got.Hours[10].Begin)
		}
	}
	empty, err := ReadTrend(t.Context(), from, parse(t, threeRegions), askPair(monday.Add(-1000*time.Hour), 10), monday)
	if err != nil || empty.Rests.Hours != 0 || empty.InWindow != 10 || empty.Quantiles != (Quantiles{}) || empty.Diurnal != nil || empty.DiurnalRefused == "" || empty.Slope != nil {
		t.Errorf("of a time without hours: %+v, %v", empty, err)
	}
}

func TestQuestionsWithoutASeriesAreErrorsAndFaultsOfStorageToo(t *testing.T) {
	from := &hourStore{err: fmt.Errorf("the storage is gone")}
	c := parse(t, threeRegions)
	if _, err := ReadTrend(t.Context(), from, c, askPair(monday, 10), monday); err == nil {
		t.Error("the fault of the storage is lost")
	}
	from.err = nil
	for _, q := range []SeriesQuery{{}, askPair(monday, 0), {Source: "a", Target: "b", Path: "c", Since: monday, Until: monday.Add(time.Hour)}} {
		if _, err := ReadTrend(t.Context(), from, c, q, monday); err == nil {
			t.Errorf("%+v: no error", q)
		}
	}
}

func TestMergedQuantilesAreThoseOfTheSamplesToAThousandth(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var all []float64
	var hours []tables.Hour
	for i := range 48 { // three busy hours with a tail of their own: where averages of percentiles go wrong
		values := make([]float64, 500+rnd.IntN(4000))
		for k := range values {
			values[k] = 80_000 + 400*rnd.ExpFloat64()
			if i%16 == 7 {
				values[k] += 20_000 * rnd.ExpFloat64()
			}
		}
		all = append(all, values...)
		hours = append(hours, hourOfValues(t, monday.Add(time.Duration(i)*time.Hour), values))
	}
	from := &hourStore{}
	from.add(pairSeries, hours)
	got, err := ReadTrend(t.Context(), from, parse(t, threeRegions), askPair(monday, 48), monday)
	if err != nil {
		t.Fatal(err)
	}
	q := got.Quantiles
	if q.N != len(all) || q.Without != 0 {
		t.Fatalf("of %d round trips, without %d hours; want %d", q.N, q.Without, len(all))
	}
	slices.Sort(all)
	for p, v := range map[float64]*float64{0.5: q.P50US, 0.9: q.P90US, 0.95: q.P95US, 0.99: q.P99US, 0.999: q.P999US} {
		exact := all[int(math.Ceil(p*float64(len(all))))-1]
		if v == nil || math.Abs(*v-exact) > exact/1000 {
			t.Errorf("p%g: %v, exactly %f", 100*p, v, exact)
		}
	}
	hours[5].Histogram = "" // another tool's
	from.add(pairSeries, hours)
	if got, err = ReadTrend(t.Context(), from, parse(t, threeRegions), askPair(monday, 48), monday); err != nil || got.Quantiles.Without != 1 || got.Quantiles.N >= len(all) || got.Quantiles.P50US == nil {
		t.Errorf("without one histogram: %+v, %v", got.Quantiles, err)
	}
}
