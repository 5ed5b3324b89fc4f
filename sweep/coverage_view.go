package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"isochrone/sweep/answers"
)

// coverageView turns a coverage into the formats.
type coverageView struct {
	environment string
	now         time.Time
	query       answers.CoverageQuery
	by          string
	gaps        bool // --gaps
	coverage    *answers.Coverage
}

type coverageObject struct {
	Environment string        `json:"environment"`
	Asked       time.Time     `json:"asked_at"`
	Since       time.Time     `json:"since"`
	Until       time.Time     `json:"until"`
	By          string        `json:"by"`
	N           int           `json:"n"`
	Simulated   bool          `json:"simulated"` // a model made up one of the runs
	Notes       []string      `json:"notes"`
	Total       coverCounts   `json:"total"`
	Rows        []coverObject `json:"rows"`
}

// coverCounts is a count of runs by what became of them. Planned is the sum of measured to lost.
type coverCounts struct {
	Planned   int `json:"planned_runs"`
	Measured  int `json:"measured_runs"`
	Failed    int `json:"failed_runs"`
	Expired   int `json:"expired_runs"`
	Missed    int `json:"missed_runs"`
	Open      int `json:"open_runs"`
	Lost      int `json:"lost_runs"`
	Unplanned int `json:"unplanned_runs"`
	// Unaccounted is by how much the sum is not what was planned.
	Unaccounted int `json:"unaccounted_runs"`
}

type coverObject struct {
	Prober string    `json:"prober"`
	From   time.Time `json:"from"`
	coverCounts
	Reasons []fateObject `json:"reasons"`
}

type fateObject struct {
	Fate   string `json:"fate"`
	Reason string `json:"reason"`
	Runs   int    `json:"runs"`
}

// coverRecord is a line of csv: a row with one of its reasons, or a row alone.
type coverRecord struct {
	Prober      string    `json:"prober"`
	From        time.Time `json:"from"`
	Planned     int       `json:"planned_runs"`
	Measured    int       `json:"measured_runs"`
	Failed      int       `json:"failed_runs"`
	Expired     int       `json:"expired_runs"`
	Missed      int       `json:"missed_runs"`
	Open        int       `json:"open_runs"`
	Lost        int       `json:"lost_runs"`
	Unplanned   int       `json:"unplanned_runs"`
	Unaccounted int       `json:"unaccounted_runs"`
	Fate        *string   `json:"fate"`
	Reason      *string   `json:"reason"`
	ReasonRuns  *int      `json:"reason_runs"`
}

// whyObject is a reason of a prober, over the whole time.
type whyObject struct {
	Prober string
	fateObject
	first, last time.Time
}

func countsOf(r *answers.CoverageRow) coverCounts {
	c := coverCounts{Planned: r.Planned, Measured: r.Measured, Failed: r.Failed, Expired: r.Expired, Missed: r.Missed, Open: r.Open,
		Lost: r.Lost, Unplanned: r.Unplanned}
	c.Unaccounted = r.Planned - (r.Measured + r.Failed + r.Expired + r.Missed + r.Open + r.Lost)
	return c
}

// add adds another row's; differences of either sign must not make up for each other.
func (c *coverCounts) add(o coverCounts) {
	c.Planned += o.Planned
	c.Measured += o.Measured
	c.Failed += o.Failed
	c.Expired += o.Expired
	c.Missed += o.Missed
	c.Open += o.Open
	c.Lost += o.Lost
	c.Unplanned += o.Unplanned
	c.Unaccounted += max(o.Unaccounted, -o.Unaccounted)
}

// faults is how many runs are not as they should be.
func (c *coverCounts) faults() int { return c.Lost + c.Unplanned + max(c.Unaccounted, -c.Unaccounted) }

func (v coverageView) total() (sum coverCounts) {
	for i := range v.coverage.Rows {
		sum.add(countsOf(&v.coverage.Rows[i]))
	}
	return sum
}

func (v coverageView) faults() int {
	sum := v.total()
	return sum.faults()
}

