package rollup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/result"
	"isochrone/sweep/rollup"
	"isochrone/sweep/tables"
)

// stores is all that is rolled up from and into.
type stores interface {
	rollup.Hours
	rollup.Profiles
	rollup.History
}

// world is a kind of stores, and what is done to it from outside.
type world struct {
	stores
	environment string
	put         func(ctx context.Context, rs []result.Result) error
	remove      func(ctx context.Context, r result.Result) error
}

func inMemory(environment string) world {
	m := newMemory(environment)
	return world{m, environment, m.put, m.remove}
}

func onAzurite(t testing.TB) world {
	t.Helper()
	a, env := azuritetest.Environment(t)
	s, err := tables.Open(a, env)
	must(t, err)
	return world{s, env, func(ctx context.Context, rs []result.Result) error { return store(ctx, s, rs) },
		func(ctx context.Context, r result.Result) error {
			ds, err := s.CompareRuns(ctx, []result.Result{r})
			if err != nil {
				return err
			}
			if err := s.RemoveRuns(ctx, ds); err != nil {
				return err
			}
			return s.MarkDirty(ctx, []result.Result{r})
		}}
}

// store stores results as ingest and dispatch do.
func store(ctx context.Context, s *tables.Store, rs []result.Result) error {
	var expired, others []result.Result
	for _, r := range rs {
		if r.IsExpired() {
			expired = append(expired, r)
		} else {
			others = append(others, r)
		}
	}
	return errors.Join(s.AddExpired(ctx, expired), s.PutResults(ctx, others), s.MarkDirty(ctx, rs))
}

// state is all that can be read back, a line each.
func (w world) state(t testing.TB, sources ...string) (lines []string) {
	t.Helper()
	since, until := hour0.AddDate(0, -2, 0), hour0.AddDate(0, 2, 0)
	for _, source := range sources {
		for h, err := range w.Hours(t.Context(), tables.HourQuery{Source: source, Since: since, Until: until}) {
			must(t, err)
			lines = append(lines, "hour "+line(t, h))
		}
		stamps, err := w.HourStamps(t.Context(), source, since, until)
		must(t, err)
		for _, s := range stamps {
			lines = append(lines, "stamp "+s.Row+" "+s.Inputs)
		}
		stamps, err = w.ProfileStamps(t.Context(), source)
		must(t, err)
		for _, s := range stamps {
			lines = append(lines, "profile's stamp "+s.Row+" "+s.Inputs)
		}
		switch of := w.stores.(type) {
		case *tables.Store:
			for p, err := range of.Profiles(t.Context(), source, "", "", "") {
				must(t, err)
				lines = append(lines, "profile "+line(t, p))
			}
		case *memory:
			for _, p := range of.profiles {
				if p.v.Series.Source == source {
					lines = append(lines, "profile "+line(t, p.v))
				}
			}
		}
	}
	marks, err := w.HourMarks(t.Context())
	must(t, err)
	for _, m := range marks {
		lines = append(lines, "mark "+markKey(m.Source, m.Begin))
	}
	states, err := w.ProfileStates(t.Context())
	must(t, err)
	for _, s := range states {
		lines = append(lines, fmt.Sprintf("state %s %s", s.Source, s.Day.Format(time.DateOnly)))
	}
	slices.Sort(lines)
	return lines
}

var sources = []string{"eastus", "westeurope"}

// The same history on the fake and on the real store: hours across the end of a month and of a year, late
// results, runs that go, two programs at once.
func TestTheFakeAndTheRealStoreEndInTheSameState(t *testing.T) {
	genuine := onAzurite(t)
	got, want := story(t, genuine), story(t, inMemory(genuine.environment))
	if len(want) < 60 {
		t.Errorf("the state has only %d lines", len(want))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("state (-fake +real):\n%s", diff)
	}
}

