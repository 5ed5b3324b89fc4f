package notebooks

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

var quoted = regexp.MustCompile(`(?s)"""(.*?)"""`)

// statement is the SQL of a cell.
type statement struct {
	ID  string `json:"id"`
	SQL string `json:"sql"`
}

// statements is the SQL of 03-lake, in order.
func statements(t *testing.T) (out []statement) {
	t.Helper()
	_, n := read(t, "03-lake.ipynb")
	for _, c := range n.Cells {
		if c.tagged("duckdb") {
			m := quoted.FindAllStringSubmatch(string(c.Source), -1)
			if len(m) != 1 {
				t.Fatalf("cell %q has %d statements in quotes, want 1", c.ID, len(m))
			}
			out = append(out, statement{c.ID, m[0][1]})
		}
	}
	if len(out) < 8 {
		t.Fatalf("only %d cells have the tag duckdb", len(out))
	}
	return out
}

// answer is a row as DuckDB's package for Node gives it: whole numbers are texts.
type answer map[string]any

func (a answer) number(t *testing.T, name string) float64 {
	t.Helper()
	switch v := a[name].(type) {
	case float64:
		return v
	case string:
		n, err := strconv.ParseFloat(v, 64)
		must(t, err)
		return n
	}
	t.Fatalf("%q is %v in %v", name, a[name], a)
	return 0
}

// The notebook fetches the lake with Debian's Python; its SQL is asked with DuckDB's package for Node, and finds what the tables hold of
// the same two days.
func TestTheLakesSQL(t *testing.T) {
	h := simulated(t)
	var without []string
	for _, s := range statements(t) {
		without = append(without, s.ID)
	}
	e := execute(t, "03-lake", h.settings(), `PROBES = ["udp"]`, append(without, "duckdb")...)
	if !strings.Contains(e.printed(t, "download"), "4 files, ") {
		t.Errorf("fetched %q", e.printed(t, "download"))
	}
	asked := statements(t)
	for i := range asked {
		asked[i].SQL = strings.ReplaceAll(asked[i].SQL, "'lake/", "'"+filepath.Join(e.folder, "lake")+"/")
	}
	asked = append(asked, statement{"marks", "SELECT files, simulated FROM marks"})
	file := filepath.Join(e.folder, "statements.json")
	body, err := json.Marshal(asked)
	must(t, err)
	must(t, os.WriteFile(file, body, 0o600))
	root, err := azuritetest.Root()
	must(t, err)
	var got map[string][]answer
	must(t, json.Unmarshal(run(t, nil, "node", "testdata/ask.js", filepath.Join(root, "infra/local/node_modules"), file), &got))

	if m := got["marks"]; m[0]["files"] != "4" || m[0]["simulated"] != "4" {
		t.Errorf("marks %v: all four files are a model's", m)
	}
	checkOverview(t, h, got["overview"])
	runs := map[string][]tables.Row{}
	for row, err := range h.store.Runs(t.Context(), tables.RunQuery{Path: "public", Probe: "udp", Since: lakeFrom, Until: until}) {
		must(t, err)
		key := row.Series.Source + " " + row.Series.Target
		runs[key] = append(runs[key], row)
	}
	if len(got["quantiles"]) != 4 || len(runs) != 4 {
		t.Fatalf("quantiles of %d pairs, rows of %d", len(got["quantiles"]), len(runs))
	}
	for _, a := range got["quantiles"] {
		checkQuantiles(t, a, runs[fmt.Sprint(a["src"], " ", a["target"])])
	}
	checkLocalHours(t, got["local"], runs["westeurope eastus"])
	checkRest(t, got)
}

// checkOverview counts the days' runs.
func checkOverview(t *testing.T, h *history, days []answer) {
	t.Helper()
	if len(days) != 2 || days[0]["date"] != lakeFrom.Format("2006-01-02") {
		t.Fatalf("overview %v", days)
	}
	for _, d := range days {
		if d.number(t, "series") != 4 || d.number(t, "runs") != 4*24 || d.number(t, "sent") != 4*24*100 {
			t.Errorf("overview %v, want 4 series, a run an hour, 100 samples a run", d)
		}
	}
}

