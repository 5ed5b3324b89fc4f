package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/answers"
	"isochrone/sweep/reply"
)

// matrixView turns matrices into the formats.
type matrixView struct {
	matrices []*answers.Matrix
	stats    []answers.Statistic
	now      time.Time
}

type matrixObject struct {
	reply.Matrix
	Cells []reply.Cell `json:"cells"`
}

type matricesObject struct {
	Environment string         `json:"environment"`
	Asked       time.Time      `json:"asked_at"`
	Simulated   bool           `json:"simulated"` // a model made up one of the runs
	Matrices    []matrixObject `json:"matrices"`
}

func (v matrixView) answer() answer {
	object := matricesObject{Environment: v.matrices[0].Environment, Asked: v.now.UTC()}
	var all []reply.Cell
	for _, m := range v.matrices {
		o := matrixObject{Matrix: reply.MatrixOf(m), Cells: []reply.Cell{}}
		for i := range m.Cells {
			o.Cells = append(o.Cells, reply.CellOf(m, &m.Cells[i]))
			object.Simulated = object.Simulated || m.Cells[i].Simulated
		}
		all = append(all, o.Cells...)
		object.Matrices = append(object.Matrices, o)
	}
	return answer{object: object, records: all, text: v.text, drawing: v.draw, simulated: object.Simulated}
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
		v.summary(w, m)
		for _, of := range v.legend(m, numbered) {
			fmt.Fprintln(w, st.paint(fmt.Sprintf("  %-12s %s", of[0], of[1]), subdued))
		}
	}
}

// summary says of what the tables of a matrix are.
func (v matrixView) summary(w *bytes.Buffer, m *answers.Matrix) {
	fmt.Fprintf(w, "%s: %d measured, %s%d failed, %d missing; %s\n", plural(len(m.Cells), "series", "series"), m.Measured, describeOlder(m),
		m.Failed, m.Missing, describeN(m))
	if m.Newest.IsZero() {
		w.WriteString("nothing was measured yet\n")
	} else {
		fmt.Fprintf(w, "newest slot %s, %s\n", stamp(m.Newest), ago(v.now.Sub(m.Newest)))
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

// legend explains the words that this matrix shows, and no others: each is a word with its meaning.
func (v matrixView) legend(m *answers.Matrix, numbered bool) (lines [][2]string) {
	line := func(word, meaning string) { lines = append(lines, [2]string{word, meaning}) }
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
	return lines
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
