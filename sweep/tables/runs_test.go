package tables

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

func TestAResultReadsBackAsItWasWritten(t *testing.T) {
	s, ctx := newStore(t), background(t)
	want := full(t, s.environment)
	must(t, s.PutResults(ctx, []result.Result{want}))
	rows := allRuns(t, s, RunQuery{})
	if len(rows) != 1 {
		t.Fatalf("%d rows, want 1", len(rows))
	}
	row := RowOf(&want)
	truncate := func(t *time.Time) { *t = t.Truncate(100 * time.Nanosecond) }
	truncate(row.Start)
	truncate(row.End)
	if d := gocmp.Diff(row, rows[0]); d != "" {
		t.Errorf("row read back (-written +read):\n%s", d)
	}
}

// The service prints a Double with a point, and an Int32 without one.
func TestTheServiceKeepsWholeDoublesAsDoubles(t *testing.T) {
	a, env := azuritetest.Environment(t)
	var raw []byte
	s, err := open(a, env, settings{patience: defaultPatience, transport: transportFunc(func(r *http.Request) (*http.Response, error) {
		answer, err := http.DefaultClient.Do(r)
		if err == nil && r.Method == http.MethodGet {
			raw, err = io.ReadAll(answer.Body)
			answer.Body = io.NopCloser(bytes.NewReader(raw))
		}
		return answer, err
	})})
	must(t, err)
	must(t, s.PutResults(background(t), []result.Result{measured(t, seriesOf(env, "westeurope", "eastus"), slot0, 2_000_000)}))
	allRuns(t, s, RunQuery{Source: "westeurope", Since: slot0, Until: slot0.Add(time.Minute)})
	for _, want := range []string{`"rtt_min_us":2000.0,`, `"loss_ratio":0.0,`, `"sent_count":1,`, `"lost_count":0,`,
		`"slot@odata.type":"Edm.DateTime","slot":"2026-11-30T10:20:00Z"`, `"start@odata.type":"Edm.DateTime","start":"2026-11-30T10:20:05.0000015Z"`} {
		if !bytes.Contains(raw, []byte(want)) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
}

func TestResultsReplaceExpiredAndExpiredReplacesNothing(t *testing.T) {
	s, ctx := newStore(t), background(t)
	a, b := seriesOf(s.environment, "westeurope", "eastus"), seriesOf(s.environment, "westeurope", "northeurope")
	must(t, s.AddExpired(ctx, []result.Result{expired(a, slot0)}))
	got := allRuns(t, s, RunQuery{})
	if len(got) != 1 || got[0].Failure != wire.FailureExpired || got[0].LossRatio != nil || got[0].Start != nil {
		t.Fatalf("after AddExpired: %+v", got)
	}
	must(t, s.PutResults(ctx, []result.Result{measured(t, a, slot0, 2_000_000)}))
	// One of the batch exists, the other does not.
	must(t, s.AddExpired(ctx, []result.Result{expired(b, slot0), expired(a, slot0)}))
	must(t, s.AddExpired(ctx, []result.Result{expired(b, slot0), expired(a, slot0)}))
	got = allRuns(t, s, RunQuery{})
	if len(got) != 2 {
		t.Fatalf("%d rows, want 2: %+v", len(got), got)
	}
	if got[0].Series != a || got[0].Failure != "" || got[0].MinUS == nil || *got[0].MinUS != 2000 {
		t.Errorf("the result did not stay: %+v", got[0])
	}
	if got[1].Series != b || got[1].Failure != wire.FailureExpired {
		t.Errorf("the other run is not expired: %+v", got[1])
	}
}

func TestExpiredAndResultsCannotTakeEachOthersWay(t *testing.T) {
	s, ctx := newStore(t), background(t)
	a := seriesOf(s.environment, "westeurope", "eastus")
	if err := s.PutResults(ctx, []result.Result{expired(a, slot0)}); !errors.Is(err, ErrRefused) {
		t.Errorf("PutResults of an expired run: %v", err)
	}
	if err := s.AddExpired(ctx, []result.Result{measured(t, a, slot0, 1000)}); !errors.Is(err, ErrRefused) {
		t.Errorf("AddExpired of a result: %v", err)
	}
}

func TestAnotherEnvironmentIsRefusedAndNothingWritten(t *testing.T) {
	s, ctx := newStore(t), background(t)
	mine := measured(t, seriesOf(s.environment, "westeurope", "eastus"), slot0, 1000)
	theirs := measured(t, seriesOf("prod", "westeurope", "northeurope"), slot0, 1000)
	stray := mine
	stray.Document = "raw-prod/documents/x.json.gz"
	for name, write := range map[string]func() error{
		"PutResults":            func() error { return s.PutResults(ctx, []result.Result{mine, theirs}) },
		"PutResults (document)": func() error { return s.PutResults(ctx, []result.Result{stray}) },
		"AddExpired":            func() error { return s.AddExpired(ctx, []result.Result{expired(theirs.Series, slot0)}) },
		"PutLatest":             func() error { return s.PutLatest(ctx, []result.Result{mine, theirs}) },
		"MarkDirty":             func() error { return s.MarkDirty(ctx, []result.Result{mine, theirs}) },
		"PutProbers":            func() error { return s.PutProbers(ctx, []wire.Registration{registration("prod", "eastus", slot0)}) },
		"PutProbers (not valid)": func() error {
			return s.PutProbers(ctx, []wire.Registration{{Environment: s.environment, Prober: "Ü"}})
		},
	} {
		if err := write(); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	for _, kind := range []string{runsTables, latestTable, dirtyTable, probersTable, sweepsTables} {
		pager := s.service.NewListTablesPager(nil)
		for pager.More() {
			page, err := pager.NextPage(ctx)
			must(t, err)
			for _, table := range page.Tables {
				if *table.Name == kind+"prod" || *table.Name == kind+"prod202611" || *table.Name == s.monthName(kind, slot0) || *table.Name == s.name(kind) {
					t.Errorf("table %s was made", *table.Name)
				}
			}
		}
	}
}

func TestTheSameResultTwiceIsOneRowAndTwoDifferentAreRefused(t *testing.T) {
	s, ctx := newStore(t), background(t)
	a := seriesOf(s.environment, "westeurope", "eastus")
	must(t, s.PutResults(ctx, []result.Result{measured(t, a, slot0, 1000), measured(t, a, slot0, 1000)}))
	must(t, s.PutResults(ctx, []result.Result{measured(t, a, slot0, 1000)}))
	if n := len(allRuns(t, s, RunQuery{})); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	err := s.PutResults(ctx, []result.Result{measured(t, a, slot0, 1000), measured(t, a, slot0, 2000)})
	if !errors.Is(err, ErrRefused) {
		t.Errorf("two results with one key: %v", err)
	}
	if rows := allRuns(t, s, RunQuery{}); *rows[0].MinUS != 1 {
		t.Errorf("the row changed: %v", *rows[0].MinUS)
	}
}

// The queries run over three sources, four targets, two paths and two probes in three months.
func TestRunsReadByRangesNewestFirstAcrossMonths(t *testing.T) {
	s, ctx := newStore(t), background(t)
	slots := []time.Time{
		time.Date(2026, 10, 31, 23, 50, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
	}
	var all []result.Result
	for _, source := range []string{"eastus", "westeurope", "westeurope-vpn"} {
		for _, target := range []string{"eastus2", "northeurope", "northeurope-d8", "uksouth"} {
			for _, path := range []string{"peering", "public"} {
				for _, probe := range []string{"tcp-64", "tcp-640"} {
					for _, slot := range slots {
						series := wire.Series{Environment: s.environment, Source: source, Target: target, Path: path, Probe: probe}
						all = append(all, measured(t, series, slot, 1000))
					}
				}
			}
		}
	}
	must(t, s.PutResults(ctx, all))
	// The order that is promised, made without keys. "|" sorts behind letters, digits and hyphens.
	slices.SortFunc(all, func(a, b result.Result) int {
		text := func(r result.Result) string { return join(r.Series.Target, r.Series.Path, r.Series.Probe, "") }
		return cmp.Or(strings.Compare(a.Series.Source, b.Series.Source), strings.Compare(text(a), text(b)), b.Slot.Compare(a.Slot))
	})

	for _, q := range []RunQuery{
		{},
		{Source: "westeurope"},
		{Target: "northeurope"},
		{Path: "public"},
		{Probe: "tcp-64"},
		{Source: "westeurope", Target: "northeurope"},
		{Source: "westeurope", Path: "public"},
		{Source: "westeurope", Target: "northeurope", Probe: "tcp-64"},
		{Source: "westeurope", Target: "northeurope", Path: "public"},
		{Target: "northeurope", Path: "public", Probe: "tcp-64"},
		{Target: "northeurope", Path: "public", Probe: "tcp-64", Since: slots[1], Until: slots[3]},
		{Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64"},
		{Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64", Since: slots[1]},
		{Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64", Since: slots[0], Until: slots[2]},
		{Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64", Since: slots[0].Add(time.Nanosecond), Until: slots[3].Add(time.Nanosecond)},
		{Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64", Limit: 3},
		{Since: slots[2]},
		{Until: slots[1]},
		{Since: slots[1], Until: slots[2]},
		{Since: slots[1], Until: slots[2], Limit: 5},
		{Source: "nowhere"},
		{Since: slots[3].Add(time.Minute)},
	} {
		var want []string
		for _, r := range all {
			sr := r.Series
			if (q.Source == "" || q.Source == sr.Source) && (q.Target == "" || q.Target == sr.Target) &&
				(q.Path == "" || q.Path == sr.Path) && (q.Probe == "" || q.Probe == sr.Probe) &&
				(q.Since.IsZero() || !r.Slot.Before(q.Since)) && (q.Until.IsZero() || r.Slot.Before(q.Until)) {
				want = append(want, name(r.Series, r.Slot))
			}
		}
		var got []string
		for _, r := range allRuns(t, s, q) {
			got = append(got, name(r.Series, r.Slot))
		}
		if q.Limit > 0 {
			want = want[:q.Limit]
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("%+v (-want +got):\n%s", q, d)
		}
	}
}

func name(s wire.Series, slot time.Time) string {
	return s.String() + " " + slot.Format(time.RFC3339)
}

func TestMoreRowsThanAPageAndABatchHolds(t *testing.T) {
	s, ctx := newStore(t), background(t)
	a := seriesOf(s.environment, "westeurope", "eastus")
	var rs []result.Result
	for i := range 1234 {
		r := expired(a, slot0.Add(-time.Duration(i)*time.Minute)) // without histograms, which take long to make
		r.Run.Failure, r.Run.Detail = wire.FailureTimeout, fmt.Sprint(i)
		rs = append(rs, r)
	}
	must(t, s.PutResults(ctx, rs))
	rows := allRuns(t, s, RunQuery{Source: "westeurope", Since: slot0.Add(-2000 * time.Minute), Until: slot0.Add(time.Minute)})
	if len(rows) != len(rs) {
		t.Fatalf("%d rows, want %d", len(rows), len(rs))
	}
	for i, r := range rows {
		if !r.Slot.Equal(rs[i].Slot) || r.Detail != fmt.Sprint(i) {
			t.Fatalf("row %d: slot %s, %q", i, r.Slot, r.Detail)
		}
	}
}

func TestReadingWhatDoesNotExistIsEmpty(t *testing.T) {
	s, ctx := newStore(t), background(t)
	if rows := allRuns(t, s, RunQuery{}); len(rows) != 0 {
		t.Errorf("runs: %v", rows)
	}
	if rows := allRuns(t, s, RunQuery{Source: "westeurope", Since: slot0, Until: slot0.Add(time.Hour)}); len(rows) != 0 {
		t.Errorf("runs of an hour: %v", rows)
	}
	latest, err := s.Latest(ctx, "", "")
	if err != nil || len(latest) != 0 {
		t.Errorf("latest: %v, %v", latest, err)
	}
	if _, _, found, err := s.Sweep(ctx, slot0); err != nil || found {
		t.Errorf("sweep: %v, %v", found, err)
	}
	sweeps, err := s.Sweeps(ctx, time.Time{}, time.Time{})
	if err != nil || len(sweeps) != 0 {
		t.Errorf("sweeps: %v, %v", sweeps, err)
	}
	open, err := s.OpenSweeps(ctx)
	if err != nil || len(open) != 0 {
		t.Errorf("open sweeps: %v, %v", open, err)
	}
	probers, err := s.Probers(ctx)
	if err != nil || len(probers) != 0 {
		t.Errorf("probers: %v, %v", probers, err)
	}
	if err := s.ClearOpen(ctx, slot0); err != nil {
		t.Errorf("clearing what is not open: %v", err)
	}
}

func TestAQueryThatCouldNotBeAKeyIsRefused(t *testing.T) {
	s := newStore(t)
	for _, q := range []RunQuery{{Source: "x' or 1 eq 1"}, {Target: "A"}, {Path: "a|b"}, {Probe: "ext.B"}} {
		if rows, err := collect(s.Runs(background(t), q)); err == nil {
			t.Errorf("%+v: %d rows and no error", q, len(rows))
		}
	}
}

func TestEnvironmentsWithLikeNamesDoNotMix(t *testing.T) {
	a, env := azuritetest.Environment(t)
	ctx := background(t)
	s, err := Open(a, env)
	must(t, err)
	longer, err := Open(a, env+"2")
	must(t, err)
	must(t, s.PutResults(ctx, []result.Result{measured(t, seriesOf(s.environment, "westeurope", "eastus"), slot0, 1000)}))
	must(t, longer.PutResults(ctx, []result.Result{measured(t, seriesOf(longer.environment, "westeurope", "uksouth"), slot0, 1000)}))
	for store, want := range map[*Store]string{s: "eastus", longer: "uksouth"} {
		rows := allRuns(t, store, RunQuery{})
		if len(rows) != 1 || rows[0].Series.Target != want || rows[0].Series.Environment != store.environment {
			t.Errorf("environment %s: %+v, want the run to %s", store.environment, rows, want)
		}
	}
}

func TestEnsureMakesEveryTableAndMayBeRepeated(t *testing.T) {
	s, ctx := newStore(t), background(t)
	for range 2 {
		must(t, s.Ensure(ctx, slot0, slot0.AddDate(0, 1, 0)))
		s.made = map[string]bool{}
	}
	for _, kind := range []string{runsTables, sweepsTables} {
		got, err := s.existing(ctx, kind)
		want := []string{fmt.Sprint(kind, s.environment, "202611"), fmt.Sprint(kind, s.environment, "202612")}
		if d := gocmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", kind, err, d)
		}
	}
}
