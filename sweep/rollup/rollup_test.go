package rollup_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/result"
	"isochrone/sweep/rollup"
	"isochrone/sweep/tables"
)

// now is a quarter past an hour on the day after hour0's.
var now = hour0.Truncate(24*time.Hour).AddDate(0, 0, 1).Add(time.Hour + 15*time.Minute)

func roller(on interface {
	rollup.Hours
	rollup.Profiles
}) *rollup.Roller {
	return &rollup.Roller{Hours: on, Profiles: on, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
}

// history is some days of two sources, with a foreign series, expired runs and an hour without any.
func history(t testing.TB, env string) (out []result.Result) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(11, 5))
	for _, source := range []string{"westeurope", "eastus"} {
		for _, target := range []string{"northeurope", "uksouth"} {
			s := seriesOf(env, source, target)
			for _, hours := range []int{0, 1, 5, 30} {
				for i := range 3 {
					slot := hour0.Add(-time.Duration(hours)*time.Hour + time.Duration(i)*20*time.Minute)
					if rnd.IntN(6) == 0 {
						out = append(out, expired(s, slot))
					} else {
						out = append(out, measured(t, s, slot, append(drawn(rnd, 30), lost)...))
					}
				}
			}
		}
	}
	out = append(out, foreign(t, seriesOf(env, "westeurope", "uksouth"), hour0.Add(7*time.Second), nil, drawn(rnd, 25)...))
	return append(out, measured(t, seriesOf(env, "westeurope", "uksouth"), now.Truncate(time.Hour), drawn(rnd, 30)...))
}

func run(t testing.TB, m *memory) rollup.Report {
	t.Helper()
	report, err := roller(m).Run(t.Context())
	must(t, err)
	return report
}

func TestMarkedHoursAndTheDaysProfilesAreComputed(t *testing.T) {
	m := newMemory(environment)
	must(t, m.put(t.Context(), history(t, environment)))
	report := run(t, m)
	// Two sources, two targets, four hours; a foreign one; and the present hour of one series.
	if report.Written != 18 || report.Runs != 2*2*4*3+2 || report.Cleared != 9 || report.Left != 0 || report.Profiled != 2 || report.Waiting != 0 {
		t.Errorf("report %+v", report)
	}
	if len(m.marks) != 0 || len(m.hours) != 18 || report.ProfilesWritten != len(m.profiles) {
		t.Errorf("%d marks, %d hours, %d profiles", len(m.marks), len(m.hours), len(m.profiles))
	}
	ext := 0
	for _, h := range m.hours {
		if strings.HasPrefix(h.v.Series.Probe, wire.ForeignPrefix) {
			ext++
			if h.v.Runs != 1 || !h.v.Begin.Equal(hour0) {
				t.Errorf("foreign hour is %+v", h.v)
			}
		}
	}
	if ext != 1 {
		t.Errorf("%d foreign hours", ext)
	}
	// The hours 5, 10 and 9 of the day before, and 4 of the day before that; of one series also the foreign one's 10.
	if want := 2*2*4 + 1; len(m.profiles) != want {
		t.Errorf("%d profiles, want %d", len(m.profiles), want)
	}
	writes := len(m.calls)
	if report := run(t, m); report != (rollup.Report{}) || len(m.calls) != writes+2 {
		t.Errorf("once more: %+v, calls %v", report, m.calls[writes:])
	}
}

// Marks without changes, as of documents that came twice, write nothing.
func TestUnchangedInputsWriteNothing(t *testing.T) {
	m := newMemory(environment)
	must(t, m.put(t.Context(), history(t, environment)))
	run(t, m)
	before := len(m.calls)
	must(t, m.put(t.Context(), history(t, environment)))
	if report := run(t, m); report.Written != 0 || report.Same != 18 || report.Cleared != 9 {
		t.Errorf("report %+v", report)
	}
	if slices.Contains(m.calls[before:], "WriteHours") || slices.Contains(m.calls[before:], "WriteProfiles") {
		t.Errorf("calls %v", m.calls[before:])
	}
}

