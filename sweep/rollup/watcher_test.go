package rollup_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"isochrone/sweep/result"
	"isochrone/sweep/rollup"
	"isochrone/sweep/tables"
)

// watcher keeps what it is told, and fails as often as it is to.
type watcher struct {
	lock  sync.Mutex
	fail  int
	told  []tables.Level
	marks func() int // how many there are when it is told
	seen  []int
}

var errBusy = errors.New("the watcher is busy")

func (w *watcher) Watch(_ context.Context, source string, levels []tables.Level) error {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.seen = append(w.seen, w.marks())
	if w.fail--; w.fail >= 0 {
		return errBusy
	}
	for _, l := range levels {
		if l.Series.Source != source {
			return errors.New("told of another's hours")
		}
	}
	w.told = append(w.told, levels...)
	return nil
}

// Whoever watches is told of every hour before its mark is gone, of one that has not changed too: he may have failed
// the last time, or ended.
func TestAWatcherIsToldBeforeTheMarkIsCleared(t *testing.T) {
	m := newMemory(environment)
	w := inMemoryOf(m)
	series := seriesOf(environment, "westeurope", "eastus")
	must(t, w.put(t.Context(), []result.Result{measured(t, series, hour0.Add(10*time.Minute), span(80*time.Millisecond, 1000, 40)...)}))
	told := &watcher{fail: 1, marks: func() int { m.lock.Lock(); defer m.lock.Unlock(); return len(m.marks) }}
	r := roller(w)
	r.Watcher = told
	if _, err := r.Run(t.Context()); !errors.Is(err, errBusy) || len(m.marks) != 1 {
		t.Fatalf("%v, %d marks", err, len(m.marks))
	}
	report, err := r.Run(t.Context())
	if err != nil || report.Same != 1 || report.Cleared != 1 || len(m.marks) != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if len(told.told) != 1 || told.told[0].Series != series || !told.told[0].Begin.Equal(hour0) || *told.told[0].P50US < 80_000 || *told.told[0].MinUS != 80_000 || told.told[0].Simulated {
		t.Errorf("told of %+v", told.told)
	}
	for _, marks := range told.seen {
		if marks != 1 {
			t.Errorf("marks when it was told: %v", told.seen)
		}
	}
}

func TestAWatcherIsToldOfHoursThatAreGone(t *testing.T) {
	m := newMemory(environment)
	w := inMemoryOf(m)
	series := seriesOf(environment, "westeurope", "eastus")
	run := measured(t, series, hour0.Add(10*time.Minute), 80_000_000)
	must(t, w.put(t.Context(), []result.Result{run}))
	r := roller(w)
	_, err := r.Run(t.Context())
	must(t, err)
	must(t, w.remove(t.Context(), run))
	told := &watcher{marks: func() int { return 0 }}
	r.Watcher = told
	_, err = r.Run(t.Context())
	must(t, err)
	gone := series
	gone.Environment = ""
	if len(told.told) != 1 || told.told[0].Series != gone || !told.told[0].Begin.Equal(hour0) || told.told[0].P50US != nil {
		t.Errorf("told of %+v", told.told)
	}
}

func inMemoryOf(m *memory) world { return world{m, m.environment, m.put, m.remove} }

var _ rollup.Watcher = (*watcher)(nil)
