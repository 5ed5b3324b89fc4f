package rollup_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/result"
	"isochrone/sweep/rollup"
	"isochrone/sweep/tables"
)

func hourOf(t testing.TB, rows ...tables.Row) *tables.Hour {
	t.Helper()
	h, err := rollup.HourOf(rows, hour0)
	must(t, err)
	return h
}

// near says whether a figure is there and as exact as a histogram has it: not below, and 0.1 % above.
func near(got *float64, want float64) bool { return got != nil && *got >= want && *got <= want*1.001 }

func is(got *float64, want float64) bool {
	return got != nil && math.Abs(*got-want) <= 1e-9*math.Abs(want)
}

func counts(got *int, want int) bool { return got != nil && *got == want }

// 1 to 100 ms in one run, 101 to 200 ms and five lost samples in another, and one that expired.
func TestAnHourIsWhatItsRunsComeToTogether(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	second := measured(t, s, hour0.Add(40*time.Minute), append(span(101*time.Millisecond, time.Millisecond, 100), lost, lost, lost, lost, lost)...)
	second.Summary.Noise.Degraded = []summary.Reason{summary.ReasonLateSends}
	h := hourOf(t, rowsOf(measured(t, s, hour0, span(time.Millisecond, time.Millisecond, 100)...), second, expired(s, hour0.Add(20*time.Minute)))...)
	if h.Series != s || !h.Begin.Equal(hour0) || h.Kind != wire.KindTCP || h.Runs != 3 || h.Degraded != 1 || !h.First.Equal(hour0) || !h.Last.Equal(hour0.Add(40*time.Minute)) {
		t.Errorf("hour is %+v", h)
	}
	if len(h.Failed) != 1 || h.Failed[wire.FailureExpired] != 1 || len(h.Failures) != 1 || h.Failures[wire.FailureTimeout] != 5 {
		t.Errorf("failed runs %v, samples %v", h.Failed, h.Failures)
	}
	if c := h.Counts; !counts(c.Sent, 205) || !counts(c.Received, 200) || !counts(c.Lost, 5) || !counts(c.Late, 0) {
		t.Errorf("counts %s", line(t, c))
	}
	r := h.RTT
	if !is(r.MinUS, 1000) || !is(r.MaxUS, 200_000) || !is(r.MeanUS, 100_500) {
		t.Errorf("min %v, mean %v, max %v", text(r.MinUS), text(r.MeanUS), text(r.MaxUS))
	}
	// Nearest rank: the 100th, 180th and 190th of 200; above the 198th there are 2.
	if !near(r.P50US, 100_000) || !near(r.P90US, 180_000) || !near(r.P95US, 190_000) || r.P99US != nil || r.P999US != nil {
		t.Errorf("quantiles %s", line(t, r))
	}
	// Wilson's interval of 5 in 205, computed by hand: (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) ÷ (1 + z²/n).
	if l := h.Loss; !counts(l.Sent, 205) || !is(l.Ratio, 5.0/205) || math.Abs(*l.Low-0.010462) > 1e-6 || math.Abs(*l.High-0.055815) > 1e-6 {
		t.Errorf("loss %s", line(t, l))
	}
	var sum wire.HistogramSum
	if err := sum.Add(h.Histogram); err != nil || sum.Total() != 200 {
		t.Errorf("histogram of %d, %v", sum.Total(), err)
	}
	if h.MovedBytes != nil || h.Up.N != nil || h.Answered.N != nil {
		t.Errorf("it has rates: %+v", h)
	}
	if none, err := rollup.HourOf(nil, hour0); none != nil || err != nil {
		t.Errorf("an hour without runs: %+v, %v", none, err)
	}
}

// A quantile of everything, and not the average of the runs' quantiles, which is far off when some runs were
// busy.
func TestQuantilesAreThoseOfAllRoundTrips(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	s := seriesOf(environment, "westeurope", "eastus")
	var rs []result.Result
	var all []int64
	for i := range 6 {
		rtt := drawn(rnd, 2000)
		if i == 4 {
			for j := range rtt {
				rtt[j] *= 5
			}
		}
		all = append(all, rtt...)
		rs = append(rs, measured(t, s, hour0.Add(time.Duration(i)*10*time.Minute), rtt...))
	}
	slices.Sort(all)
	h := hourOf(t, rowsOf(rs...)...)
	for p, got := range map[float64]*float64{0.5: h.RTT.P50US, 0.9: h.RTT.P90US, 0.95: h.RTT.P95US, 0.99: h.RTT.P99US, 0.999: h.RTT.P999US} {
		if want := float64(all[int(math.Ceil(p*float64(len(all))-1e-9))-1]) / 1000; !near(got, want) {
			t.Errorf("quantile %g is %v, want %g", p, text(got), want)
		}
	}
	var average float64
	for i := range rs {
		average += *rs[i].Summary.P99.Value / 1000 / 6
	}
	if near(&average, *h.RTT.P99US) {
		t.Error("the runs have all the same p99: the test shows nothing")
	}
	var sum float64
	for _, v := range all {
		sum += float64(v) / 1000
	}
	if mean := sum / float64(len(all)); math.Abs(*h.RTT.MeanUS/mean-1) > 1e-9 {
		t.Errorf("mean is %g, want %g", *h.RTT.MeanUS, mean)
	}
}