func (v coverageView) answer() answer {
	o := coverageObject{Environment: v.environment, Asked: v.now, Since: v.query.Since.UTC(), Until: v.query.Until.UTC(), By: v.by, Simulated: v.coverage.Simulated,
		Notes: []string{}, Rows: []coverObject{}, Total: v.total()}
	o.Notes = append(o.Notes, v.coverage.Notes...)
	records := []coverRecord{}
	for i := range v.coverage.Rows {
		r := &v.coverage.Rows[i]
		if v.gaps && len(r.Why) == 0 && r.AddsUp() {
			continue
		}
		row := coverObject{Prober: r.Prober, From: r.From.UTC(), coverCounts: countsOf(r), Reasons: []fateObject{}}
		line := coverRecord{row.Prober, row.From, row.Planned, row.Measured, row.Failed, row.Expired, row.Missed, row.Open, row.Lost,
			row.Unplanned, row.Unaccounted, nil, nil, nil}
		for _, why := range r.Why {
			f := fateObject{string(why.Fate), why.Reason, why.Runs}
			row.Reasons = append(row.Reasons, f)
			of := line
			of.Fate, of.Reason, of.ReasonRuns = &f.Fate, &f.Reason, &f.Runs
			records = append(records, of)
		}
		if len(r.Why) == 0 {
			records = append(records, line)
		}
		o.Rows = append(o.Rows, row)
	}
	o.N = len(o.Rows)
	return answer{object: o, records: records, text: func(w *bytes.Buffer, st style) { v.text(w, st, &o) }, drawing: v.draw, simulated: o.Simulated}
}

func (v coverageView) text(w *bytes.Buffer, st style, o *coverageObject) {
	fmt.Fprintf(w, "runs of environment %s by %s, slots from %s to before %s%s\n", o.Environment, o.By, stamp(o.Since), stamp(o.Until), v.filters())
	if o.N > 0 {
		coverTable(o).render(w, st)
	}
	if t := whyTable(o); len(t.rows) > 0 {
		w.WriteString("\nnot measured, by prober and reason\n")
		t.render(w, st)
	}
	for _, note := range o.Notes {
		fmt.Fprintf(w, "\nnote: %s\n", note)
	}
	fmt.Fprintf(w, "\nn = %s; %s planned: %s measured, %s failed, %s expired, %s missed, %s open", plural(o.N, "row", "rows"), plural(o.Total.Planned, "run", "runs"),
		count(o.Total.Measured), count(o.Total.Failed), count(o.Total.Expired), count(o.Total.Missed), count(o.Total.Open))
	if n := o.Total.faults(); n > 0 {
		fmt.Fprintf(w, ", %s of ours", plural(n, "fault", "faults"))
	}
	w.WriteString("\n")
}

func (v coverageView) filters() string {
	var b strings.Builder
	for _, f := range []struct{ word, name string }{{"from", v.query.Prober}, {"over path", v.query.Path}, {"of probe", v.query.Probe}} {
		if f.name != "" {
			fmt.Fprintf(&b, ", %s %s", f.word, f.name)
		}
	}
	return b.String()
}

func coverTable(o *coverageObject) *table {
	t := &table{columns: []column{left(o.By + " (UTC)"), left("prober"), number("planned runs"), number("measured"), number("measured %"), number("failed"),
		number("expired"), number("missed"), number("open"), number("faults")}}
	for i := range o.Rows {
		r := &o.Rows[i]
		ratio := absent
		if r.Planned > 0 {
			share := float64(r.Measured) / float64(r.Planned)
			ratio = decimal(&share, 100, 1)
		}
		row := []cell{{text: stampOf(r.From, o.By)}, {text: r.Prober}, {text: count(r.Planned)}, {text: count(r.Measured)}, {text: ratio}}
		for _, n := range []int{r.Failed, r.Expired, r.Missed, r.Open, r.faults()} {
			c := cell{text: count(n)}
			if n > 0 {
				c.tone = alarm
			}
			row = append(row, c)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func stampOf(at time.Time, by string) string {
	if by == byDay {
		return at.UTC().Format(time.DateOnly)
	}
	return at.UTC().Format("2006-01-02T15:04Z")
}

// whyTable is the reasons by prober, over all rows of the answer.
func whyTable(o *coverageObject) *table {
	sums := map[[3]string]*whyObject{}
	for i := range o.Rows {
		r := &o.Rows[i]
		for _, f := range r.Reasons {
			key := [3]string{r.Prober, f.Fate, f.Reason}
			if sums[key] == nil {
				sums[key] = &whyObject{Prober: r.Prober, fateObject: fateObject{f.Fate, f.Reason, 0}, first: r.From}
			}
			sums[key].Runs += f.Runs
			sums[key].last = r.From
		}
	}
	all := make([]whyObject, 0, len(sums))
	for _, s := range sums {
		all = append(all, *s)
	}
	slices.SortFunc(all, coverageOrder)
	t := &table{columns: []column{left("prober"), left("fate"), number("runs"), left("first " + o.By), left("last " + o.By), left("reason")}}
	for i := range all {
		a := &all[i]
		t.add(a.Prober, a.Fate, count(a.Runs), stampOf(a.first, o.By), stampOf(a.last, o.By), a.Reason)
	}
	return t
}
