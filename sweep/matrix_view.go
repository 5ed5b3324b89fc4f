package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/answers"
)

// matrixView turns matrices into the three formats.
type matrixView struct {
	matrices []*answers.Matrix
	stats    []answers.Statistic
	now      time.Time
}

// matrixCell is a cell as csv holds it, and json within its matrix. Nil is absent.
type matrixCell struct {
	Environment string     `json:"environment"`
	Path        string     `json:"path"`
	Probe       string     `json:"probe"`
	Source      string     `json:"source"`
	Target      string     `json:"target"`
	State       string     `json:"state"`
	Failure     *string    `json:"failure"`
	Slot        *time.Time `json:"slot"`
	AgeS        *float64   `json:"age_s"`
	Stale       bool       `json:"stale"` // older than the newest slot of the matrix
	N           *int       `json:"n"`
	Sent        *int       `json:"sent"`
	Lost        *int       `json:"lost"`
	P50US       *float64   `json:"p50_us"`
	P50LowUS    *float64   `json:"p50_low_us"`
	P50HighUS   *float64   `json:"p50_high_us"`
	P90US       *float64   `json:"p90_us"`
	P90LowUS    *float64   `json:"p90_low_us"`
	P90HighUS   *float64   `json:"p90_high_us"`
	P99US       *float64   `json:"p99_us"`
	P99LowUS    *float64   `json:"p99_low_us"`
	P99HighUS   *float64   `json:"p99_high_us"`
	LossRatio   *float64   `json:"loss_ratio"`
	LossLow     *float64   `json:"loss_ratio_low"`
	LossHigh    *float64   `json:"loss_ratio_high"`
	UpBPS       *float64   `json:"throughput_up_bps"`
	DownBPS     *float64   `json:"throughput_down_bps"`
	BestBPS     *float64   `json:"saturate_best_bps"`
	PerSecond   *float64   `json:"rate_per_s"`
	DistanceKM  *float64   `json:"distance_km"`
	FloorUS     *float64   `json:"floor_us"`
	ExcessUS    *float64   `json:"excess_us"`
	Stretch     *float64   `json:"stretch"`
	Degraded    *string    `json:"degraded"` // reasons with commas between
	Detail      *string    `json:"detail"`
}

type matrixObject struct {
	Path     string     `json:"path"`
	Probe    string     `json:"probe"`
	Kind     string     `json:"kind"`
	Newest   *time.Time `json:"newest_slot"`
	Series   int        `json:"series"`
	Oldest   *time.Time `json:"oldest_slot"`
	Measured int        `json:"measured"`
	Stale    int        `json:"stale"`
	Failed   int        `json:"failed"`
	Missing  int        `json:"missing"`
	Degraded int        `json:"degraded"`
	Probers  []string   `json:"probers"`
	// Endpoints are targets alone.
	Endpoints []string     `json:"endpoints"`
	Cells     []matrixCell `json:"cells"`
}

type matricesObject struct {
	Environment string         `json:"environment"`
	Asked       time.Time      `json:"asked_at"`
	Matrices    []matrixObject `json:"matrices"`
}

func (v matrixView) answer() answer {
	object := matricesObject{Environment: v.matrices[0].Environment, Asked: v.now.UTC()}
	var all []matrixCell
	for _, m := range v.matrices {
		o := matrixObject{Path: m.Path, Probe: m.Probe, Kind: string(m.Kind), Newest: utc(m.Newest), Series: len(m.Cells),
			Oldest: utc(m.Oldest), Measured: m.Measured, Stale: m.Older, Failed: m.Failed, Missing: m.Missing, Degraded: m.Degraded,
			Probers: m.Probers, Endpoints: append([]string{}, m.Endpoints...), Cells: []matrixCell{}}
		for i := range m.Cells {
			o.Cells = append(o.Cells, matrixCellOf(m, &m.Cells[i]))
		}
		all = append(all, o.Cells...)
		object.Matrices = append(object.Matrices, o)
	}
	return answer{object: object, records: all, text: v.text}
}