// An hour of one sample has no median, and one of 20 has.
func TestAQuantileIsAbsentWhereFewerThanTenLieAbove(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	for n, want := range map[int]bool{1: false, 19: false, 20: true} {
		h := hourOf(t, rowsOf(measured(t, s, hour0, span(time.Millisecond, time.Microsecond, n)...))...)
		if (h.RTT.P50US != nil) != want || h.RTT.MinUS == nil || h.Histogram == "" {
			t.Errorf("of %d: %s", n, line(t, h.RTT))
		}
	}
}

func TestLossLeavesOutWhatWasCanceledInFlight(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	some := measured(t, s, hour0, append(span(time.Millisecond, 1, 90), lost, lost, lost, canceled, canceled, canceled, canceled, canceled, canceled, canceled)...)
	all := measured(t, s, hour0.Add(10*time.Minute), lost, lost, lost, lost, canceled, canceled)
	none := measured(t, s, hour0.Add(20*time.Minute), canceled, canceled)
	h := hourOf(t, rowsOf(some, all, none)...)
	// 3 of 93, 4 of 4, and nothing that counts.
	if !counts(h.Loss.Sent, 97) || !is(h.Loss.Ratio, 7.0/97) || !counts(h.Counts.Sent, 108) || !counts(h.Counts.Lost, 18) {
		t.Errorf("loss %s of counts %s", line(t, h.Loss), line(t, h.Counts))
	}
	if h := hourOf(t, rowsOf(none)...); h.Loss != (tables.Loss{}) {
		t.Errorf("loss of nothing is %s", line(t, h.Loss))
	}
}

// What another tool does not say stays unknown, and is no zero.
func TestForeignRunsTellWhatTheyTell(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	figures := foreign(t, s, hour0, func(r *result.Result) { // min, mean and max of 10, and no round trips
		v := func(ns float64) *float64 { return &ns }
		r.Summary.Min, r.Summary.Mean, r.Summary.Max = v(1e6), v(2e6), v(9e6)
		r.Run.Failure, r.Run.Counts = "", wire.Counts{Received: 10}
		r.Counted = &result.Counted{Received: true}
	})
	whole := foreign(t, s, hour0.Add(time.Second), nil, span(4*time.Millisecond, 0, 30)...)
	h := hourOf(t, rowsOf(whole)...)
	if !near(h.RTT.P50US, 4000) || !is(h.RTT.MeanUS, 4000) || !counts(h.Counts.Received, 30) || h.Counts.Late != nil || h.Counts.Duplicate != nil || !is(h.Loss.Ratio, 0) {
		t.Errorf("hour is %s", line(t, h))
	}
	h = hourOf(t, rowsOf(whole, figures)...)
	if !is(h.RTT.MinUS, 1000) || !is(h.RTT.MaxUS, 9000) || !is(h.RTT.MeanUS, 3500) || !counts(h.Counts.Received, 40) || !counts(h.Counts.Sent, 30) {
		t.Errorf("with one that tells figures alone: %s", line(t, h))
	}
	if h.RTT.P50US != nil || h.Histogram != "" {
		t.Errorf("it has quantiles, although 10 of 40 round trips are unknown: %s", line(t, h.RTT))
	}
	figures.Counted, figures.Run.Counts = &result.Counted{}, wire.Counts{}
	if h := hourOf(t, rowsOf(whole, figures)...); h.RTT.MeanUS != nil || !is(h.RTT.MinUS, 1000) {
		t.Errorf("with one that does not say of how many: %s", line(t, h.RTT))
	}
}

// Another tool's counts may be as large as a row holds; their sum has no place in one, and must not keep the hour
// from being stored.
func TestCountsThatARowCannotHoldAreAbsent(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	rows := rowsOf(foreign(t, s, hour0, nil, lost), foreign(t, s, hour0.Add(time.Second), nil, lost))
	for i := range rows {
		rows[i].Counts.Sent, rows[i].Counts.Lost, rows[i].Failures = math.MaxInt32, 7, map[wire.Failure]int{wire.FailureTimeout: math.MaxInt32, wire.FailureReset: 1}
	}
	h := hourOf(t, rows...)
	if h.Counts.Sent != nil || !counts(h.Counts.Lost, 14) || h.Loss.Sent != nil || h.Failures[wire.FailureTimeout] != 0 || h.Failures[wire.FailureReset] != 2 {
		t.Errorf("hour is %s", line(t, h))
	}
}

func TestAHistogramThatCannotBeReadLeavesNoQuantiles(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	rows := rowsOf(measured(t, s, hour0, span(time.Millisecond, 1, 30)...), measured(t, s, hour0.Add(time.Minute), span(time.Millisecond, 1, 30)...))
	rows[1].RTTHistogram = "no histogram"
	h := hourOf(t, rows...)
	if h.RTT.P50US != nil || h.Histogram != "" || h.RTT.MeanUS == nil || !counts(h.Counts.Received, 60) {
		t.Errorf("hour is %s", line(t, h))
	}
}

