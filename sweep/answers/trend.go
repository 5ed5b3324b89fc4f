package answers

import (
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/catalog"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// Trend is what one series was like over a time, from its hours.
type Trend struct {
	History
	Hours     []TrendHour // oldest first; an hour without data is not there
	Quantiles Quantiles
	// Changes are where the round trip got another level, oldest first.
	Changes []Change
	// Slope is how the hours' medians rise or fall; nil where the hours are too few.
	Slope *Slope
	// Diurnal says whether the round trip has a daily rhythm; nil when that cannot be told, and then
	// DiurnalRefused says why.
	Diurnal        *Diurnal
	DiurnalRefused string
	Clocks         Clocks
	Place          Place
}

// TrendHour is one hour. Nil is absent.
type TrendHour struct {
	Begin          time.Time
	Runs, Degraded int
	N              *int // round trips received
	MinUS          *float64
	P50US          *float64
	P90US          *float64
	P99US          *float64
	Loss           tables.Loss
	// BaselineUS is the least of the trailing 28 days since the route last changed, and ExcessUS what the median is
	// above it.
	BaselineUS, ExcessUS *float64
	UpBPS, DownBPS       *float64 // median of the hour's runs
	Simulated            bool
}

// Quantiles are those of all round trips of a time, from the merged histograms of its hours; nil where fewer than
// ten lie above.
type Quantiles struct {
	N                                  int // round trips in the histograms
	P50US, P90US, P95US, P99US, P999US *float64
	// Without counts the hours with round trips that are not in it: another tool told no more than figures.
	Without int
}

// ChangeKind says what a change was, from what moved.
type ChangeKind string

// The kinds of changes.
const (
	// Rerouted: the hours' least round trips moved: the way is another.
	Rerouted ChangeKind = "rerouted"
	// Congestion: the medians moved and the least round trips did not: the way is fuller, or emptier.
	Congestion ChangeKind = "congestion"
	// Step: the medians moved, and of the least round trips too little is known.
	Step ChangeKind = "step"
)

// Change is where the round trip got another level.
type Change struct {
	Time              time.Time // the first hour of the new level
	BeforeUS, AfterUS float64   // medians of the levels
	P                 float64   // of the test that found it
	Kind              ChangeKind
}

// Slope is the Theil–Sen slope of the hours' medians, µs a day, with the test of Mann and Kendall by the variance
// of Hamed and Rao.
type Slope struct {
	PerDay trend.Estimate
	P      float64
	N      int // hours
}

// DiurnalClass is how large a daily rhythm is (Fontugne et al., IMC 2020).
type DiurnalClass string

// The classes, by the amplitude.
const (
	DiurnalNone   DiurnalClass = "none"   // no daily peak, or at most 0.5 ms
	DiurnalLow    DiurnalClass = "low"    // over 0.5 ms
	DiurnalMild   DiurnalClass = "mild"   // over 1 ms
	DiurnalSevere DiurnalClass = "severe" // over 3 ms
)

// Diurnal is the daily rhythm of a series.
type Diurnal struct {
	Daily       bool
	AmplitudeUS float64
	Class       DiurnalClass
	N           int       // values that it is of
	Since       time.Time // the first of them
}

// HourSpread is how hourly medians are spread over an hour of the day. N 0: no data, and nil figures.
type HourSpread struct {
	N                    int
	MedianUS, Q1US, Q3US *float64
}

// Clocks are the hours of the day, by three clocks.
type Clocks struct {
	UTC            [24]HourSpread
	Source, Target *[24]HourSpread // nil where nobody knows the zone
	Zones          Zones
}

// Zones are the IANA zones of a pair; empty where nobody knows: of an endpoint, and of a prober that is in the
// configuration no more.
type Zones struct{ Source, Target string }

// Place is what the catalog says of a pair; all nil on one machine (loopback), and for endpoints.
type Place struct {
	DistanceKM     *float64
	FloorUS        *float64 // round trip of light in fibre
	PublishedP95MS *float64 // that Microsoft publishes between the regions
}

// placeOf looks a pair up.
func placeOf(c *config.Config, source, target string) (p Place) {
	if c == nil || c.Loopback {
		return p
	}
	a, okA := regionOf(c, source)
	b, okB := regionOf(c, target)
	if !okA || !okB {
		return p
	}
	km := catalog.Distance(a, b)
	floor := float64(catalog.Floor(km)) / float64(time.Microsecond)
	p.DistanceKM, p.FloorUS = &km, &floor
	if ms, ok := catalog.PublishedP95(a.Name, b.Name); ok {
		p.PublishedP95MS = &ms
	}
	return p
}

// zonesOf looks up where the ends of a pair are.
func zonesOf(c *config.Config, source, target string) (z Zones) {
	if c == nil {
		return z
	}
	for _, of := range []struct {
		name string
		into *string
	}{{source, &z.Source}, {target, &z.Target}} {
		if r, ok := regionOf(c, of.name); ok {
			*of.into = r.TimeZone
		}
	}
	return z
}

func trendHourOf(h *tables.Hour) TrendHour {
	return TrendHour{Begin: h.Begin, Runs: h.Runs, Degraded: h.Degraded, N: h.Counts.Received, MinUS: h.RTT.MinUS, P50US: h.RTT.P50US,
		P90US: h.RTT.P90US, P99US: h.RTT.P99US, Loss: h.Loss, UpBPS: h.Up.Median, DownBPS: h.Down.Median, Simulated: h.Simulated > 0}
}

// merge computes the quantiles of all round trips of hours.
func merge(hours []tables.Hour) (q Quantiles, sum *wire.HistogramSum) {
	sum = &wire.HistogramSum{}
	most := 0.0
	for i := range hours {
		h := &hours[i]
		if h.Histogram == "" {
			if h.RTT.MinUS != nil {
				q.Without++
			}
			continue
		}
		if err := sum.Add(h.Histogram); err != nil {
			q.Without++
			continue
		}
		if h.RTT.MaxUS != nil {
			most = max(most, *h.RTT.MaxUS)
		}
	}
	without := q.Without
	if sum.Total() > 0 {
		q = quantilesFrom(sum, &most)
	}
	q.Without = without
	return q, sum
}

// quantilesFrom reads quantiles off a histogram. The top of a bucket may lie above the largest value, which is
// exact; 0 and nil are not known.
func quantilesFrom(sum *wire.HistogramSum, most *float64) (q Quantiles) {
	q.N = int(sum.Total())
	for _, of := range []struct {
		p    float64
		into **float64
	}{{0.5, &q.P50US}, {0.9, &q.P90US}, {0.95, &q.P95US}, {0.99, &q.P99US}, {0.999, &q.P999US}} {
		if ns := sum.Quantile(of.p); ns != nil {
			us := *ns / 1000
			if most != nil && *most > 0 {
				us = min(us, *most)
			}
			*of.into = &us
		}
	}
	return q
}
