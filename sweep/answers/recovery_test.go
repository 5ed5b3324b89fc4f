package answers

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// measuredHours are hours in memory, as the store gives them: newest first.
type measuredHours struct {
	hours []tables.Hour
	err   error
}

func (m *measuredHours) Hours(_ context.Context, q tables.HourQuery) iter.Seq2[tables.Hour, error] {
	return func(yield func(tables.Hour, error) bool) {
		if m.err != nil {
			yield(tables.Hour{}, m.err)
			return
		}
		for _, h := range m.hours {
			s := h.Series
			if s.Source == q.Source && s.Target == q.Target && s.Path == q.Path && s.Probe == q.Probe && !h.Begin.Before(q.Since) && h.Begin.Before(q.Until) && !yield(h, nil) {
				return
			}
		}
	}
}

// line adds an hour of throughput to a target, bit/s.
func (m *measuredHours) line(target string, begin time.Time, bps float64) {
	m.add(tables.Hour{Series: series("westeurope", target, "public", "up"), Begin: begin, Kind: wire.KindThroughput, Runs: 1, Up: tables.Rates{Median: number(bps)}})
}

// trips adds an hour of n round trips to a target, from us on in steps of 1 µs.
func (m *measuredHours) trips(t *testing.T, target string, begin time.Time, n int, us float64) {
	t.Helper()
	values := make([]int64, n)
	for i := range values {
		values[i] = int64((us + float64(i)) * 1000)
	}
	h, _, err := wire.EncodeHistogram(values)
	if err != nil {
		t.Fatal(err)
	}
	m.add(tables.Hour{Series: series("westeurope", target, "public", "tcp-64"), Begin: begin, Kind: wire.KindTCP, Runs: 2, Counts: tables.HourCounts{Received: &n}, Histogram: h})
}

func (m *measuredHours) add(h tables.Hour) {
	m.hours = append(m.hours, h)
	slices.SortStableFunc(m.hours, func(a, b tables.Hour) int { return b.Begin.Compare(a.Begin) })
}

var midnight = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)

func recoveryQuery() RecoveryQuery {
	return RecoveryQuery{Source: "westeurope", Target: "eastus", Path: "public", Probe: "tcp-64", Throughput: "up", Since: midnight.AddDate(0, 0, -27), Until: midnight.AddDate(0, 0, 1),
		ChangeBPS: 160e6, SizeBytes: 2e12, Window: 5 * time.Hour, Outage: 30 * time.Minute, TCPWindowBytes: 3 << 20}
}

// nearly says whether a figure is there, and right to a part in a thousand: a histogram's width.
func nearly(got *float64, want float64) bool {
	return got != nil && math.Abs(*got-want) <= want/1000
}