// checkQuantiles holds a pair's numbers to its rows: counts and the minimum are the same, quantiles within the width of a bucket.
func checkQuantiles(t *testing.T, a answer, rows []tables.Row) {
	t.Helper()
	var sum wire.HistogramSum
	least := math.Inf(1)
	received := 0
	for i := range rows {
		must(t, sum.Add(rows[i].RTTHistogram))
		least = min(least, *rows[i].MinUS)
		received += rows[i].Counts.Received
	}
	if int(a.number(t, "round_trips")) != received || math.Abs(a.number(t, "min_us")-least) > 1e-6 || len(rows) != 48 {
		t.Errorf("%v: want %d round trips, least %v us, of 48 runs", a, received, least)
	}
	for name, p := range map[string]float64{"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99} {
		want := *sum.Quantile(p) / 1000
		if is := a.number(t, name); math.Abs(is-want) > 0.001*want {
			t.Errorf("%s to %s: %s %v, and the merged histograms have %v", a["src"], a["target"], name, is, want)
		}
	}
	if a["p999_us"] != nil { // 4,800 samples have no 99.9 % quantile
		t.Errorf("p99.9 %v of %d round trips", a["p999_us"], received)
	}
}

// checkLocalHours looks for the local hour in which the rows have the most: the day's rhythm is by the source's clock.
func checkLocalHours(t *testing.T, hours []answer, rows []tables.Row) {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Amsterdam")
	must(t, err)
	want := map[int]int{}
	for i := range rows {
		want[rows[i].Slot.In(zone).Hour()] += rows[i].Counts.Received
	}
	seen := 0
	for _, a := range hours {
		if a["target"] != "eastus" {
			continue
		}
		seen++
		if at := int(a.number(t, "local_hour")); int(a.number(t, "round_trips")) != want[at] {
			t.Errorf("at %d, local time: %v round trips, want %d", at, a["round_trips"], want[at])
		}
	}
	if seen != 24 {
		t.Errorf("%d local hours", seen)
	}
}

// checkRest holds the other questions to what is known of the history.
func checkRest(t *testing.T, got map[string][]answer) {
	t.Helper()
	for _, a := range got["loss"] {
		if a["failure"] != "timeout" || a.number(t, "sent") != 4800 || a.number(t, "lost") != 4800*a.number(t, "loss_ratio") {
			t.Errorf("loss %v", a)
		}
	}
	for _, a := range got["due"] {
		if a.number(t, "from_due_us") < a.number(t, "from_sent_us") || a.number(t, "latest_us") < 0 {
			t.Errorf("from due %v", a)
		}
	}
	if d := got["directions"]; len(d) != 1 || d[0]["src"] != "eastus" || d[0].number(t, "slots") != 48 {
		t.Errorf("directions %v: one pair was measured from both ends, in 48 slots", d)
	}
	if g := got["groups"]; len(g) != 2 || g[0].number(t, "groups") != 0 || g[1].number(t, "groups") != 2 { // eastus does not measure itself
		t.Errorf("row groups %v", g)
	}
}

// What stands there for other engines names columns that the lake has, and no test can run it.
func TestTheOtherEnginesQueriesNameTheLakesColumns(t *testing.T) {
	formats, err := os.ReadFile("../docs/formats.md")
	must(t, err)
	_, lake, _ := strings.Cut(string(formats), "<!-- lake:")
	lake, _, _ = strings.Cut(lake, "<!-- end of lake -->")
	var columns []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(lake, -1) {
		columns = append(columns, m[1])
	}
	if len(columns) < 15 {
		t.Fatalf("docs/formats.md has only the columns %q", columns)
	}
	_, n := read(t, "03-lake.ipynb")
	engines := 0
	for _, c := range n.Cells {
		for _, m := range fenced.FindAllStringSubmatch(string(c.Source), -1) {
			engines++
			for _, word := range regexp.MustCompile(`\b[a-z]+_ns\b`).FindAllString(m[1], -1) {
				if !slices.Contains(columns, word) {
					t.Errorf("cell %q asks for %q, which the lake does not have", c.ID, word)
				}
			}
			for _, word := range []string{"src", "target", "path", "probe", "rtt_ns"} {
				if !strings.Contains(m[1], word) {
					t.Errorf("cell %q does not ask for %q", c.ID, word)
				}
			}
		}
	}
	if engines != 4 {
		t.Errorf("%d engines of Synapse, Fabric, Data Explorer and ClickHouse", engines)
	}
}
