package answers

import (
	"context"
	"fmt"
	"math"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// RecoveryDays is over how many days recovery and ranking look: four weeks, so that every day of the week counts
// as often.
const RecoveryDays = 28

// DefaultTCPWindow is half of the largest receive buffer that Linux gives a connection by itself (tcp_rmem, 6 MiB), which
// is what it offers of it as a window.
const DefaultTCPWindow = "3MiB"

// RecoveryQuery asks what copying one prober's data to another's place would be like.
type RecoveryQuery struct {
	Source, Target, Path string
	// Probe measures the round trip, and Throughput what the line carries.
	Probe, Throughput string
	Since, Until      time.Time

	ChangeBPS      float64 // at which data changes at the source
	SizeBytes      float64 // that a seed or a backup copies
	Window, Outage time.Duration
	TCPWindowBytes float64
}

// Recovery is how far behind a copy would be. Nil is unknown or, of times, never.
type Recovery struct {
	Query RecoveryQuery
	// Latency and Line are of how much the answer is: round trips and throughput.
	Latency, Line History
	// Measured is what each hour's runs of throughput carried to the target, the median of an hour.
	Measured struct {
		P5, P50 *Bounded // bit/s; P5 from 20 hours on
		Hours   int
	}
	Commit RoundTrip // what a synchronous commit waits for
	trend.Recovery
	// Fits says whether the copy that begins at an hour of the day (UTC) is done within the window; nil where that is unknown.
	Fits [24]*bool
	// HoursMeasured are the hours of the day, UTC, in which throughput was measured.
	HoursMeasured [24]int
}

// Bounded is a value with its interval at 95 %.
type Bounded struct{ Value, Low, High *float64 }

// RoundTrip is the distribution of round trips that a commit waits for, µs.
type RoundTrip struct {
	N        int
	P50, P99 Bounded
}

// ReadRecovery answers the query from the hours of both series.
func ReadRecovery(ctx context.Context, from HourRows, q RecoveryQuery, now time.Time) (*Recovery, error) {
	read := func(probe string, columns tables.HourSelection) (History, []tables.Hour, error) {
		of := SeriesQuery{Source: q.Source, Target: q.Target, Path: q.Path, Probe: probe, Since: q.Since, Until: q.Until}
		if probe == "" { // no probe measures it
			return History{Query: of}, nil, nil
		}
		return readHistory(ctx, from, of, columns, now)
	}
	out := &Recovery{Query: q}
	var trips, carried []tables.Hour
	var err error
	if out.Latency, trips, err = read(q.Probe, tables.Histograms); err != nil {
		return nil, err
	}
	if out.Line, carried, err = read(q.Throughput, tables.Figures); err != nil {
		return nil, err
	}
	if out.Commit, err = roundTripOf(trips); err != nil {
		return nil, err
	}
	in := trend.RecoveryInput{Change: q.ChangeBPS, Size: 8 * q.SizeBytes, Outage: q.Outage.Seconds(), TCPWindow: 8 * q.TCPWindowBytes,
		MedianRTT: seconds(out.Commit.P50.Value), HighRTT: seconds(out.Commit.P99.Value)}
	in.Throughput, in.ByHour, out.HoursMeasured = lineOf(carried)
	out.Recovery = trend.RecoveryOf(in)
	out.Measured.Hours = len(in.Throughput)
	if e := out.Low; e != nil {
		out.Measured.P5 = &Bounded{&e.Value, e.Low, e.High}
	}
	if e, ok := trend.Median(in.Throughput); ok {
		out.Measured.P50 = &Bounded{&e.Value, e.Low, e.High}
	}
	for h, s := range out.Seed {
		if s != nil {
			fits := *s <= q.Window.Seconds()
			out.Fits[h] = &fits
		}
	}
	return out, nil
}

// seconds of µs; NaN for what is unknown.
func seconds(us *float64) float64 {
	if us == nil {
		return math.NaN()
	}
	return *us / 1e6
}

// lineOf is what the hours carried, and what such hours of the day usually do: their median, NaN without any.
func lineOf(hours []tables.Hour) (all []float64, byHour [24]float64, n [24]int) {
	var of [24][]float64
	for i := range hours {
		h := &hours[i]
		if v := first(h.Up.Median, h.Best.Median); v != nil {
			all = append(all, *v)
			at := h.Begin.UTC().Hour()
			of[at] = append(of[at], *v)
		}
	}
	for at := range of {
		byHour[at] = math.NaN()
		if e, ok := trend.Median(of[at]); ok {
			byHour[at], n[at] = e.Value, e.N
		}
	}
	return all, byHour, n
}

// roundTripOf merges the hours' histograms.
func roundTripOf(hours []tables.Hour) (out RoundTrip, err error) {
	var sum wire.HistogramSum
	for i := range hours {
		if err := addHistogram(&sum, &hours[i]); err != nil {
			return out, err
		}
	}
	out.N, out.P50, out.P99 = int(sum.Total()), boundedQuantile(&sum, 0.5), boundedQuantile(&sum, 0.99)
	return out, nil
}

func addHistogram(sum *wire.HistogramSum, h *tables.Hour) error {
	if h.Histogram == "" {
		return nil
	}
	if err := sum.Add(h.Histogram); err != nil {
		return fmt.Errorf("reading the hour %s of %s: %w", h.Begin.Format(time.RFC3339), h.Series, err)
	}
	return nil
}

// maxRanked is up to how many values the ranks of an interval are exact.
const maxRanked = 1_000_000

// boundedQuantile is a quantile in µs with its interval by ranks. It is empty where fewer than ten values lie above it.
func boundedQuantile(sum *wire.HistogramSum, p float64) Bounded {
	ns := sum.Quantile(p)
	if ns == nil {
		return Bounded{}
	}
	us := func(ns float64) *float64 { v := ns / 1000; return &v }
	out := Bounded{Value: us(*ns)}
	n := sum.Total()
	low, high := intervalRanks(n, p)
	if low >= 1 {
		out.Low = us(float64(sum.AtRank(low)))
	}
	if high <= n {
		out.High = us(float64(sum.AtRank(high)))
	}
	return out
}

// intervalRanks are those of package summary; of very many values the normal approximation's, which is right to a rank or two.
func intervalRanks(n int64, p float64) (low, high int64) {
	if n <= maxRanked {
		l, u := summary.Ranks(int(n), p)
		return int64(l), int64(u)
	}
	const z = 1.959963984540054 // as in package trend
	half := z * math.Sqrt(float64(n)*p*(1-p))
	return int64(math.Floor(float64(n)*p - half)), int64(math.Ceil(float64(n)*p+half)) + 1
}

// Finding is what a figure of a recovery means, or why there is none.
type Finding struct{ Code, Text string }

// Findings says of a recovery what a person should know of it before they rely on it.
func (r *Recovery) Findings() (out []Finding) {
	say := func(code, format string, args ...any) { out = append(out, Finding{code, fmt.Sprintf(format, args...)}) }
	switch {
	case r.Measured.Hours == 0:
		say("no_throughput", "throughput was not measured in the window: nothing is said of RPO, catch-up and seed")
	case r.Low == nil:
		say("few_throughput", "throughput was measured in %d hours, and its 5 %% quantile needs 20: nothing is said of RPO and catch-up", r.Measured.Hours)
	case !*r.Sustained && r.RPO != nil:
		say("behind_by_day", "at the 5 %% quantile the line carries less than the changes: a backlog builds up and drains in the course of a day")
	case !*r.Sustained:
		say("not_sustained", "at the 5 %% quantile the line carries less than the changes, and it cannot be told that a day carries a day's")
	case r.Never:
		say("never_catches_up", "at the 5 %% quantile the line carries no more than the changes: after an outage it never catches up")
	}
	if r.Commit.P99.Value == nil {
		say("few_round_trips", "of %d round trips there is no 99 %% quantile: nothing is said of what a synchronous commit costs at worst, nor of RPO", r.Commit.N)
	}
	gaps := 0
	for _, n := range r.HoursMeasured {
		if n == 0 {
			gaps++
		}
	}
	if gaps > 0 && r.Measured.Hours > 0 {
		say("hours_unmeasured", "throughput was not measured in %d of the 24 hours of the day: seeds that run into one are not told", gaps)
	}
	if r.Ceiling != nil && r.Low != nil && *r.Ceiling < r.Query.ChangeBPS {
		say("window_limited", "one connection with this TCP window carries less than the changes, whatever the line does: use several, or a larger window")
	}
	if r.Latency.Behind { // throughput may be measured once a day
		say("behind", "the newest hours of round trips are not there: they were not measured, or are not rolled up yet")
	}
	return out
}