func TestALateResultChangesItsHourAlone(t *testing.T) {
	m := newMemory(environment)
	s := seriesOf(environment, "westeurope", "eastus")
	must(t, m.put(t.Context(), []result.Result{expired(s, hour0), expired(s, hour0.Add(time.Hour)), expired(seriesOf(environment, "westeurope", "uksouth"), hour0)}))
	run(t, m)
	must(t, m.put(t.Context(), []result.Result{measured(t, s, hour0, span(time.Millisecond, 1000, 30)...)})) // in place of the expired one
	if report := run(t, m); report.Written != 1 || report.Same != 1 || report.Runs != 2 {
		t.Errorf("report %+v", report)
	}
	if h := m.hours[runKey(s, hour0)].v; len(h.Failed) != 0 || h.Runs != 1 || !counts(h.Counts.Received, 30) {
		t.Errorf("hour is %+v", h)
	}
}

func TestAnHourThatLosesItsRunsIsDeleted(t *testing.T) {
	m := newMemory(environment)
	s := seriesOf(environment, "westeurope", "eastus")
	r, other := measured(t, s, hour0, 1000), measured(t, s, hour0.Add(time.Hour), 1000)
	must(t, m.put(t.Context(), []result.Result{r, other}))
	run(t, m)
	must(t, m.remove(t.Context(), r))
	if report := run(t, m); report.Removed != 1 || report.Written != 0 || len(m.hours) != 1 || len(m.marks) != 0 {
		t.Errorf("report %+v, %d hours", report, len(m.hours))
	}
}

// However results come, and whenever hours are computed in between, the end is the same as when all is
// computed at once.
func TestIncrementsComeToWhatComputingFromScratchDoes(t *testing.T) {
	all := history(t, environment)
	scratch := newMemory(environment)
	must(t, scratch.put(t.Context(), all))
	run(t, scratch)
	want := scratch.state(t)
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		m := newMemory(environment)
		r := roller(m)
		for _, i := range rnd.Perm(len(all)) {
			for range 1 + rnd.IntN(2) { // some come twice
				if rnd.IntN(3) == 0 { // and some expired before
					must(t, m.put(t.Context(), []result.Result{expired(all[i].Series, all[i].Slot)}))
				}
				must(t, m.put(t.Context(), all[i:i+1]))
			}
			if rnd.IntN(4) == 0 {
				_, err := r.Run(t.Context())
				must(t, err)
			}
		}
		// The profiles are the day's, whenever it was that they were computed: the next day's see all.
		for name, s := range m.states {
			s.Day = time.Unix(0, 0)
			m.states[name] = s
		}
		run(t, m)
		if diff := gocmp.Diff(want, m.state(t)); diff != "" {
			t.Fatalf("seed %d: state (-scratch +increments):\n%s", seed, diff)
		}
	}
}

// Every call fails once in every way, and the next tick puts it right.
func TestAFaultOrCrashAtAnyCallEndsInTheSameState(t *testing.T) {
	calm := newMemory(environment)
	must(t, calm.put(t.Context(), history(t, environment)))
	run(t, calm)
	want := calm.state(t)
	disturbed := 0
	for call, op := range calm.calls {
		for name, fault := range storetest.Faults(call, op) {
			m := newMemory(environment)
			must(t, m.put(t.Context(), history(t, environment)))
			m.fault = fault
			// Two sources may both see to it that a third is kept, or one: a call more or less.
			if _, err := roller(m).Run(t.Context()); !errors.Is(err, storetest.ErrInjected) && len(m.calls) > call {
				t.Errorf("call %d, %s, %s: error %v", call, op, name, err)
			}
			m.fault = nil
			run(t, m)
			if len(m.marks) != 0 { // a mark may have been set once more
				run(t, m)
			}
			if diff := gocmp.Diff(want, m.state(t)); diff != "" {
				t.Fatalf("call %d, %s, %s: state (-calm +disturbed):\n%s", call, op, name, diff)
			}
			disturbed++
		}
	}
	if disturbed < 60 {
		t.Errorf("only %d faults", disturbed)
	}
}

