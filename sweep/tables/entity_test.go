package tables

import (
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

var updateGolden = flag.Bool("update", false, "write the golden files")

// The histograms are left out: their text is as long as the rest, and the library's business.
func TestAnEntityIsWrittenAsTheGoldenOne(t *testing.T) {
	r := full(t, "test")
	row := RowOf(&r)
	row.RTTHistogram, row.ExcessHistogram = "HISTFAAA", "HISTFAAB"
	partition, key, err := runKey(r.Series, r.Slot)
	must(t, err)
	e, err := encode(partition, key, rowFields, &row)
	must(t, err)
	got := strings.ReplaceAll(string(e.body), `,"`, ",\n\"") + "\n"
	if *updateGolden {
		must(t, os.WriteFile("testdata/run.json", []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/run.json")
	must(t, err)
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("entity (-want +got):\n%s", d)
	}
}

func TestWholeDoublesStayDoublesAndTimesAreUTC(t *testing.T) {
	w := newEntity("p", "r")
	w.put("whole", 2.0)
	w.put("large", 1e21)
	w.put("count", 2)
	w.put("time", time.Date(2026, 11, 30, 11, 20, 0, 123_456_789, time.FixedZone("CET", 3600)))
	w.put("absent", nil)
	e, err := w.done()
	must(t, err)
	want := `{"PartitionKey":"p","RowKey":"r","whole@odata.type":"Edm.Double","whole":2.0,"large@odata.type":"Edm.Double","large":1e+21,` +
		`"count":2,"time@odata.type":"Edm.DateTime","time":"2026-11-30T10:20:00.1234567Z"}`
	if string(e.body) != want {
		t.Errorf("%s\nwant %s", e.body, want)
	}
}

func TestWhatTheServiceRefusesIsRefusedBefore(t *testing.T) {
	for name, c := range map[string]struct {
		fill func(*entityWriter)
		ok   bool
	}{
		"32,768 characters":       {func(w *entityWriter) { w.put("x", strings.Repeat("ü", 32768)) }, true},
		"32,769 characters":       {func(w *entityWriter) { w.put("x", strings.Repeat("x", 32769)) }, false},
		"16,384 pairs":            {func(w *entityWriter) { w.put("x", strings.Repeat("😀", 16384)) }, true},
		"16,385 pairs":            {func(w *entityWriter) { w.put("x", strings.Repeat("😀", 16385)) }, false},
		"252 properties":          {func(w *entityWriter) { many(w, 252, "") }, true},
		"253 properties":          {func(w *entityWriter) { many(w, 253, "") }, false},
		"under a mebibyte":        {func(w *entityWriter) { many(w, 15, strings.Repeat("x", 32768)) }, true},
		"over a mebibyte":         {func(w *entityWriter) { many(w, 16, strings.Repeat("x", 32768)) }, false},
		"no number":               {func(w *entityWriter) { w.put("x", math.NaN()) }, false},
		"infinite":                {func(w *entityWriter) { w.put("x", math.Inf(-1)) }, false},
		"largest Int32":           {func(w *entityWriter) { w.put("x", math.MaxInt32) }, true},
		"more than Int32":         {func(w *entityWriter) { w.put("x", math.MaxInt32+1) }, false},
		"a time before 1601":      {func(w *entityWriter) { w.put("x", time.Time{}) }, false},
		"a type without a column": {func(w *entityWriter) { w.put("x", []byte("x")) }, false},
	} {
		w := newEntity("p", "r")
		c.fill(w)
		if _, err := w.done(); (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrRefused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func many(w *entityWriter, n int, value string) {
	for i := range n {
		w.put("column"+string(rune('a'+i/26))+string(rune('a'+i%26)), value)
	}
}

func TestALongHistogramIsSpreadAndJoinedAgainAndOneTooLongRefused(t *testing.T) {
	for _, n := range []int{1, maxTextUnits, maxTextUnits + 1, 3*maxTextUnits + 7, maxTextParts * maxTextUnits} {
		in := Row{Series: seriesOf("test", "a", "b"), RTTHistogram: strings.Repeat("ab=", n)[:n], ExcessHistogram: "x"}
		e, err := encode("p", "r", rowFields, &in)
		must(t, err)
		var out Row
		must(t, decode(e.body, rowFields, &out))
		if out.RTTHistogram != in.RTTHistogram || out.ExcessHistogram != "x" {
			t.Errorf("a text of %d characters came back with %d", n, len(out.RTTHistogram))
		}
		var properties map[string]any
		must(t, json.Unmarshal(e.body, &properties))
		if _, second := properties["rtt_histogram_2"]; second != (n > maxTextUnits) {
			t.Errorf("a text of %d characters: second column %v", n, second)
		}
	}
	in := Row{RTTHistogram: strings.Repeat("x", maxTextParts*maxTextUnits+1)}
	if _, err := encode("p", "r", rowFields, &in); !errors.Is(err, ErrRefused) {
		t.Errorf("a text too long for all columns: %v", err)
	}
}

func TestAbsentIsNotZero(t *testing.T) {
	r := expired(seriesOf("test", "westeurope", "eastus"), slot0)
	row := RowOf(&r)
	e, err := encode("p", "r", rowFields, &row)
	must(t, err)
	var properties map[string]any
	must(t, json.Unmarshal(e.body, &properties))
	var names []string
	for _, c := range Columns() {
		if _, ok := properties[c.Name]; ok {
			names = append(names, c.Name)
		}
	}
	want := []string{"slot", "source", "target", "path", "probe", "kind", "failure", "detail", "assignment_id", "part", "planned_start"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("columns of an expired run (-want +got):\n%s", d)
	}
	var back Row
	must(t, decode([]byte(`{"rtt_min_us":null,"sent_count":null,"start":null,"tcp_rtt_us":null,"part":7}`), rowFields, &back))
	if back.MinUS != nil || back.Start != nil || back.TCPInfo != nil || back.Part != 7 {
		t.Errorf("null was read as a value: %+v", back)
	}
}

// Whether a server's figures can be right is not known where it gives none.
func TestAnUnknownCountIsAbsent(t *testing.T) {
	r := full(t, "test")
	r.Summary.HTTP.BelowRTT, r.Run.Unstamped = nil, nil
	row := RowOf(&r)
	e, err := encode("p", "r", rowFields, &row)
	must(t, err)
	for _, name := range []string{"http_below_rtt_count", "unstamped_count"} {
		if strings.Contains(string(e.body), name) {
			t.Errorf("%s is there", name)
		}
	}
	if !strings.Contains(string(e.body), "http_network_p50_us") {
		t.Error("the other figures are missing")
	}
}

// The fixture has a value for every column but those that exclude each other: so a column that is
// new is read back by a test.
func TestTheFixtureHasEveryColumn(t *testing.T) {
	r := full(t, "test")
	row := RowOf(&r)
	for _, f := range rowFields {
		name, failed := strings.CutPrefix(f.Name, "failed_")
		switch {
		case failed && name != "timeout_count", f.Name == "failure", f.Name == "rtt_p999_high_us":
		case strings.HasPrefix(f.Name, "rtt_histogram_"), strings.HasPrefix(f.Name, "excess_histogram_"):
		case f.get(&row) == nil:
			t.Errorf("%s: the fixture has no value", f.Name)
		}
	}
}

// A row of a prober that knew nothing of the newer columns has none of them.
func TestAnOlderRunHasNoneOfTheNewerColumns(t *testing.T) {
	r := measured(t, seriesOf("test", "westeurope", "eastus"), slot0, 2_000_000)
	r.Summary = summary.Summary{Min: r.Summary.Min, Mean: r.Summary.Mean, Max: r.Summary.Max, LossRatio: r.Summary.LossRatio}
	row := RowOf(&r)
	for _, fields := range [][]field[Row]{directionFields, rangeFields(), noiseFields, oneWayFields, httpFields, bulkFields} {
		for _, f := range fields {
			if v := f.get(&row); v != nil {
				t.Errorf("%s is %v: want it absent", f.Name, v)
			}
		}
	}
}

func TestColumnsAreDescribedOnceAndInTheHouseStyle(t *testing.T) {
	for _, table := range Tables() {
		seen := map[string]bool{}
		for _, c := range table.Columns {
			if seen[c.Name] || c.Meaning == "" || strings.ToLower(c.Name) != c.Name || strings.ContainsAny(c.Name, "- |") {
				t.Errorf("%s %s: column %+v", table.Name, table.RowKey, c)
			}
			seen[c.Name] = true
			units := map[string]string{"_us": "µs", "_s": "s", "_per_s": "1/s", "_bytes": "bytes", "_bps": "bit/s", "_ratio": "ratio", "_ppm": "ppm"}
			for ending, unit := range units {
				if ending == "_s" && strings.HasSuffix(c.Name, "_per_s") {
					continue
				}
				if strings.HasSuffix(c.Name, ending) && (c.Unit != unit || c.Type != Double) {
					t.Errorf("%s: unit %q and type %s, its name says %q", c.Name, c.Unit, c.Type, unit)
				}
			}
			if strings.HasSuffix(c.Name, "_count") && c.Type != Int32 {
				t.Errorf("%s is a count of type %s", c.Name, c.Type)
			}
		}
	}
	// Room for kinds to come, and for what operators add to a row.
	if n := len(Columns()); n > maxProperties*3/4 {
		t.Errorf("%d columns: want at most three quarters of %d", n, maxProperties)
	}
	for _, code := range wire.Failures() {
		found := false
		for _, c := range Columns() {
			found = found || c.Name == "failed_"+string(code)+"_count"
		}
		if found != (code != wire.FailureExpired) {
			t.Errorf("column for failure %q: %v", code, found)
		}
	}
}
