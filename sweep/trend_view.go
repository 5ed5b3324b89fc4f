package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"isochrone/sweep/answers"
	"isochrone/sweep/reply"
)

// trendView turns a trend into the formats.
type trendView struct {
	object *reply.Trend
	found  *answers.Trend
}

func (v trendView) answer() answer {
	return answer{object: v.object, records: v.object.Hours, text: v.text, drawing: v.draw, simulated: v.object.Simulated}
}

func (v trendView) text(w *bytes.Buffer, st style) {
	o := v.object
	historyHead(w, st, "round trip", o.Series, o.Head, o.Window)
	w.WriteByte('\n')
	q := &o.Quantiles
	t := &table{columns: []column{number("p50 ms"), number("p90 ms"), number("p95 ms"), number("p99 ms"), number("p99.9 ms"), number("n")}}
	t.add(milliseconds(q.P50US), milliseconds(q.P90US), milliseconds(q.P95US), milliseconds(q.P99US), milliseconds(q.P999US), count(q.N))
	t.render(w, st)
	if q.Without > 0 {
		fmt.Fprintf(w, "without %s whose histogram is missing\n", plural(q.Without, "hour", "hours"))
	}
	v.place(w)
	fmt.Fprintf(w, "\nchanges of level: %d\n", len(o.Changes))
	changeTable(o.Changes).render(w, st)
	fmt.Fprintf(w, "\ntrend: %s\n", v.slope())
	fmt.Fprintf(w, "daily rhythm: %s\n", v.rhythm())
	v.hours(w, st)
}

// historyHead says what an answer over history is of.
func historyHead(w *bytes.Buffer, st style, what string, s reply.Series, h reply.Head, d reply.Window) {
	kind := ""
	if s.Kind != "" {
		kind = " (" + s.Kind + ")"
	}
	fmt.Fprintf(w, "%s from %s to %s, probe %s%s over path %s, environment %s\n", what, s.Source, s.Target, s.Probe, kind, s.Path, h.Environment)
	fmt.Fprintf(w, "hours from %s to before %s: %s of %s have data, of %s and %s\n", stamp(d.Since), stamp(d.Until),
		count(d.HoursWithData), count(d.HoursInWindow), plural(*h.RestsOn.Runs, "run", "runs"), plural(*h.RestsOn.Samples, "sample", "samples"))
	if d.NewestHour != nil {
		newest := "newest hour " + stamp(*d.NewestHour)
		if d.Behind {
			newest += ": later ones are not rolled up yet, or nothing was measured"
		}
		w.WriteString(newest + "\n")
	}
	if h.Simulated {
		w.WriteString(st.paint("SIMULATED: a model made up some of these runs", alarm) + "\n")
	}
}

func (v trendView) place(w *bytes.Buffer) {
	o := v.object
	if o.DistanceKM == nil {
		return
	}
	fmt.Fprintf(w, "distance %s km, light in fibre %s ms", decimal(o.DistanceKM, 1, 0), milliseconds(o.FloorUS))
	if p := o.Quantiles.P50US; p != nil && *o.FloorUS > 0 && *o.DistanceKM >= answers.MinStretchKM {
		fmt.Fprintf(w, ", of which p50 is %.2f times", *p / *o.FloorUS)
	}
	if o.PublishedP95MS != nil {
		fmt.Fprintf(w, "; Microsoft publishes p95 %s ms", decimal(o.PublishedP95MS, 1, 0))
	}
	w.WriteByte('\n')
}

// changeTable has the changes of one series.
func changeTable(list []reply.Change) *table {
	t := &table{columns: []column{left("first hour (UTC)"), number("before ms"), number("after ms"), number("difference ms"), number("p"), left("kind")}}
	for _, c := range list {
		difference := c.AfterUS - c.BeforeUS
		t.add(stamp(c.T), milliseconds(&c.BeforeUS), milliseconds(&c.AfterUS), signed(&difference), probability(c.P), c.Kind)
	}
	if len(list) == 0 {
		t.columns = nil
	}
	return t
}

