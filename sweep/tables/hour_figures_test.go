package tables

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
)

// keep blanks what a selection does not read.
func keep(h Hour, of selected[Hour], is wire.Series) Hour {
	out := Hour{Series: is}
	for i := range of.fields {
		if v := of.fields[i].get(&h); v != nil {
			of.fields[i].set(&out, v)
		}
	}
	return out
}

func TestASelectionReadsTheSameHoursWithTheColumnsThatItNames(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	acc, environment := azuritetest.Environment(t)
	s, err := Open(acc, environment)
	if err != nil {
		t.Fatal(err)
	}
	is := wire.Series{Environment: environment, Source: "westeurope", Target: "eastus", Path: "public", Probe: "tcp-64"}
	first := time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC) // across a year's end, and more than a page
	var cs []HourChange
	for i := range 1100 {
		n, p50, up := 600+i, 80_000+float64(i)/8, 9.5e8
		h := Hour{Series: is, Begin: first.Add(time.Duration(i) * time.Hour), Kind: wire.KindTCP, Inputs: "x", Runs: 6, First: first, Last: first,
			Degraded: i % 2, Counts: HourCounts{Sent: &n, Received: &n}, RTT: RTTs{MinUS: &p50, P50US: &p50}, Up: Rates{N: &n, Median: &up},
			Histogram: strings.Repeat("A", i) + `é"\`}
		if i == 7 {
			h.Histogram = strings.Repeat("0123456789", 2*maxTextUnits/10+5) // in three parts
		}
		if i == 8 {
			h.RTT, h.Counts, h.Histogram, h.Simulated = RTTs{}, HourCounts{}, "", 3
		}
		cs = append(cs, HourChange{Put: &h})
	}
	if err := s.WriteHours(ctx, cs); err != nil {
		t.Fatal(err)
	}
	q := HourQuery{Source: is.Source, Target: is.Target, Path: is.Path, Probe: is.Probe, Since: first, Until: first.Add(2000 * time.Hour)}
	all, err := collect(s.Hours(ctx, q))
	if err != nil || len(all) != len(cs) {
		t.Fatalf("%d hours, %v; want %d", len(all), err, len(cs))
	}
	for _, columns := range []HourSelection{Levels, Figures, FiguresAndHistograms, Histograms} {
		of, _ := columns.fields()
		q.Columns = columns
		got, err := collect(s.Hours(ctx, q))
		if err != nil || len(got) != len(all) {
			t.Fatalf("selection %d: %d hours, %v; want %d", columns, len(got), err, len(all))
		}
		for i := range got {
			if diff := cmp.Diff(keep(all[i], of, is), got[i]); diff != "" {
				t.Fatalf("selection %d, hour %d: (-as all columns have it +got)\n%.2000s", columns, i, diff)
			}
		}
	}
	n := 0
	for range s.Hours(ctx, q) { // a reader may stop
		if n++; n == 3 {
			break
		}
	}
	q.Target = "nowhere"
	if got, err := collect(s.Hours(ctx, q)); err != nil || len(got) != 0 {
		t.Errorf("a series without hours: %d, %v", len(got), err)
	}
}

func TestAPageThatIsNoPageOfHoursIsAnError(t *testing.T) {
	const good = `{"PartitionKey":"a","hour":"2026-11-30T10:00:00Z","run_count":6,"rtt_min_us":80000.0,"rtt_p50_us":8.1e4,"kind":"tcp\u002d","other":true}`
	for page, want := range map[string]int{
		`{"value":[]}`: 0, `{"odata.metadata":"http://x/[]{}","value":[` + good + "," + good + "]}\n": 2, ` { "value" : [ ` + good + ` ] } `: 1,
		``: -1, `{}`: 0, `[]`: -1, `{"value":[` + good: -1, `{"value":[` + good + `]}}`: -1, `{"value":[` + good + good + `]}`: -1, `{"value":{}}`: -1,
		`{"value":[{"hour":{"deep":1}}]}`: -1, `{"value":[{"run_count":6.5}]}`: -1, `{"value":[{"hour":5}]}`: -1, `{"value":[{"hour":"yesterday"}]}`: -1,
		`{"value":[{"rtt_p50_us":"1"}]}`: -1, `{"value":[{"kind":"\`: -1, `{"value":[{"kind":5}]}`: -1, `{"value":[{"rtt_p50_us":null}]}`: 1,
	} {
		n := 0
		_, err := levelFields.page([]byte(page), func(h Hour) bool {
			if n++; strings.Contains(page, good) && (h.Runs != 6 || h.Kind != "tcp-" || *h.RTT.P50US != 81_000 || *h.RTT.MinUS != 80_000 || h.Begin.Hour() != 10) {
				t.Errorf("%s: %+v", page, h)
			}
			if !strings.Contains(page, good) && h.RTT.P50US != nil {
				t.Errorf("%s: null became %v", page, *h.RTT.P50US)
			}
			return true
		})
		if (want < 0) != (err != nil) || err == nil && n != want {
			t.Errorf("%q: %d hours, %v; want %d", page, n, err, want)
		}
	}
	for cut := range len(good) {
		if _, err := levelFields.page([]byte(fmt.Sprintf(`{"value":[%s`, good[:cut])), func(Hour) bool { return true }); err == nil {
			t.Errorf("a page that ends after %d bytes of an entity is no error", cut)
		}
	}
}
