package alerts_test

import (
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// nightly is an hour of the throughput probe; a series of 28 nights has enough for a 5 % quantile.
func nightly(m *memory, day int, bps float64) {
	series := is
	series.Probe = "nightly"
	at := hour0.AddDate(0, 0, -day).Truncate(24 * time.Hour).Add(2 * time.Hour)
	n := 1
	m.put(tables.Hour{Series: series, Begin: at, Kind: wire.KindThroughput, Runs: 1, Up: tables.Rates{N: &n, Min: &bps, Median: &bps, Max: &bps}})
}

// roundTrips puts an hour with 1,000 round trips of the latency probe: all of p50, but two in a hundred.
func roundTrips(t *testing.T, m *memory, at time.Time, p50, high time.Duration) {
	t.Helper()
	values := make([]int64, 0, 1000)
	for i := range 1000 {
		v := p50
		if i%50 == 0 {
			v = high
		}
		values = append(values, int64(v))
	}
	text, _, err := wire.EncodeHistogram(values)
	must(t, err)
	h := hourOf(is, at, float64(p50.Microseconds())/1000, 79)
	h.Histogram = text
	m.put(h)
}

const ordersYAML = twoProbers + `objectives:
  - {name: orders, from: westeurope, to: eastus, path: public, change_rate: 100MB/s, rpo: 10m, max_p99: 100ms}
`

const orders = " objective orders 2026-11-30T"

// finish is an invocation an hour.
func finish(t *testing.T, p *person, hour int) []string {
	t.Helper()
	must(t, p.at(hour0.Add(time.Duration(hour)*time.Hour+5*time.Minute)).Finish(t.Context()))
	return p.lines(t)
}

func TestAnObjectiveIsBreachedByWhatTheLineCarries(t *testing.T) {
	m := newMemory(environment)
	m.config = []byte(ordersYAML)
	p := &person{rows: m, from: m}
	roundTrips(t, m, hour0.Add(-time.Hour), 80*time.Millisecond, 90*time.Millisecond)
	// 100 MB/s are 800 Mbit/s. Of 25 nights the second smallest is the 5 % quantile: 0.7 Gbit/s.
	for day := 1; day <= 25; day++ {
		nightly(m, day, map[bool]float64{true: 700e6, false: 2e9}[day <= 2])
	}
	for hour := range 3 { // told once
		if diff := gocmp.Diff([]string{"alert raised" + orders + "10"}, finish(t, p, hour)); diff != "" {
			t.Fatalf("hour %d, lines (-want +got):\n%s", hour, diff)
		}
	}
	for _, a := range m.alerts {
		if *a.P5BPS != 700e6 || *a.WantedBPS != 800e6 || !strings.Contains(a.Message, "in 95 of 100 hours the line carries 700.0 Mbit/s, and data changes at 800.0 Mbit/s") {
			t.Errorf("alert %+v", a)
		}
	}
	// 810 Mbit/s are enough, and within the margin: nothing is over yet.
	nightly(m, 1, 810e6)
	nightly(m, 2, 810e6)
	if n := len(finish(t, p, 3)); n != 1 {
		t.Errorf("within the margin: %d lines", n)
	}
	nightly(m, 1, 2e9)
	nightly(m, 2, 2e9)
	if diff := gocmp.Diff([]string{"alert raised" + orders + "10", "alert ended" + orders + "10"}, finish(t, p, 4)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestAnObjectiveIsBreachedByLatency(t *testing.T) {
	m := newMemory(environment)
	m.config = []byte(ordersYAML)
	p := &person{rows: m, from: m}
	for day := 1; day <= 25; day++ {
		nightly(m, day, 2e9)
	}
	roundTrips(t, m, hour0.Add(-time.Hour), 80*time.Millisecond, 120*time.Millisecond)
	if diff := gocmp.Diff([]string{"alert raised" + orders + "10"}, finish(t, p, 0)); diff != "" {
		t.Fatalf("lines (-want +got):\n%s", diff)
	}
	for _, a := range m.alerts { // two in a hundred took 120 ms, to 0.1 %
		if *a.P99US < 120_000 || *a.P99US > 120_130 || *a.WantedP99US != 100_000 || *a.RPOS < 0.12 || *a.RPOS > 0.1202 {
			t.Errorf("alert %+v", a)
		}
	}
	// A day later no round trip is known: the alert lasts.
	if n := len(finish(t, p, 26)); n != 1 {
		t.Errorf("without data: %d lines", n)
	}
	roundTrips(t, m, hour0.Add(27*time.Hour), 80*time.Millisecond, 90*time.Millisecond)
	if n := len(finish(t, p, 28)); n != 2 {
		t.Errorf("with data: %d lines", n)
	}
}

// Few nights say nothing of 95 in 100 hours.
func TestAnObjectiveOfWhichTooLittleIsKnownRaisesNothing(t *testing.T) {
	m := newMemory(environment)
	m.config = []byte(ordersYAML)
	p := &person{rows: m, from: m}
	for day := 1; day <= 19; day++ {
		nightly(m, day, 1e6)
	}
	if lines := finish(t, p, 0); len(lines) > 0 {
		t.Errorf("lines are %q", lines)
	}
}

func TestAnObjectiveThatIsTakenOutEnds(t *testing.T) {
	for name, without := range map[string]string{"taken out": twoProbers, "switched off": ordersYAML + "alerts: {objective: {off: true}}\n"} {
		m := newMemory(environment)
		m.config = []byte(ordersYAML)
		p := &person{rows: m, from: m}
		roundTrips(t, m, hour0.Add(-time.Hour), 80*time.Millisecond, 120*time.Millisecond)
		finish(t, p, 0)
		m.config = []byte(without)
		if diff := gocmp.Diff([]string{"alert raised" + orders + "10", "alert ended" + orders + "10"}, finish(t, p, 1)); diff != "" {
			t.Errorf("%s: lines (-want +got):\n%s", name, diff)
		}
	}
}
