package replay_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/replay"
	"isochrone/sweep/result"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func addExpired(t *testing.T, w world, series wire.Series, at time.Time) {
	t.Helper()
	rs := []result.Result{result.Expired(series, at, wire.AssignmentID(w.environment, at, series.Source, series.Probe, 0), 0, wire.KindTCP, at)}
	check(t, errors.Join(w.rows.AddExpired(t.Context(), rs), w.rows.PutLatest(t.Context(), rs)))
}

var errInjected = errors.New("injected fault")

// faulty are stores whose user ends right after a write: nothing that it does from there on has any
// effect.
type faulty struct {
	replay.Archive
	replay.Rows
	at   int // which write, from 0
	done int
	dead bool
}

func (f *faulty) write(act func() error) error {
	if f.dead {
		return errInjected
	}
	f.done++
	if f.done-1 != f.at {
		return act()
	}
	f.dead = true
	if err := act(); err != nil {
		return err
	}
	return errInjected
}

func (f *faulty) rebuild(write bool, act func() (string, result.Change, error)) (name string, c result.Change, err error) {
	if !write {
		return act()
	}
	err = f.write(func() error {
		name, c, err = act()
		return err
	})
	return name, c, err
}

func (f *faulty) RebuildSamples(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result, write bool) (string, result.Change, error) {
	return f.rebuild(write, func() (string, result.Change, error) {
		return f.Archive.RebuildSamples(ctx, source, slot, assignment, rs, write)
	})
}

func (f *faulty) RebuildIntervals(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result, write bool) (string, result.Change, error) {
	return f.rebuild(write, func() (string, result.Change, error) {
		return f.Archive.RebuildIntervals(ctx, source, slot, assignment, rs, write)
	})
}

func (f *faulty) RebuildJSON(ctx context.Context, document string, body []byte, write bool) (string, result.Change, error) {
	return f.rebuild(write, func() (string, result.Change, error) { return f.Archive.RebuildJSON(ctx, document, body, write) })
}

func (f *faulty) MendRuns(ctx context.Context, rs []result.Result, ds []result.Difference) error {
	return f.write(func() error { return f.Rows.MendRuns(ctx, rs, ds) })
}

func (f *faulty) AddForeign(ctx context.Context, rs []result.Result) error {
	return f.write(func() error { return f.Rows.AddForeign(ctx, rs) })
}

func (f *faulty) RemoveRuns(ctx context.Context, ds []result.Difference) error {
	return f.write(func() error { return f.Rows.RemoveRuns(ctx, ds) })
}

func (f *faulty) MendLatest(ctx context.Context, rs []result.Result, ds []result.Difference) error {
	return f.write(func() error { return f.Rows.MendLatest(ctx, rs, ds) })
}

func (f *faulty) MarkDirty(ctx context.Context, rs []result.Result) error {
	return f.write(func() error { return f.Rows.MarkDirty(ctx, rs) })
}

// A replay that ends right after any of its writes, and is made again, comes to the same end. One that
// ends before a write has ended after the one before it.
func TestAReplayThatEndedHalfWayIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	before := w.dump(t)
	ended := 0
	for at := 0; ; at++ {
		tampered(t, w)
		r := w.replayer()
		r.Concurrency = 1
		f := &faulty{Archive: r.Archive, Rows: r.Rows, at: at}
		r.Archive, r.Rows = f, f
		_, err := r.Run(t.Context(), whole, true)
		if !f.dead {
			check(t, err)
			break
		}
		ended++
		if !errors.Is(err, errInjected) || !strings.Contains(err.Error(), `replaying "raw-`) {
			t.Errorf("write %d: error %v", at, err)
		}
		run(t, w.replayer(), whole, true)
		if diff := cmp.Diff(before, w.dump(t)); diff != "" {
			t.Fatalf("write %d (-before +after):\n%s", at, diff)
		}
	}
	if ended < 12 {
		t.Errorf("it ended at %d writes: the test shows nothing", ended)
	}
}

// stopped is a replay that its operator stops right after rows were written.
type stopped struct {
	replay.Rows
	stop    context.CancelFunc
	written bool
	marked  int // after that
}

func (s *stopped) MendRuns(ctx context.Context, rs []result.Result, ds []result.Difference) error {
	err := s.Rows.MendRuns(ctx, rs, ds)
	s.written = true
	s.stop()
	return err
}

func (s *stopped) MarkDirty(ctx context.Context, rs []result.Result) error {
	err := s.Rows.MarkDirty(ctx, rs)
	if s.written && err == nil {
		s.marked += len(rs)
	}
	return err
}

// The marks that were set before may have been cleared by who read the rows before they were written.
func TestWhatWasWrittenIsMarkedAlsoWhenTheReplayIsStopped(t *testing.T) {
	w := newWorld(t)
	tampered(t, w)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r := w.replayer()
	r.Concurrency = 1
	rows := &stopped{Rows: r.Rows, stop: stop}
	r.Rows = rows
	if _, err := r.Run(ctx, whole, true); !errors.Is(err, context.Canceled) || !rows.written || rows.marked != 1 {
		t.Errorf("%v; written %v, %d results marked behind it", err, rows.written, rows.marked)
	}
}

// racing is somebody else who changes a row after it was compared.
type racing struct {
	replay.Rows
	change func()
	times  int
}

func (r *racing) MendRuns(ctx context.Context, rs []result.Result, ds []result.Difference) error {
	if r.times--; r.times >= 0 {
		r.change()
	}
	return r.Rows.MendRuns(ctx, rs, ds)
}

func TestWhoLosesToOtherWritersComparesOnceMore(t *testing.T) {
	for times, ok := range map[int]bool{1: true, 3: true, 4: false} {
		w := newWorld(t)
		before := w.dump(t)
		tampered(t, w)
		r := w.replayer()
		n := 0
		r.Rows = &racing{Rows: r.Rows, times: times, change: func() { n++; changeRow(t, w, fmt.Sprint("other", n)) }}
		scope := whole
		scope.Source = "westeurope"
		_, err := r.Run(t.Context(), scope, true)
		if ok != (err == nil) || !ok && !errors.Is(err, result.ErrChanged) {
			t.Errorf("%d times: %v", times, err)
		}
		if !ok {
			continue
		}
		run(t, w.replayer(), whole, true)
		if diff := cmp.Diff(before, w.dump(t)); diff != "" {
			t.Errorf("%d times (-before +after):\n%s", times, diff)
		}
	}
}

// changeRow changes a row of tcp-64 as somebody else would.
func changeRow(t *testing.T, w world, detail string) {
	t.Helper()
	azuritetest.Change(t, w.account, "runs"+w.environment+"202611", "westeurope",
		fmt.Sprintf("northeurope|public|tcp-64|%010d", 9_999_999_999-slot.Unix()), map[string]any{"detail": detail})
}
