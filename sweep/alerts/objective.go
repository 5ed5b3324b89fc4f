package alerts

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

const (
	// latencyWindow is of how many hours up to the present the 99 % quantile is.
	latencyWindow = 24 * time.Hour
	// margin is by what part an objective must be kept again for its alert to end, so that one at its limit is not
	// told every hour.
	margin = 0.05
	// objectiveReserve is enough for one objective.
	objectiveReserve = 5 * time.Second
)

// objectives judges every objective of the configuration, and ends the alerts of those that are in it no more.
func (e *Evaluator) objectives(ctx context.Context) error {
	if e.config == nil {
		return nil
	}
	wanted := map[string]bool{}
	if !e.alerts.Objective.Off {
		for i := range e.config.Objectives {
			o := &e.config.Objectives[i]
			wanted[o.Name] = true
			if ending(ctx, objectiveReserve) {
				continue // the next invocation looks at it
			}
			j, err := e.objective(ctx, o)
			if err == nil {
				err = e.settle(ctx, j)
			}
			if err != nil {
				return fmt.Errorf("looking at objective %q: %w", o.Name, err)
			}
		}
	}
	for _, c := range e.lasting() {
		if c.Kind == tables.AlertObjective && !wanted[c.Subject] {
			if err := e.settle(ctx, judgement{verdict: over, alert: c.Alert, why: "nobody asks for it any more"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// line is what was measured of an objective's line.
type line struct {
	throughput          []float64     // bit/s, an hour each
	byHour              [24][]float64 // the same by the hour of the day, UTC
	p99                 *float64      // µs
	simulated, measured bool
}

// objective holds what was measured against what is asked.
func (e *Evaluator) objective(ctx context.Context, o *config.Objective) (judgement, error) {
	j := judgement{alert: tables.Alert{Kind: tables.AlertObjective, Subject: o.Name}}
	m, err := e.measure(ctx, o)
	if err != nil {
		return j, err
	}
	found := asked{alert: &j.alert}
	found.throughput(o, &m)
	if o.MaxP99 > 0 {
		limit := float64(o.MaxP99) / float64(time.Microsecond)
		j.alert.P99US, j.alert.WantedP99US = m.p99, &limit
		found.atMost(m.p99, limit, func(v float64) string {
			return fmt.Sprintf("p99 of the last %s is %s, and may be %s", span(latencyWindow), ms(v), ms(limit))
		})
	}
	switch {
	case len(found.breached) > 0:
		j.verdict = raised
		j.alert.Since = e.Now().UTC().Truncate(time.Hour)
		j.alert.Simulated, j.alert.Quiet = m.simulated, m.simulated && m.measured
		j.alert.Message = fmt.Sprintf("%s to %s over %s: %s", o.From, o.To, o.Path, strings.Join(found.breached, "; "))
	case found.kept:
		j.verdict, j.why = over, "everything that is asked is kept again"
	}
	return j, nil
}

// asked gathers what became of what is asked. Until all of it is kept clearly nothing is over.
type asked struct {
	alert    *tables.Alert
	breached []string
	some     bool // something was asked
	kept     bool
}

func (a *asked) take(known, breached, clearly bool, text func() string) {
	if breached && known {
		a.breached = append(a.breached, text())
	}
	a.kept = known && clearly && (a.kept || !a.some)
	a.some = true
}

func (a *asked) atLeast(v *float64, limit float64, text func(float64) string) {
	a.take(v != nil, v != nil && *v < limit, v != nil && *v >= limit*(1+margin), func() string { return text(*v) })
}

func (a *asked) atMost(v *float64, limit float64, text func(float64) string) {
	a.take(v != nil, v != nil && *v > limit, v != nil && *v <= limit*(1-margin), func() string { return text(*v) })
}

// throughput judges what is asked of it.
func (a *asked) throughput(o *config.Objective, m *line) {
	if o.ChangeRate == 0 && o.MinThroughput == 0 {
		return
	}
	in := trend.RecoveryInput{Throughput: m.throughput, Change: o.ChangeRate, MedianRTT: math.NaN(), HighRTT: math.NaN()}
	if m.p99 != nil {
		in.HighRTT = *m.p99 / 1e6
	}
	for hour, of := range m.byHour {
		in.ByHour[hour] = math.NaN()
		if len(of) > 0 {
			in.ByHour[hour] = median(of)
		}
	}
	r := trend.RecoveryOf(in)
	var low *float64
	if r.Low != nil {
		low = &r.Low.Value
	}
	wanted := max(o.ChangeRate, o.MinThroughput)
	a.alert.P5BPS, a.alert.WantedBPS = low, &wanted
	if o.ChangeRate > 0 {
		a.atLeast(low, o.ChangeRate, func(v float64) string {
			return fmt.Sprintf("in 95 of 100 hours the line carries %s, and data changes at %s", bitRate(v), bitRate(o.ChangeRate))
		})
	}
	if o.MinThroughput > 0 {
		a.atLeast(low, o.MinThroughput, func(v float64) string {
			return fmt.Sprintf("in 95 of 100 hours the line carries %s, and %s are wanted", bitRate(v), bitRate(o.MinThroughput))
		})
	}
	if o.RPO > 0 {
		limit := o.RPO.Seconds()
		a.alert.RPOS, a.alert.WantedRPOS = r.RPO, &limit
		a.atMost(r.RPO, limit, func(v float64) string {
			return fmt.Sprintf("a copy is up to %.0f s behind, and may be %.0f s", v, limit)
		})
	}
}

// measure reads what an objective is held against.
func (e *Evaluator) measure(ctx context.Context, o *config.Objective) (m line, err error) {
	until := e.Now().UTC().Truncate(time.Hour) // hours that are over
	q := tables.HourQuery{Source: o.From, Target: o.To, Path: o.Path, Until: until}
	if o.Throughput != "" {
		q.Probe, q.Since, q.Columns = o.Throughput, until.Add(-o.Window), tables.Figures
		err = e.eachHour(ctx, q, &m, func(h *tables.Hour) error {
			if v := h.Up.Median; v != nil {
				m.throughput = append(m.throughput, *v)
				m.byHour[h.Begin.UTC().Hour()] = append(m.byHour[h.Begin.UTC().Hour()], *v)
			}
			return nil
		})
		slices.Reverse(m.throughput) // oldest first
	}
	if o.Latency != "" && err == nil {
		q.Probe, q.Since, q.Columns = o.Latency, until.Add(-latencyWindow), tables.Histograms
		var sum wire.HistogramSum
		whole := true
		err = e.eachHour(ctx, q, &m, func(h *tables.Hour) error {
			if h.Histogram == "" {
				whole = whole && (h.Counts.Received == nil || *h.Counts.Received == 0)
				return nil
			}
			return sum.Add(h.Histogram)
		})
		if ns := sum.Quantile(0.99); ns != nil && whole {
			us := *ns / 1e3
			m.p99 = &us
		}
	}
	return m, err
}

func (e *Evaluator) eachHour(ctx context.Context, q tables.HourQuery, m *line, take func(*tables.Hour) error) error {
	for h, err := range e.Rows.Hours(ctx, q) {
		if err == nil {
			err = take(&h)
		}
		if err != nil {
			return err
		}
		m.simulated = m.simulated || h.Simulated > 0
		m.measured = m.measured || h.Simulated == 0
	}
	return nil
}

func bitRate(bps float64) string {
	switch {
	case bps >= 1e9:
		return fmt.Sprintf("%.2f Gbit/s", bps/1e9)
	case bps >= 1e6:
		return fmt.Sprintf("%.1f Mbit/s", bps/1e6)
	}
	return fmt.Sprintf("%.0f kbit/s", bps/1e3)
}