// signed shows microseconds in ms with their sign.
func signed(us *float64) string {
	if us == nil || *us < 0 {
		return milliseconds(us)
	}
	return "+" + milliseconds(us)
}

func probability(p float64) string {
	if p < 0.001 {
		return strconv.FormatFloat(p, 'e', 0, 64)
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

func (v trendView) slope() string {
	s := v.object.Trend
	if s == nil {
		return "the hours are too few"
	}
	text := fmt.Sprintf("%s ms a day", slopeText(s.SlopeUSPerDay))
	if s.Low != nil && s.High != nil {
		text += fmt.Sprintf(" (95 %%: %s to %s)", slopeText(*s.Low), slopeText(*s.High))
	}
	return text + fmt.Sprintf(", p = %s, of %s", probability(s.P), plural(s.N, "hour", "hours"))
}

func slopeText(us float64) string {
	if us = math.Round(us*100) / 100; us == 0 {
		us = 0 // never a negative zero
	}
	return fmt.Sprintf("%+.5f", us/1000)
}

func (v trendView) rhythm() string {
	d := v.object.Diurnal
	switch {
	case d == nil && v.object.DiurnalRefused != nil:
		return "cannot be told: " + *v.object.DiurnalRefused
	case d == nil:
		return "cannot be told"
	case !d.Daily:
		return fmt.Sprintf("none, of %s", plural(d.N, "hour", "hours"))
	}
	return fmt.Sprintf("daily, amplitude %s ms (%s), of %s", milliseconds(&d.AmplitudeUS), d.Class, plural(d.N, "hour", "hours"))
}

// hours shows the hours of the day by three clocks, side by side; where the terminal is too narrow, without the
// quartiles.
func (v trendView) hours(w *bytes.Buffer, st style) {
	if len(v.object.Hours) == 0 {
		return
	}
	w.WriteString("\nhours of the day: median of the hours' medians, its quartiles, and of how many hours\n")
	t := v.hourTable(true)
	if st.columns > 0 && t.width() > st.columns {
		t = v.hourTable(false)
	}
	t.render(w, st)
	if o := v.object; o.Zones.Source == nil || o.Zones.Target == nil {
		w.WriteString("a clock is missing where nobody knows the zone: of endpoints, and of probers that the configuration has not\n")
	}
}

func (v trendView) hourTable(quartiles bool) *table {
	o := v.object
	t := &table{columns: []column{left("hour")}}
	clocks := [][]reply.ProfileHour{}
	add := func(name string, hours []reply.ProfileHour) {
		if hours == nil {
			return
		}
		clocks = append(clocks, hours)
		t.columns = append(t.columns, number(name+" ms"), left(""))
		if quartiles {
			t.columns = append(t.columns, number("q1 ms"), number("q3 ms"))
		}
		t.columns = append(t.columns, number("n"))
	}
	add("UTC", o.Profile.UTC)
	if o.Zones.Source != nil {
		add(*o.Zones.Source, o.Profile.Source)
	}
	if o.Zones.Target != nil {
		add(*o.Zones.Target, o.Profile.Target)
	}
	low, high := rangeOf(clocks)
	for hour := range 24 {
		row := []cell{{text: fmt.Sprintf("%02d:00", hour)}}
		for _, c := range clocks {
			h := &c[hour]
			row = append(row, cell{text: milliseconds(h.MedianUS)}, cell{text: level(h.MedianUS, low, high)})
			if quartiles {
				row = append(row, cell{text: milliseconds(h.Q1US)}, cell{text: milliseconds(h.Q3US)})
			}
			row = append(row, cell{text: count(h.N)})
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// rangeOf is the smallest and the largest median of all clocks.
func rangeOf(clocks [][]reply.ProfileHour) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, c := range clocks {
		for i := range c {
			if m := c[i].MedianUS; m != nil {
				low, high = min(low, *m), max(high, *m)
			}
		}
	}
	return low, high
}

// level is a value as one of eight blocks between two others.
func level(v *float64, low, high float64) string {
	if v == nil {
		return ""
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	if high <= low {
		return string(blocks[0])
	}
	return string(blocks[min(int((*v-low)/(high-low)*float64(len(blocks))), len(blocks)-1)])
}
