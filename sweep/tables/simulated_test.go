package tables

import (
	"fmt"
	"strings"
	"testing"

	"isochrone/sweep/result"
)

// A row says that a model made it up, in runs and in latest, and one that was measured does not say
// anything of it.
func TestTheMarkOfSimulatedRunsIsStored(t *testing.T) {
	s, ctx := newStore(t), background(t)
	made := measured(t, seriesOf(s.environment, "westeurope", "eastus"), slot0, 2_000_000)
	made.Provenance.Simulated = true
	real := measured(t, seriesOf(s.environment, "westeurope", "norwayeast"), slot0, 2_000_000)
	for _, r := range []*Row{new(RowOf(&made)), new(RowOf(&real))} {
		e, err := encode("p", "r", rowFields, r)
		must(t, err)
		if has := strings.Contains(string(e.body), `"simulated":true`); has != (r.Series.Target == "eastus") || strings.Contains(string(e.body), "simulated@odata") {
			t.Errorf("row is %s", e.body)
		}
		var back Row
		must(t, decode(e.body, rowFields, &back))
		if back.Simulated != r.Simulated || back.Provenance.Simulated != r.Simulated {
			t.Errorf("read back as %v", back.Simulated)
		}
	}
	must(t, s.PutResults(ctx, []result.Result{made, real}))
	must(t, s.PutLatest(ctx, []result.Result{made, real}))
	newest, err := s.Latest(ctx, "public", "tcp-64")
	must(t, err)
	for _, rows := range [][]Row{allRuns(t, s, RunQuery{Source: "westeurope"}), newest} {
		if len(rows) != 2 {
			t.Fatalf("%d rows", len(rows))
		}
		for _, r := range rows {
			if r.Simulated != (r.Series.Target == "eastus") {
				t.Errorf("%s: simulated %v", r.Series, r.Simulated)
			}
		}
	}
}

// The hash of what hours rest on is that of before there was a mark, and another where there is one.
func TestTheMarkChangesOnlyItsOwnRowsHash(t *testing.T) {
	r := measured(t, seriesOf("dev", "westeurope", "eastus"), slot0, 2_000_000)
	r.Run.RTTHistogram = "" // compression may differ between versions of Go
	row := RowOf(&r)
	const before = "cbdb2e21873fccd23a8c02c404586e59ba61ee4bfe23a633e43313b95000ae5d"
	got := Fingerprint(&row)
	if fmt.Sprintf("%x", got) != before {
		t.Errorf("the hash of a measured run is %x: every hour would be written again; want %s", got, before)
	}
	row.Simulated = true
	if Fingerprint(&row) == got {
		t.Error("a simulated run has the hash of a measured one")
	}
}