func matrixCellOf(m *answers.Matrix, c *answers.Cell) matrixCell {
	out := matrixCell{Environment: m.Environment, Path: m.Path, Probe: m.Probe, Source: c.Source, Target: c.Target, State: string(c.State),
		P50US: c.P50US, P50LowUS: c.P50Range.LowUS, P50HighUS: c.P50Range.HighUS, P90US: c.P90US, P90LowUS: c.P90Range.LowUS, P90HighUS: c.P90Range.HighUS,
		P99US: c.P99US, P99LowUS: c.P99Range.LowUS, P99HighUS: c.P99Range.HighUS, Degraded: optional(reasons(c.Degraded)), LossRatio: c.LossRatio, LossLow: c.LossLow, LossHigh: c.LossHigh,
		UpBPS: c.ThroughputUpBPS, DownBPS: c.ThroughputDownBPS, BestBPS: c.BestBPS, PerSecond: c.PerSecond,
		// No more digits than the coordinates and the clock can mean.
		DistanceKM: rounded(c.DistanceKM, 1), FloorUS: rounded(c.FloorUS, 3), ExcessUS: rounded(c.ExcessUS, 3), Stretch: rounded(c.Stretch, 3),
		Failure: optional(string(c.Failure)), Detail: optional(c.Detail)}
	if c.State == answers.Missing {
		return out
	}
	age := c.Age.Seconds()
	out.Slot, out.AgeS, out.Stale = utc(c.Slot), &age, c.Older
	if c.Failure != wire.FailureExpired { // of a run that never came nobody knows the counts
		out.N, out.Sent, out.Lost = &c.N, &c.Sent, &c.Lost
	}
	return out
}

