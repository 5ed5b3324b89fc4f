package answers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/catalog"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// RankQuery asks which places would do for a copy of what is at one. A bound is nil where it is not asked for.
type RankQuery struct {
	From, Path string
	// Probe measures the round trip, and Throughput what the line carries; empty where nothing does.
	Probe, Throughput string
	// Since and Until bound the hours of round trips. Throughput is of RecoveryDays up to Until.
	Since, Until time.Time

	MinKM, P95BelowUS, ThroughputBPS *float64
	SameGeography                    bool
}

// Rank is the places, those that would do first.
type Rank struct {
	Query   RankQuery
	Rests   Rests
	Regions []Ranked
}

// Ranked is one place. Nil is unknown.
type Ranked struct {
	Target     string
	DistanceKM *float64
	Geography  string // empty for a region that the catalog does not have
	// P95 is the 95 % quantile of the round trip at BusiestHour of the day (UTC), from the merged histograms of such
	// hours: the hour at which it is largest.
	P95         Bounded // µs
	BusiestHour *int
	N           int // round trips of that hour
	// Throughput is the 5 % quantile of the hours' throughput to the target from 20 hours on, and their median below that.
	Throughput      Bounded // bit/s
	ThroughputIs    string  // "p5", "median" or "" without any
	ThroughputHours int
	Satisfies       *bool
	// WhyNot says what is not satisfied, or unknown, for people.
	WhyNot []string
}

// The bounds' names, in the order in which they are told.
const (
	boundDistance   = "distance"
	boundGeography  = "geography"
	boundRoundTrip  = "p95"
	boundThroughput = "throughput"
)

// ReadRank answers the query. Of each place it holds one histogram an hour of the day at a time.
func ReadRank(ctx context.Context, from HourRows, c *config.Config, q RankQuery, now time.Time) (*Rank, error) {
	out := &Rank{Query: q}
	var sums [24]wire.HistogramSum // used again for each place
	for _, target := range rankTargets(c, q) {
		r := Ranked{Target: target}
		home, okHome := regionOf(c, q.From)
		there, okThere := regionOf(c, target)
		if okThere {
			r.Geography = there.Geography
		}
		if okHome && okThere && !c.Loopback {
			km := catalog.Distance(home, there)
			r.DistanceKM = &km
		}
		if err := r.readRoundTrip(ctx, from, q, &sums, &out.Rests, now); err != nil {
			return nil, err
		}
		if err := r.readThroughput(ctx, from, q, &out.Rests, now); err != nil {
			return nil, err
		}
		r.judge(q, home.Geography)
		out.Regions = append(out.Regions, r)
	}
	trend.Ranked(out.Regions, func(r Ranked) *bool { return r.Satisfies }, func(r Ranked) *float64 { return r.P95.Value })
	return out, nil
}

// rankTargets are the probers over the path that the one asked about measures, by either probe.
func rankTargets(c *config.Config, q RankQuery) (targets []string) {
	for _, p := range c.Probers {
		if p.ID == q.From || len(p.Addresses[q.Path]) == 0 {
			continue
		}
		for i := range c.Probes {
			of := &c.Probes[i]
			if of.Name != q.Probe && of.Name != q.Throughput {
				continue
			}
			if slices.Contains(c.Pairs(of), config.Pair{Source: q.From, Target: p.ID, Path: q.Path}) {
				targets = append(targets, p.ID)
				break
			}
		}
	}
	return targets
}

func (r *Ranked) readRoundTrip(ctx context.Context, from HourRows, q RankQuery, sums *[24]wire.HistogramSum, rests *Rests, now time.Time) error {
	if q.Probe == "" {
		return nil
	}
	of := SeriesQuery{Source: q.From, Target: r.Target, Path: q.Path, Probe: q.Probe, Since: q.Since, Until: q.Until}
	history, hours, err := readHistory(ctx, from, of, tables.Histograms, now)
	if err != nil {
		return err
	}
	rests.join(&history.Rests)
	for h := range sums {
		sums[h].Reset()
	}
	for i := range hours {
		if err := addHistogram(&sums[hours[i].Begin.UTC().Hour()], &hours[i]); err != nil {
			return err
		}
	}
	var values [24]*float64
	for h := range sums {
		values[h] = sums[h].Quantile(0.95)
	}
	if h, ok := trend.Busiest(values); ok {
		r.BusiestHour, r.N, r.P95 = &h, int(sums[h].Total()), boundedQuantile(&sums[h], 0.95)
	}
	return nil
}

func (r *Ranked) readThroughput(ctx context.Context, from HourRows, q RankQuery, rests *Rests, now time.Time) error {
	if q.Throughput == "" {
		return nil
	}
	of := SeriesQuery{Source: q.From, Target: r.Target, Path: q.Path, Probe: q.Throughput, Since: q.Until.AddDate(0, 0, -RecoveryDays), Until: q.Until}
	history, hours, err := readHistory(ctx, from, of, tables.Figures, now)
	if err != nil {
		return err
	}
	rests.join(&history.Rests)
	carried, _, _ := lineOf(hours)
	r.ThroughputHours = len(carried)
	e, ok := trend.LowQuantile(carried, trend.RecoveryLow)
	if r.ThroughputIs = "p5"; !ok {
		if e, ok = trend.Median(carried); !ok {
			r.ThroughputIs = ""
			return nil
		}
		r.ThroughputIs = "median"
	}
	r.Throughput = Bounded{&e.Value, e.Low, e.High}
	return nil
}

// judge holds the place against what is asked for.
func (r *Ranked) judge(q RankQuery, geography string) {
	figures := map[string]*float64{boundDistance: r.DistanceKM, boundRoundTrip: r.P95.Value, boundThroughput: r.Throughput.Value}
	var bounds []trend.Bound
	add := func(name string, limit *float64, least bool) {
		if limit != nil {
			bounds = append(bounds, trend.Bound{Name: name, Limit: *limit, Least: least})
		}
	}
	add(boundDistance, q.MinKM, true)
	if q.SameGeography {
		same, one := 0.0, 1.0
		if r.Geography == geography {
			same = 1
		}
		if add(boundGeography, &one, true); r.Geography != "" && geography != "" {
			figures[boundGeography] = &same
		}
	}
	add(boundRoundTrip, q.P95BelowUS, false)
	add(boundThroughput, q.ThroughputBPS, true)
	var failed, unknown []string
	r.Satisfies, failed, unknown = trend.Satisfied(bounds, figures)
	for _, name := range failed {
		r.WhyNot = append(r.WhyNot, r.failure(name, q))
	}
	for _, name := range unknown {
		r.WhyNot = append(r.WhyNot, map[string]string{
			boundDistance: "the distance is not known", boundGeography: "the geography is not known",
			boundRoundTrip: "no hour of the day has 200 round trips", boundThroughput: "throughput was not measured",
		}[name])
	}
}

func (r *Ranked) failure(bound string, q RankQuery) string {
	switch bound {
	case boundDistance:
		return fmt.Sprintf("it is %.0f km away, under %.0f km", *r.DistanceKM, *q.MinKM)
	case boundGeography:
		return "its geography is " + r.Geography
	case boundRoundTrip:
		return fmt.Sprintf("p95 at %02d:00Z is %.3f ms, over %.3f ms", *r.BusiestHour, *r.P95.Value/1000, *q.P95BelowUS/1000)
	}
	return fmt.Sprintf("throughput (%s) is %.1f Mbit/s, under %.1f Mbit/s", r.ThroughputIs, *r.Throughput.Value/1e6, *q.ThroughputBPS/1e6)
}