// Two that run at once, with every call of one held up in turn until the other has ended.
func TestTwoAtOnceEndInTheSameState(t *testing.T) {
	all := history(t, environment)
	calm := newMemory(environment)
	must(t, calm.put(t.Context(), all))
	run(t, calm)
	want := calm.state(t)
	for held := range len(calm.calls) {
		m := newMemory(environment)
		must(t, m.put(t.Context(), all))
		var once sync.Once
		var lock sync.Mutex
		n := 0
		m.before = func(string) {
			lock.Lock()
			mine := n == held
			n++
			lock.Unlock()
			if mine {
				once.Do(func() {
					if _, err := roller(m).Run(context.Background()); err != nil && !errors.Is(err, tables.ErrChanged) {
						t.Errorf("the other: %v", err)
					}
				})
			}
		}
		if _, err := roller(m).Run(t.Context()); err != nil && !errors.Is(err, tables.ErrChanged) {
			t.Errorf("held at %d: %v", held, err)
		}
		m.before = nil
		for range 2 {
			run(t, m)
		}
		if diff := gocmp.Diff(want, m.state(t)); diff != "" {
			t.Fatalf("held at %d: state (-calm +two):\n%s", held, diff)
		}
	}
}

// A run that is stored while its hour is computed keeps the mark, at whatever call it comes; and a pass
// that read older runs never has the last word.
func TestARowWrittenMeanwhileKeepsItsMark(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	first, late := measured(t, s, hour0, span(time.Millisecond, 0, 30)...), measured(t, s, hour0.Add(time.Minute), span(2*time.Millisecond, 0, 30)...)
	for _, both := range []bool{false, true} { // the second time another program computes the hour right then
		for held := range 12 {
			m := newMemory(environment)
			must(t, m.put(t.Context(), []result.Result{first}))
			n, inside := 0, false
			m.before = func(string) {
				if n == held && !inside {
					inside = true
					must(t, m.put(t.Context(), []result.Result{late}))
					if both {
						run(t, m)
					}
				}
				if !inside || n < held {
					n++
				}
			}
			run(t, m)
			m.before = nil
			if !inside {
				continue
			}
			h := m.hours[runKey(s, hour0)].v
			if h.Runs != 2 && len(m.marks) == 0 {
				t.Errorf("held at %d, both %v: the hour has %d runs, and no mark", held, both, h.Runs)
			}
			run(t, m)
			run(t, m)
			if h := m.hours[runKey(s, hour0)].v; h.Runs != 2 || len(m.marks) != 0 {
				t.Errorf("held at %d, both %v: then it has %d runs, and %d marks", held, both, h.Runs, len(m.marks))
			}
		}
	}
}

