package main

import (
	"bytes"
	"fmt"

	"isochrone/sweep/answers"
	"isochrone/sweep/trend"
)

// unit is how a statistic is shown: in tables scaled, in json and csv as it is.
type unit struct {
	heading string  // of tables
	name    string  // of json and csv
	factor  float64 // from name to heading
	digits  int
}

func unitOf(s answers.Statistic) unit {
	switch s {
	case answers.Throughput:
		return unit{"Mbit/s", "bps", 1e-6, 2}
	case answers.Rate:
		return unit{"/s", "per_s", 1, 2}
	case answers.Loss:
		return unit{"%", "ratio", 100, 2}
	}
	return unit{"ms", "us", 1e-3, 3}
}

func (u unit) show(v *float64) string { return decimal(v, u.factor, u.digits) }

// estimate shows a value and the ends of its interval.
func (u unit) estimate(e *trend.Estimate) []string {
	switch {
	case e == nil:
		return []string{absent, absent, absent}
	case e.Low == nil:
		return []string{u.show(&e.Value), wordFew, wordFew}
	}
	return []string{u.show(&e.Value), u.show(e.Low), u.show(e.High)}
}

// describeCompared says what is compared.
func describeCompared(s answers.Statistic) string {
	switch s {
	case answers.Throughput:
		return "throughput"
	case answers.Rate:
		return "messages or requests a second"
	case answers.Network:
		return "median network time (round trip less the server's own)"
	}
	return string(s) + " round trip"
}

// value and interval ends of an estimate for json and csv.
func parts(e *trend.Estimate) (value, low, high *float64) {
	if e == nil {
		return nil, nil, nil
	}
	return &e.Value, e.Low, e.High
}

func (c comparison) period() string {
	return fmt.Sprintf("environment %s, %s to %s", c.environment, stamp(c.sinceTime), stamp(c.untilTime))
}

// groupsView turns groups into the formats.
type groupsView struct {
	comparison
	groups *answers.Groups
}

// groupRecord is a group as csv and json hold it. Figures are in the unit that it names.
type groupRecord struct {
	Environment string   `json:"environment"`
	By          string   `json:"by"`
	Group       string   `json:"group"`
	Statistic   string   `json:"statistic"`
	Unit        string   `json:"unit"`
	Runs        int      `json:"runs"`
	Failed      int      `json:"failed"`
	N           int      `json:"n"`
	Median      *float64 `json:"median"`
	MedianLow   *float64 `json:"median_low"`
	MedianHigh  *float64 `json:"median_high"`
	Base        string   `json:"base"`
	Shift       *float64 `json:"shift"`
	ShiftLow    *float64 `json:"shift_low"`
	ShiftHigh   *float64 `json:"shift_high"`
}

func (v groupsView) answer() answer {
	records := []groupRecord{}
	for _, g := range v.groups.Groups {
		r := groupRecord{Environment: v.environment, By: v.by, Group: g.Name, Statistic: string(v.groups.Statistic), Unit: unitOf(v.groups.Statistic).name,
			Runs: g.Runs, Failed: g.Failed, Base: v.groups.Base}
		if g.Median != nil {
			r.N = g.Median.N
		}
		r.Median, r.MedianLow, r.MedianHigh = parts(g.Median)
		r.Shift, r.ShiftLow, r.ShiftHigh = parts(g.Shift)
		records = append(records, r)
	}
	object := struct {
		Environment string        `json:"environment"`
		Simulated   bool          `json:"simulated"`
		Groups      []groupRecord `json:"groups"`
	}{v.environment, v.groups.Simulated, records}
	return answer{object: object, records: records, text: v.text, drawing: v.draw, simulated: v.groups.Simulated}
}

func (v groupsView) text(w *bytes.Buffer, st style) {
	if len(v.groups.Groups) == 0 {
		fmt.Fprintf(w, "no run fits: %s\n", v.period())
		return
	}
	u := unitOf(v.groups.Statistic)
	fmt.Fprintf(w, "%s in %s by %s, %s\n", describeCompared(v.groups.Statistic), u.heading, v.by, v.period())
	t := &table{columns: []column{left(v.by), number("runs"), number("failed"), number("median " + u.heading), number("from"), number("to"),
		number("shift " + u.heading), number("from"), number("to")}}
	few := false
	for _, g := range v.groups.Groups {
		cells := append([]string{g.Name, count(g.Runs), count(g.Failed)}, u.estimate(g.Median)...)
		if g.Name == v.groups.Base {
			cells = append(cells, "base", "", "")
		} else {
			cells = append(cells, u.estimate(g.Shift)...)
		}
		t.add(cells...)
		few = few || g.Median != nil && g.Median.Low == nil || g.Shift != nil && g.Shift.Low == nil
	}
	t.render(w, st)
	fmt.Fprintf(w, "\nshift: above %s, the median of all differences (Hodges-Lehmann); from, to: its interval at 95 %% (Mann-Whitney), and the median's\n", visible(v.groups.Base))
	if few {
		fmt.Fprintf(w, "%s: too few runs for an interval at 95 %%, so that nothing can be told\n", wordFew)
	}
}