func TestAnHourOfThroughputIsTheMedianOfItsRuns(t *testing.T) {
	s := wire.Series{Environment: environment, Source: "westeurope", Target: "eastus", Path: "public", Probe: "bulk"}
	run := func(minute int, up, down float64) tables.Row {
		r := tables.Row{Series: s, Slot: hour0.Add(time.Duration(minute) * time.Minute), Kind: wire.KindThroughput, Counts: wire.Counts{Sent: 7, Received: 7}}
		moved := 1e9
		r.Bulk.MovedBytes, r.Bulk.Throughput.UpBPS = &moved, &up
		if down > 0 {
			r.Bulk.Throughput.DownBPS = &down
		}
		return r
	}
	h := hourOf(t, run(0, 900e6, 0), run(20, 100e6, 0), run(40, 950e6, 500e6), run(50, 1000e6, 700e6))
	if !counts(h.Up.N, 4) || !is(h.Up.Min, 100e6) || !is(h.Up.Median, 925e6) || !is(h.Up.Max, 1000e6) {
		t.Errorf("up %s", line(t, h.Up))
	}
	if !counts(h.Down.N, 2) || !is(h.Down.Median, 600e6) || !is(h.MovedBytes, 4e9) || h.Best.N != nil || h.RTT.MinUS != nil || h.Loss.Ratio != nil {
		t.Errorf("hour is %s", line(t, h))
	}
}

func TestAnHourCountsTheRunsThatAModelMadeUp(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	var rows []tables.Row
	for i := range 3 {
		r := measured(t, s, hour0.Add(time.Duration(i)*time.Minute), span(time.Millisecond, 0, 20)...)
		r.Provenance.Simulated = i > 0
		rows = append(rows, tables.RowOf(&r))
	}
	h := hourOf(t, rows...)
	if h.Runs != 3 || h.Simulated != 2 {
		t.Errorf("%d of %d runs are simulated, want 2 of 3", h.Simulated, h.Runs)
	}
	if p := rollup.ProfilesOf([]tables.Hour{*h, *hourOf(t, rows[0])}, hour0.AddDate(0, 0, 1).Truncate(24*time.Hour)); len(p) != 1 || p[0].Runs != 4 || p[0].Simulated != 2 {
		t.Errorf("profiles %s: want 2 simulated runs of 4", line(t, p))
	}
}

func TestTheOrderOfArrivalDoesNotMatter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 2))
	s := seriesOf(environment, "westeurope", "eastus")
	var rows []tables.Row
	for i := range 12 {
		r := measured(t, s, hour0.Add(time.Duration(i)*5*time.Minute), append(drawn(rnd, rnd.IntN(80)), lost)...)
		if i%5 == 0 {
			r = expired(s, r.Slot)
		}
		rows = append(rows, tables.RowOf(&r))
	}
	want := line(t, hourOf(t, rows...))
	for range 30 {
		rnd.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if got := line(t, hourOf(t, rows...)); got != want {
			t.Fatalf("hour is\n%s\nwant\n%s", got, want)
		}
	}
}

// Whatever changes in a run that an hour may show changes the hash, and nothing else does.
func TestTheHashOfTheInputsIsThatOfWhatTheHourRestsOn(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	base := func() tables.Row {
		return rowsOf(measured(t, s, hour0, append(span(time.Millisecond, time.Microsecond, 30), lost)...))[0]
	}
	want := hourOf(t, base()).Inputs
	if len(want) != 64 || strings.Trim(want, "0123456789abcdef") != "" {
		t.Fatalf("hash is %q", want)
	}
	v := 7.0
	for what, change := range map[string]func(*tables.Row){
		"slot": func(r *tables.Row) { r.Slot = r.Slot.Add(time.Minute) }, "kind": func(r *tables.Row) { r.Kind = wire.KindUDP },
		"failure": func(r *tables.Row) { r.Failure = wire.FailureTLS }, "count": func(r *tables.Row) { r.Counts.Duplicate++ },
		"sample's failure": func(r *tables.Row) { r.Failures[wire.FailureReset]++ }, "mean": func(r *tables.Row) { r.MeanUS = &v },
		"histogram": func(r *tables.Row) { r.RTTHistogram = "" }, "degraded": func(r *tables.Row) { r.Noise.Degraded = []summary.Reason{summary.ReasonCPUSteal} },
		"throughput": func(r *tables.Row) { r.Bulk.Throughput.DownBPS = &v }, "rate of load": func(r *tables.Row) { r.Bulk.Load.RequestsPerS = &v },
		"the mark of simulated runs": func(r *tables.Row) { r.Simulated = true },
	} {
		r := base()
		change(&r)
		if hourOf(t, r).Inputs == want {
			t.Errorf("%s: the hash is the same", what)
		}
	}
	r := base()
	r.Attempt, r.Document, r.Address, r.P99US = "ffffffff", "other", "10.0.0.1:1", &v
	if hourOf(t, r).Inputs != want {
		t.Error("the hash is another although nothing that the hour shows has changed")
	}
}