// A pass is held up before it writes. Meanwhile the run that it has read goes again; another program finds
// that the hour is stored as it ought to be, and takes the mark away. The pass then writes what nobody would
// ever look at again, had it not marked the hour once more.
func TestAnHourThatIsWrittenAfterItsMarkWasTakenAwayIsMarkedAgain(t *testing.T) {
	m := newMemory(environment)
	s := seriesOf(environment, "westeurope", "eastus")
	passing := measured(t, s, hour0.Add(time.Minute), 2_000_000)
	must(t, m.put(t.Context(), []result.Result{measured(t, s, hour0, 1_000_000)}))
	run(t, m)
	want := m.state(t)
	must(t, m.put(t.Context(), []result.Result{passing}))
	var once sync.Once
	m.before = func(op string) {
		if op == "WriteHours" {
			once.Do(func() {
				must(t, m.remove(t.Context(), passing))
				if report := run(t, m); report.Same != 1 || report.Cleared != 1 || report.Written != 0 {
					t.Errorf("the other: %+v", report)
				}
			})
		}
	}
	if report := run(t, m); report.Written != 1 || report.Left != 1 || len(m.marks) != 1 {
		t.Errorf("report %+v, %d marks", report, len(m.marks))
	}
	run(t, m)
	if diff := gocmp.Diff(want, m.state(t)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// One source's fault keeps no other back, and its profiles wait for its hours.
func TestAFaultOfOneSourceKeepsNoOtherBack(t *testing.T) {
	m := newMemory(environment)
	must(t, m.put(t.Context(), history(t, environment)))
	bad := &faulty{memory: m, source: "eastus"}
	report, err := roller(bad).Run(t.Context())
	if !errors.Is(err, storetest.ErrInjected) || !strings.Contains(fmt.Sprint(err), `"eastus"`) || report.Written != 10 || report.Left != 4 || report.Profiled != 1 || report.Waiting != 1 {
		t.Errorf("report %+v, %v", report, err)
	}
	bad.source = ""
	report, err = roller(bad).Run(t.Context())
	if err != nil || report.Written != 8 || report.Profiled != 1 {
		t.Errorf("then %+v, %v", report, err)
	}
}

type faulty struct {
	*memory
	source string
}

func (f *faulty) HourStamps(ctx context.Context, source string, since, until time.Time) ([]tables.Stamp, error) {
	if source == f.source {
		return nil, storetest.ErrInjected
	}
	return f.memory.HourStamps(ctx, source, since, until)
}

// Near its deadline nothing new is begun, and what is left is no fault.
func TestNothingIsBegunShortlyBeforeTheDeadline(t *testing.T) {
	m := newMemory(environment)
	must(t, m.put(t.Context(), history(t, environment)))
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	m.before = func(op string) {
		if op == "HourStamps" {
			time.Sleep(320 * time.Millisecond) // until nothing new is begun
		}
	}
	report, err := roller(m).Run(ctx)
	if report.Left == 0 && report.Waiting == 0 {
		t.Errorf("report %+v, %v", report, err)
	}
	m.before = nil
	run(t, m)
	if len(m.marks) != 0 || len(m.hours) != 18 {
		t.Errorf("then %d marks, %d hours", len(m.marks), len(m.hours))
	}
}

func TestABackfillComputesWhatNobodyMarked(t *testing.T) {
	m := newMemory(environment)
	must(t, m.put(t.Context(), history(t, environment)))
	m.marks = map[string]tables.HourMark{}
	m.mark("westeurope", hour0)
	m.mark("gone", hour0) // its runs were taken away
	windows := 0
	report, err := roller(m).Backfill(t.Context(), m, rollup.Scope{}, func(n int) { windows = n })
	must(t, err)
	if report.Written != 18 || report.Cleared != 2 || len(m.marks) != 0 || report.Windows != windows || windows == 0 || report.Profiled != 3 {
		t.Errorf("report %+v of %d windows, %d marks", report, windows, len(m.marks))
	}
	report, err = roller(m).Backfill(t.Context(), m, rollup.Scope{}, nil)
	if err != nil || report.Written != 0 || report.Same != 18 || report.ProfilesWritten != 0 {
		t.Errorf("again: %+v, %v", report, err)
	}
	calm := newMemory(environment)
	must(t, calm.put(t.Context(), history(t, environment)))
	run(t, calm)
	delete(m.states, "gone")
	if diff := gocmp.Diff(calm.state(t), m.state(t)); diff != "" {
		t.Errorf("state (-increments +backfill):\n%s", diff)
	}
	part := newMemory(environment)
	must(t, part.put(t.Context(), history(t, environment)))
	report, err = roller(part).Backfill(t.Context(), part, rollup.Scope{Since: hour0, Until: hour0.Add(time.Hour)}, nil)
	if err != nil || report.Written != 5 || report.Cleared != 2 {
		t.Errorf("of one hour: %+v, %v", report, err)
	}
}