func story(t *testing.T, w world) []string {
	t.Helper()
	ctx := t.Context()
	all := history(t, w.environment)
	all = append(all, figures(t, w.environment)...)
	must(t, w.put(ctx, all))
	r := roller(w)
	rollUp := func() (out rollup.Report) {
		t.Helper()
		out, err := r.Run(ctx)
		must(t, err)
		return out
	}
	first := rollUp()
	if first.Left != 0 || first.Waiting != 0 || first.Written != 22 {
		t.Errorf("report %+v", first)
	}
	must(t, w.put(ctx, all)) // the same again
	if again := rollUp(); again.Written != 0 || again.Removed != 0 || again.Same != first.Written {
		t.Errorf("again %+v", again)
	}
	must(t, w.put(ctx, []result.Result{measured(t, seriesOf(w.environment, "eastus", "uksouth"), hour0.Add(50*time.Minute), 1_000_000, lost)}))
	must(t, w.remove(ctx, all[len(all)-1]))
	// Two at once: each may lose to the other.
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			if _, err := roller(w).Run(ctx); err != nil && !errors.Is(err, tables.ErrChanged) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	rollUp()
	rollUp()
	// One hour was removed, and two lie ahead of the clock, which a backfill does not look at.
	if report, err := r.Backfill(ctx, w, rollup.Scope{}, nil); err != nil || report.Written != 0 || report.Removed != 0 || report.Same != first.Written-3 || report.ProfilesWritten != 1 {
		t.Errorf("backfill %+v, %v", report, err)
	}
	return w.state(t, sources...)
}

// figures are runs with all that hours rest on, at the end of a year too. The last is alone in its hour.
func figures(t testing.TB, env string) (out []result.Result) {
	t.Helper()
	v := func(x float64) *float64 { return &x }
	n := 3
	for i, at := range []time.Time{hour0.Add(3 * time.Minute), hour0.AddDate(0, 0, 31).Add(13*time.Hour + time.Minute), hour0.AddDate(0, 1, 0).Add(30 * time.Hour), hour0.AddDate(0, 0, -30)} {
		r := measured(t, seriesOf(env, "westeurope", "norwayeast"), at, append(span(time.Millisecond, 1500, 40), lost, canceled, canceled)...)
		r.Series.Probe = "everything"
		r.Run.Counts.Late, r.Run.Counts.Duplicate, r.Run.Counts.Reordered = 1, 2, i
		r.Summary.Noise.Degraded = []summary.Reason{summary.ReasonLateSends, summary.ReasonCPUSteal}
		r.Summary.Bulk = &summary.Bulk{MovedBytes: 1 << 40, Throughput: summary.Throughput{Direction: wire.DirectionBoth, UpBPS: v(1e9), DownBPS: v(5e8), Streams: &n},
			Saturation: summary.Saturation{BestBPS: v(2e9), BestOutstanding: &n}, Stream: &wire.StreamResult{ReceiverRate: 12.5, Messages: 7}, Load: summary.Load{RequestsPerS: v(3.25)}}
		out = append(out, r)
	}
	return out
}

// What the interfaces' comments promise, of the fake and of the real store.
func TestTheStoresKeepTheirPromises(t *testing.T) {
	genuine := onAzurite(t)
	for name, w := range map[string]world{"fake": inMemory(genuine.environment), "real": genuine} {
		t.Run(name, func(t *testing.T) {
			t.Run("a mark that was set again stays", func(t *testing.T) { marksStay(t, w) })
			t.Run("an hour that somebody changed stays", func(t *testing.T) { hoursStay(t, w) })
			t.Run("a state that somebody advanced stays", func(t *testing.T) { statesStay(t, w) })
		})
	}
}