func TestRecoveryOverAMeasuredDay(t *testing.T) {
	m := &measuredHours{}
	for h := range 24 {
		bps := 1e9
		if h >= 12 && h < 18 {
			bps = 500e6
		}
		m.line("eastus", midnight.Add(time.Duration(h)*time.Hour), bps)
	}
	m.trips(t, "eastus", midnight, 1000, 80_000)                   // 80.000 to 80.999 ms
	m.trips(t, "eastus", midnight.Add(23*time.Hour), 1000, 80_000) // the same again
	m.trips(t, "westeurope", midnight.Add(time.Hour), 1000, 1_000) // another series
	r, err := ReadRecovery(t.Context(), m, recoveryQuery(), midnight.AddDate(0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	// The second of 24 in order: 24 × 0.05 = 1.2.
	if r.Measured.Hours != 24 || r.Measured.P5 == nil || *r.Measured.P5.Value != 500e6 || *r.Measured.P50.Value != 1e9 || !*r.Sustained {
		t.Errorf("measured %+v, sustained %v", r.Measured, r.Sustained)
	}
	if r.Commit.N != 2000 || !nearly(r.Commit.P50.Value, 80_499) || !nearly(r.Commit.P99.Value, 80_989) || r.Commit.P50.Low == nil || *r.Commit.P50.Low > *r.Commit.P50.Value {
		t.Errorf("commit %+v", r.Commit)
	}
	// 288 Gbit drain at 340 Mbit/s; 16,000 Gbit from midnight at 1 Gbit/s take 16,000 s, and from noon 500 Mbit/s for six
	// hours leave 5,200 Gbit.
	if !nearly(r.CatchUp, 288_000.0/340) || !nearly(r.Seed[0], 16_000) || !nearly(r.Seed[12], 21_600+5_200) || !nearly(r.RPO, 0.080989) {
		t.Errorf("catch-up %v, seeds %v and %v, RPO %v", *r.CatchUp, *r.Seed[0], *r.Seed[12], *r.RPO)
	}
	if !*r.Fits[0] || *r.Fits[12] || r.HoursMeasured[12] != 1 {
		t.Errorf("fits from 0 o'clock %t, from 12 %t", *r.Fits[0], *r.Fits[12])
	}
	// 3 MiB in 80.5 ms.
	if !nearly(r.Ceiling, 3*(1<<20)*8/0.080499) {
		t.Errorf("ceiling %v", *r.Ceiling)
	}
	if r.Latency.Rests.Samples != 2000 || r.Line.Rests.Runs != 24 {
		t.Errorf("rests on %+v and %+v", r.Latency.Rests, r.Line.Rests)
	}
	if f := r.Findings(); len(f) != 0 {
		t.Errorf("findings %+v", f)
	}
}

func TestARecoveryOfLittleSaysSo(t *testing.T) {
	codes := func(r *Recovery) (out []string) {
		for _, f := range r.Findings() {
			out = append(out, f.Code)
		}
		return out
	}
	read := func(m *measuredHours, q RecoveryQuery) *Recovery {
		r, err := ReadRecovery(t.Context(), m, q, midnight.AddDate(0, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if got := codes(read(&measuredHours{}, recoveryQuery())); !slices.Equal(got, []string{"no_throughput", "few_round_trips"}) {
		t.Errorf("of nothing: %q", got)
	}
	without := recoveryQuery()
	without.Throughput, without.Probe = "", "" // the configuration has no such probes
	if r := read(&measuredHours{err: errors.New("nobody is to be asked")}, without); r.Sustained != nil || r.Seed[0] != nil {
		t.Errorf("without probes: %+v", r)
	}
	few := &measuredHours{}
	few.line("eastus", midnight, 1e9)
	few.trips(t, "eastus", midnight, 100, 80_000)
	r := read(few, recoveryQuery())
	if got := codes(r); !slices.Equal(got, []string{"few_throughput", "few_round_trips", "hours_unmeasured", "behind"}) {
		t.Errorf("of little: %q", got)
	}
	if r.Commit.P50.Value == nil || r.Commit.P99.Value != nil || r.RPO != nil || r.CatchUp != nil || r.Never || r.Measured.P50 == nil || r.Measured.P5 != nil {
		t.Errorf("of little: %+v", r)
	}
	slow := &measuredHours{}
	for h := range 24 {
		slow.line("eastus", midnight.Add(time.Duration(h)*time.Hour), 100e6)
	}
	slow.trips(t, "eastus", midnight.Add(23*time.Hour), 1000, 300_000) // a window of 3 MiB carries 84 Mbit/s
	if got := codes(read(slow, recoveryQuery())); !slices.Equal(got, []string{"not_sustained", "window_limited"}) {
		t.Errorf("of a slow line: %q", got)
	}
	if _, err := ReadRecovery(t.Context(), &measuredHours{err: errors.New("away")}, recoveryQuery(), midnight); err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("storage that fails: %v", err)
	}
}

func TestThePlacesAreHeldAgainstWhatIsAsked(t *testing.T) {
	c := parse(t, strings.Replace(threeRegions, "probes:\n", "budget: {sweep: 200GB, month: 5TB}\nprobes:\n  - {name: up, kind: throughput, schedule: \"5 * * * *\", paths: [public], max_bytes: 100MB}\n", 1))
	m := &measuredHours{}
	for h := range 24 {
		m.line("eastus", midnight.Add(time.Duration(h)*time.Hour), 1e9+float64(h)*1e6)
	}
	m.trips(t, "eastus", midnight.Add(3*time.Hour), 400, 80_000)
	m.trips(t, "eastus", midnight.Add(-21*time.Hour), 400, 82_000) // 3 o'clock too: the two are one hour of the day
	m.trips(t, "eastus", midnight.Add(9*time.Hour), 199, 99_000)   // too few for a p95
	m.trips(t, "southeastasia", midnight.Add(5*time.Hour), 400, 150_000)
	q := RankQuery{From: "westeurope", Path: "public", Probe: "tcp-64", Throughput: "up", Since: midnight.AddDate(0, 0, -6), Until: midnight.AddDate(0, 0, 1),
		MinKM: number(500), P95BelowUS: number(90_000), ThroughputBPS: number(1e9)}
	r, err := ReadRank(t.Context(), m, c, q, midnight.AddDate(0, 0, 1))
	if err != nil || len(r.Regions) != 2 {
		t.Fatalf("%d places, %v", len(r.Regions), err)
	}
	best, other := &r.Regions[0], &r.Regions[1]
	// Of 800 round trips, 400 from 80 ms and 400 from 82 ms, the 760th is 82.359 ms.
	if best.Target != "eastus" || best.Satisfies == nil || !*best.Satisfies || *best.BusiestHour != 3 || best.N != 800 || !nearly(best.P95.Value, 82_359) || len(best.WhyNot) != 0 {
		t.Errorf("first %+v, p95 %v", best, *best.P95.Value)
	}
	if best.ThroughputIs != "p5" || best.ThroughputHours != 24 || *best.Throughput.Value != 1.001e9 {
		t.Errorf("throughput %+v, %s of %d", best.Throughput, best.ThroughputIs, best.ThroughputHours)
	}
	if other.Target != "southeastasia" || other.Satisfies == nil || *other.Satisfies || other.Throughput.Value != nil || other.ThroughputIs != "" || len(other.WhyNot) != 2 ||
		!strings.HasPrefix(other.WhyNot[0], "p95 at 05:00Z is 150.4") || !strings.HasSuffix(other.WhyNot[0], " ms, over 90.000 ms") || other.WhyNot[1] != "throughput was not measured" {
		t.Errorf("second %+v", other)
	}
	if r.Rests.Samples != 1399 || r.Rests.Hours != 28 {
		t.Errorf("it rests on %+v", r.Rests)
	}
	q.P95BelowUS = nil
	if r, err = ReadRank(t.Context(), m, c, q, midnight); err != nil || r.Regions[1].Satisfies != nil {
		t.Errorf("a place whose throughput nobody measured: %v, %v; want not known", r.Regions[1].Satisfies, err)
	}
	q.SameGeography, q.ThroughputBPS = true, nil
	if r, err = ReadRank(t.Context(), m, c, q, midnight); err != nil || *r.Regions[0].Satisfies || !slices.Equal(r.Regions[0].WhyNot, []string{"its geography is United States"}) {
		t.Errorf("another geography: %+v, %v", r.Regions[0], err)
	}
}

func TestManyRoundTripsHaveAnIntervalToo(t *testing.T) {
	low, high := intervalRanks(1_000_000, 0.5)
	l, h := intervalRanks(1_000_001, 0.5)
	if d := l - low; d < -2 || d > 2 {
		t.Errorf("lower rank %d, and by the approximation %d", low, l)
	}
	if d := h - high; d < -2 || d > 3 {
		t.Errorf("upper rank %d, and by the approximation %d", high, h)
	}
}