func rounded(v *float64, digits int) *float64 {
	if v == nil {
		return nil
	}
	scale := math.Pow10(digits)
	r := math.Round(*v*scale) / scale
	return &r
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// text writes each matrix as one table a statistic, and what they have in common below.
func (v matrixView) text(w *bytes.Buffer, st style) {
	for i, m := range v.matrices {
		if i > 0 {
			w.WriteByte('\n')
		}
		numbered := false
		for _, stat := range v.shown(m) {
			fmt.Fprintf(w, "%s, probe %s over path %s, environment %s\n", describeStatistic(stat), m.Probe, m.Path, m.Environment)
			t := matrixTable(m, stat, false)
			if st.columns > 0 && t.width() > st.columns {
				t, numbered = matrixTable(m, stat, true), true
			}
			t.render(w, st)
			w.WriteByte('\n')
		}
		fmt.Fprintf(w, "%s: %d measured, %s%d failed, %d missing; %s\n", plural(len(m.Cells), "series", "series"), m.Measured, describeOlder(m),
			m.Failed, m.Missing, describeN(m))
		if m.Newest.IsZero() {
			w.WriteString("nothing was measured yet\n")
		} else {
			fmt.Fprintf(w, "newest slot %s, %s\n", stamp(m.Newest), ago(v.now.Sub(m.Newest)))
		}
		v.legend(w, st, m, numbered)
	}
}

// shown are the statistics of a matrix: those that were asked for, or what stands for its kind.
func (v matrixView) shown(m *answers.Matrix) []answers.Statistic {
	if len(v.stats) > 0 {
		return v.stats
	}
	return answers.StatisticsOf(m.Kind)
}

// describeOlder counts the older runs apart; where there are none nothing is said of them.
func describeOlder(m *answers.Matrix) string {
	if m.Older == 0 {
		return ""
	}
	return fmt.Sprintf("%d older (oldest %s), ", m.Older, oldestSlot(m))
}

// oldestSlot is the slot of the oldest run, without the day when that is the newest slot's.
func oldestSlot(m *answers.Matrix) string {
	const day = 24 * time.Hour
	if m.Oldest.UTC().Truncate(day).Equal(m.Newest.UTC().Truncate(day)) {
		return m.Oldest.UTC().Format("15:04Z")
	}
	return m.Oldest.UTC().Format("2006-01-02T15:04Z")
}

func describeStatistic(s answers.Statistic) string {
	switch s {
	case answers.Loss:
		return "loss in %"
	case answers.Throughput:
		return "throughput in Mbit/s"
	case answers.Rate:
		return "messages or requests a second"
	}
	return string(s) + " round trip in ms"
}

// The words of a cell that is no number.
const (
	wordMissing = "missing"
	wordFew     = "few"
	markOlder   = "*"
	// markDegraded stands at figures that the measurement's own noise may have changed.
	markDegraded = "~"
)

// matrixTable is one statistic of a matrix. Numbered columns are for terminals that are too
// narrow for the targets' names.
func matrixTable(m *answers.Matrix, stat answers.Statistic, numbered bool) *table {
	t := &table{columns: []column{left("from \\ to")}}
	marks := 0 // the most that a cell has
	for i := range m.Cells {
		marks = max(marks, len(cellMarks(&m.Cells[i])))
	}
	sources, targets := ends(m)
	if numbered { // the rows are the key to the columns' numbers: all of them are needed
		sources, targets = m.Targets(), m.Targets()
	}
	for i, target := range targets {
		title := target
		if numbered {
			title = strconv.Itoa(i + 1)
		}
		title += strings.Repeat(" ", marks) // over the marks
		t.columns = append(t.columns, number(title))
	}
	cells := make(map[[2]string]*answers.Cell, len(m.Cells))
	for i := range m.Cells {
		cells[[2]string{m.Cells[i].Source, m.Cells[i].Target}] = &m.Cells[i]
	}
	for i, source := range sources {
		head := source
		if numbered {
			head = strconv.Itoa(i+1) + " " + source
		}
		row := []cell{{head, strong}}
		for _, target := range targets {
			row = append(row, matrixEntry(cells[[2]string{source, target}], m.Kind, stat, marks))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// ends are the probers and endpoints that a matrix has as sources and as targets.
func ends(m *answers.Matrix) (sources, targets []string) {
	isSource, isTarget := map[string]bool{}, map[string]bool{}
	for i := range m.Cells {
		isSource[m.Cells[i].Source], isTarget[m.Cells[i].Target] = true, true
	}
	for _, p := range m.Targets() {
		if isSource[p] {
			sources = append(sources, p)
		}
		if isTarget[p] {
			targets = append(targets, p)
		}
	}
	return sources, targets
}

func matrixEntry(c *answers.Cell, kind wire.Kind, stat answers.Statistic, marks int) cell {
	if c == nil { // the probe does not measure the pair
		return cell{}
	}
	text, of := "", plain
	switch {
	case c.State == answers.Missing:
		text, of = wordMissing, alarm
	case c.State == answers.Failed:
		text, of = string(c.Failure), alarm
	case c.Value(stat) == nil && !ofSamples(stat, kind):
		text, of = absent, subdued
	case c.Value(stat) == nil:
		text, of = wordFew, subdued
	case stat == answers.Loss:
		text = percent(c.LossRatio)
		if *c.LossRatio > 0 {
			of = alarm
		}
	default:
		text = unitOf(stat).show(c.Value(stat))
	}
	mine := cellMarks(c)
	return cell{text + mine + strings.Repeat(" ", marks-len(mine)), of}
}

// ofSamples says whether the kind has the statistic from samples, so that there may be too few of them.
func ofSamples(stat answers.Statistic, kind wire.Kind) bool {
	return stat != answers.Throughput && stat != answers.Rate && stat.Has(kind)
}

func cellMarks(c *answers.Cell) (marks string) {
	if len(c.Degraded) > 0 {
		marks = markDegraded
	}
	if c.Older {
		marks += markOlder
	}
	return marks
}

// reasons writes why a run is degraded as json and csv hold it.
func reasons(list []summary.Reason) string { return strings.Join(words(list), ",") }

// legend explains the words that this matrix shows, and no others.
func (v matrixView) legend(w *bytes.Buffer, st style, m *answers.Matrix, numbered bool) {
	line := func(word, meaning string) {
		fmt.Fprintln(w, st.paint(fmt.Sprintf("  %-12s %s", word, meaning), subdued))
	}
	line("from \\ to", "rows are sources, columns are targets")
	if numbered {
		line("1, 2 …", "the terminal is too narrow for names: columns are numbered as the rows are")
	}
	if m.Missing > 0 {
		line(wordMissing, "the configuration has the pair, and there is no run of it")
	}
	if v.showsFew(m) {
		line(wordFew, "too few samples for the percentile: n(1 - p) < 10")
	}
	if slices.ContainsFunc(m.Cells, func(c answers.Cell) bool { return c.Older }) {
		line(markOlder, "older than the newest slot: not measured since, or not yet; the oldest is of "+oldestSlot(m)+", "+ago(v.now.Sub(m.Oldest)))
	}
	if m.Degraded > 0 {
		line(markDegraded, "degraded: "+describeReasons(m)+"; sweep runs shows which, and by how much in json and csv")
	}
	for _, f := range wire.Failures() {
		if slices.ContainsFunc(m.Cells, func(c answers.Cell) bool { return c.Failure == f }) {
			line(string(f), failureMeaning(f))
		}
	}
}

func (v matrixView) showsFew(m *answers.Matrix) bool {
	for i := range m.Cells {
		for _, stat := range v.shown(m) {
			if c := &m.Cells[i]; c.State == answers.Measured && c.Value(stat) == nil && ofSamples(stat, m.Kind) {
				return true
			}
		}
	}
	return false
}
