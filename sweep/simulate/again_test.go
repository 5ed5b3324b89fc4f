package simulate_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
	"isochrone/sweep/simulate"
	"isochrone/sweep/tables"
)

var errAway = errors.New("storage is away")

// flaky is an archive that goes away after so many documents, one of them stored all the same.
type flaky struct {
	simulate.Archive
	left atomic.Int64
}

func (f *flaky) PutSamples(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result) (string, int, error) {
	n := f.left.Add(-1)
	if n < 0 {
		return "", 0, errAway
	}
	name, rows, err := f.Archive.PutSamples(ctx, source, slot, assignment, rs)
	if n == 0 && err == nil {
		err = errAway // it was stored
	}
	return name, rows, err
}

// torn are rows of which a batch is stored in part.
type torn struct {
	simulate.Rows
	calls atomic.Int64
}

func (r *torn) AddSimulated(ctx context.Context, rs []result.Result) error {
	if r.calls.Add(1) == 5 {
		if err := r.Rows.AddSimulated(ctx, rs[:len(rs)/2]); err != nil {
			return err
		}
		return errAway
	}
	return r.Rows.AddSimulated(ctx, rs)
}

// keysOf are the runs that rows are of, in order.
func keysOf(rows []tables.Row) (out []string) {
	for i := range rows {
		out = append(out, wire.SlotName(rows[i].Slot)+" "+rows[i].Series.String())
	}
	slices.Sort(out)
	return out
}

// A fill that was cut off, wherever, is made again and comes to what one that was not cut off comes to.
func TestAFillThatWasCutOffIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	whole := func() *simulate.Filler { return w.filler(t, twoRegions, 1, 3, "udp") }
	f := whole()
	cut := &flaky{Archive: w.archive}
	cut.left.Store(70)
	f.Archive = cut
	if report, err := f.Run(t.Context()); !errors.Is(err, errAway) || report.Filled == report.Slots {
		t.Fatalf("report %+v, %v", report, err)
	}
	f = whole()
	f.Rows = &torn{Rows: w.tables}
	if report, err := f.Run(t.Context()); !errors.Is(err, errAway) || report.Filled == report.Slots {
		t.Fatalf("report %+v, %v", report, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	f = whole()
	f.Progress = func(r simulate.Report) {
		if r.Documents > 20 {
			stop()
		}
	}
	if report, err := f.Run(stopped); err == nil || report.Filled == report.Slots {
		t.Fatalf("report %+v, %v", report, err)
	}
	report, err := whole().Run(t.Context())
	must(t, err)
	if report.Filled+report.Had != report.Slots || report.Slots != 7*24 || report.Left != 0 {
		t.Errorf("report %+v", report)
	}
	rows := w.runs(t)
	keys := keysOf(rows)
	if len(keys) != 7*24*4 || len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Errorf("%d rows, want %d", len(keys), 7*24*4)
	}

	// Made once more there is nothing to do.
	again, err := whole().Run(t.Context())
	if must(t, err); again.Had != again.Slots || again.Documents+again.Rows != 0 {
		t.Errorf("made once more: %+v", again)
	}
	if d := cmp.Diff(keys, keysOf(w.runs(t))); d != "" {
		t.Errorf("rows (-before +after):\n%s", d)
	}
}

// What was measured stays: a slot that was swept, a row that is there, and a newest run.
func TestNothingMeasuredGivesWay(t *testing.T) {
	w := newWorld(t)
	f := w.filler(t, twoRegions, 1, 1, "udp")
	at := f.Model.Until.Add(-3 * time.Hour)
	measured := func(target string, slot time.Time) result.Result {
		r := result.Expired(wire.Series{Environment: w.environment, Source: "westeurope", Target: target, Path: "public", Probe: "udp"}, slot,
			wire.AssignmentID(w.environment, slot, "westeurope", "udp", 0), 0, wire.KindUDP, slot)
		r.Run.Failure, r.Run.Detail = wire.FailureTLS, "measured"
		return r
	}
	if series, _, found, err := w.tables.FirstMeasured(t.Context()); err != nil || found {
		t.Errorf("of nothing %s was measured, %v", series, err)
	}
	rs := []result.Result{measured("eastus", at)}
	must(t, w.tables.PutResults(t.Context(), rs))
	must(t, w.tables.PutLatest(t.Context(), rs))
	swept := at.Add(-time.Hour)
	if created, err := w.archive.CreatePlan(t.Context(), swept, []byte(`{"version":1}`)); err != nil || !created {
		t.Fatal(created, err)
	}
	report, err := f.Run(t.Context())
	must(t, err)
	if report.Left != 1 || report.Filled != report.Slots-1 {
		t.Errorf("report %+v", report)
	}
	latest, err := w.tables.Latest(t.Context(), "public", "udp")
	must(t, err)
	for _, r := range append(w.runs(t), latest...) {
		was := r.Series.Source == "westeurope" && r.Series.Path == "public" && r.Slot.Equal(at)
		if r.Simulated == was || was && r.Detail != "measured" || r.Slot.Equal(swept) {
			t.Fatalf("%s at %s: simulated %v, %q", r.Series, r.Slot, r.Simulated, r.Detail)
		}
	}
	if i := slices.IndexFunc(latest, func(r tables.Row) bool { return !r.Simulated }); i < 0 || len(latest) != 2 {
		t.Errorf("%d newest runs, none was measured", len(latest))
	}
	if series, slot, found, err := w.tables.FirstMeasured(t.Context()); err != nil || !found || series != rs[0].Series || !slot.Equal(at) {
		t.Errorf("measured is %s at %s, %v, %v", series, slot, found, err)
	}
	unmarked := []result.Result{measured("eastus", at.Add(time.Hour))}
	if err := w.tables.AddSimulated(t.Context(), unmarked); !errors.Is(err, tables.ErrRefused) {
		t.Errorf("a run without the mark: %v", err)
	}
}