func marksStay(t *testing.T, w world) {
	ctx := t.Context()
	must(t, w.MarkHours(ctx, "uksouth", []time.Time{hour0, hour0.Add(time.Hour)}))
	before, err := w.HourMarks(ctx)
	must(t, err)
	if len(before) != 2 || before[0].Source != "uksouth" || !before[0].Begin.Equal(hour0) || before[0].ETag == "" {
		t.Fatalf("marks are %+v", before)
	}
	time.Sleep(5 * time.Millisecond) // an ETag of Azurite is a time
	must(t, w.MarkHours(ctx, "uksouth", []time.Time{hour0}))
	for i, wantGone := range []bool{false, false} {
		if gone, err := w.ClearHour(ctx, before[i]); err != nil || gone != wantGone {
			t.Errorf("clearing %+v: %v, %v", before[i], gone, err)
		}
	}
	after, err := w.HourMarks(ctx)
	must(t, err)
	if len(after) != 1 || !after[0].Begin.Equal(hour0) || after[0].ETag == before[0].ETag {
		t.Fatalf("then marks are %+v", after)
	}
	for _, wantGone := range []bool{false, true} {
		if gone, err := w.ClearHour(ctx, after[0]); err != nil || gone != wantGone {
			t.Errorf("clearing %+v: %v, %v", after[0], gone, err)
		}
	}
}

func hoursStay(t *testing.T, w world) {
	ctx := t.Context()
	s := seriesOf(w.environment, "uksouth", "eastus")
	row, err := tables.HourRow(s, hour0)
	must(t, err)
	stamp := func() tables.Stamp {
		t.Helper()
		stamps, err := w.HourStamps(ctx, "uksouth", hour0, hour0.Add(time.Hour))
		must(t, err)
		if len(stamps) == 0 {
			return tables.Stamp{}
		}
		if len(stamps) != 1 || stamps[0].Row != row || stamps[0].ETag == "" {
			t.Fatalf("stamps are %+v", stamps)
		}
		return stamps[0]
	}
	put := func(inputs string, was tables.Stamp, refused bool) {
		t.Helper()
		h := tables.Hour{Series: s, Begin: hour0, Kind: wire.KindTCP, Inputs: inputs, Runs: 1, First: hour0, Last: hour0}
		err := w.WriteHours(ctx, []tables.HourChange{{Put: &h, Begin: hour0, Was: was}})
		if errors.Is(err, tables.ErrChanged) != refused || err != nil && !refused {
			t.Errorf("writing %q over %+v: %v", inputs, was, err)
		}
	}
	put("a", tables.Stamp{}, false)
	put("b", tables.Stamp{}, true)
	was := stamp()
	time.Sleep(5 * time.Millisecond)
	put("c", was, false)
	put("d", was, true)
	if got := stamp(); got.Inputs != "c" {
		t.Errorf("stored is %+v", got)
	}
	removing := func(was tables.Stamp) error {
		return w.WriteHours(ctx, []tables.HourChange{{Source: "uksouth", Begin: hour0, Was: was}})
	}
	if err := removing(was); !errors.Is(err, tables.ErrChanged) {
		t.Errorf("deleting what was changed: %v", err)
	}
	is := stamp()
	if err := removing(is); err != nil || stamp() != (tables.Stamp{}) {
		t.Errorf("deleting: %v", err)
	}
	if err := removing(is); !errors.Is(err, tables.ErrChanged) {
		t.Errorf("deleting what is gone: %v", err)
	}
	put("e", is, true)
}

func statesStay(t *testing.T, w world) {
	ctx := t.Context()
	for range 2 {
		must(t, w.KeepProfiles(ctx, "uksouth"))
	}
	first, err := w.ProfileStates(ctx)
	must(t, err)
	if len(first) != 1 || first[0].Source != "uksouth" || first[0].Day.Year() != 1970 {
		t.Fatalf("states are %+v", first)
	}
	time.Sleep(5 * time.Millisecond)
	must(t, w.AdvanceProfiles(ctx, first[0], hour0.Truncate(24*time.Hour)))
	must(t, w.AdvanceProfiles(ctx, first[0], hour0.AddDate(0, 0, -1).Truncate(24*time.Hour))) // as somebody else read it
	must(t, w.KeepProfiles(ctx, "uksouth"))
	if then, err := w.ProfileStates(ctx); err != nil || len(then) != 1 || !then[0].Day.Equal(hour0.Truncate(24*time.Hour)) {
		t.Errorf("then states are %+v, %v", then, err)
	}
}
