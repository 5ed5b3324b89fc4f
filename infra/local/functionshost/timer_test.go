package functionshost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/functions/ncrontab"
)

// memory is a timer's storage, shared by hosts. It injects two faults: a lock that is lost, and
// storage that fails.
type memory struct {
	mu     sync.Mutex
	status *scheduleStatus
	stored int
	owner  int // of the lock, 0 is nobody
	next   int
	fails  bool
}

type memoryLock struct {
	m  *memory
	id int
}

var errStorage = errors.New("storage is down")

func (m *memory) load(context.Context) (*scheduleStatus, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails {
		return nil, errStorage
	}
	if m.status == nil {
		return nil, nil
	}
	s := *m.status
	return &s, nil
}

func (m *memory) store(_ context.Context, s scheduleStatus) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails {
		return errStorage
	}
	m.status = &s
	m.stored++
	return nil
}

func (m *memory) acquire(context.Context) (heldLock, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owner != 0 {
		return nil, nil
	}
	m.next++
	m.owner = m.next
	return &memoryLock{m, m.next}, nil
}

func (l *memoryLock) renew(context.Context) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.owner != l.id {
		return errLockLost
	}
	return nil
}

func (l *memoryLock) release(context.Context) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.owner == l.id {
		l.m.owner = 0
	}
	return nil
}

// call is one invocation, in seconds since the bubble's beginning: when it came, the slot that it
// was to serve (-1: none was told), and whether it was past due.
type call struct {
	At, Slot float64
	PastDue  bool
}

// bench is a timer under test, in a bubble of fake time that begins at midnight.
type bench struct {
	*timer
	begin time.Time
	takes time.Duration

	mu    sync.Mutex
	calls []call
	busy  int
	most  int // invocations at once
}

func newBench(t *testing.T, spec string, storage timerStorage) *bench {
	t.Helper()
	schedule, err := ncrontab.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{begin: time.Now()}
	b.timer = &timer{
		function: &function{name: "F", timer: &timerTrigger{binding: "timer", schedule: schedule}},
		storage:  storage, now: time.Now, log: slog.New(slog.DiscardHandler), settled: func() {},
		monitor: monitored(true, schedule, time.Now()), renewal: 30 * time.Second, period: time.Minute, recovery: time.Minute,
	}
	b.invoke = func(ctx context.Context, _ string, info timerInfo) error {
		b.mu.Lock()
		c := call{At: time.Since(b.begin).Seconds(), Slot: -1, PastDue: info.IsPastDue}
		if info.ScheduleStatus != nil {
			c.Slot = info.ScheduleStatus.Next.Sub(b.begin).Seconds()
		}
		b.calls = append(b.calls, c)
		b.busy++
		b.most = max(b.most, b.busy)
		b.mu.Unlock()
		sleep(ctx, b.takes)
		b.mu.Lock()
		b.busy--
		b.mu.Unlock()
		return errors.New("functions that fail do not disturb the schedule")
	}
	return b
}

// runFor lets the timer run for d, and ends it.
func (b *bench) runFor(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	b.run(ctx, context.Background())
}

func (b *bench) expect(t *testing.T, want ...call) {
	t.Helper()
	if diff := cmp.Diff(want, b.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// status reads the stored status, in seconds since the beginning; NaN-free: an unset time is -1.
func (m *memory) seconds(b *bench) string {
	at := func(t time.Time) float64 {
		if t.IsZero() {
			return -1
		}
		return t.Sub(b.begin).Seconds()
	}
	return fmt.Sprintf("last %g next %g updated %g", at(m.status.Last), at(m.status.Next), at(m.status.LastUpdated))
}

func TestATickServesTheSlotThatNextNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		b := newBench(t, "0 */5 * * * *", m)
		time.Sleep(7 * time.Second)
		b.runFor(11 * time.Minute)
		b.expect(t, call{At: 300, Slot: 300}, call{At: 600, Slot: 600})
		if got, want := m.seconds(b), "last 600 next 900 updated 600"; got != want {
			t.Errorf("stored: %s, want %s", got, want)
		}
		if m.owner != 0 {
			t.Error("the lock was not released")
		}
	})
}

func TestANewTimersStatusIsWrittenBeforeItsFirstTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		b := newBench(t, "0 */5 * * * *", m)
		time.Sleep(7 * time.Second)
		b.runFor(time.Minute)
		b.expect(t)
		if got, want := m.seconds(b), "last -1 next 300 updated 7"; got != want {
			t.Errorf("stored: %s, want %s", got, want)
		}
	})
}

func TestLateTicksCollapseAndNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "0 * * * * *", &memory{})
		b.takes = 150 * time.Second
		b.runFor(10 * time.Minute)
		// Each lasts two and a half periods. The one after comes at once, for the first slot that
		// was missed; the second missed slot is skipped.
		b.expect(t, call{At: 60, Slot: 60}, call{At: 210, Slot: 120}, call{At: 360, Slot: 240}, call{At: 510, Slot: 420})
		if b.most != 1 {
			t.Errorf("%d invocations at once", b.most)
		}
	})
}

func TestAMissedOccurrenceIsPastDueAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "0 */5 * * * *", nil)
		m := &memory{status: &scheduleStatus{Last: b.begin, Next: b.begin.Add(5 * time.Minute), LastUpdated: b.begin}}
		b.storage = m
		time.Sleep(17 * time.Minute) // misses 5, 10 and 15
		b.runFor(4 * time.Minute)
		b.expect(t, call{At: 1020, Slot: 300, PastDue: true}, call{At: 1200, Slot: 1200})
		if got, want := m.seconds(b), "last 1200 next 1500 updated 1200"; got != want {
			t.Errorf("stored: %s, want %s", got, want)
		}
	})
}

func TestATimerThatNeverRanCanBePastDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "0 */5 * * * *", nil)
		b.storage = &memory{status: &scheduleStatus{Next: b.begin.Add(5 * time.Minute), LastUpdated: b.begin.Add(time.Second)}}
		time.Sleep(6 * time.Minute)
		b.runFor(time.Minute)
		b.expect(t, call{At: 360, Slot: 300, PastDue: true})
	})
}

func TestAnotherScheduleIsNotPastDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "0 */10 * * * *", nil) // it was every five minutes
		m := &memory{status: &scheduleStatus{Last: b.begin, Next: b.begin.Add(5 * time.Minute), LastUpdated: b.begin}}
		b.storage = m
		time.Sleep(17 * time.Minute)
		b.runFor(time.Minute)
		b.expect(t)
		if got, want := m.seconds(b), "last -1 next 1200 updated 1020"; got != want {
			t.Errorf("stored: %s, want %s", got, want)
		}
	})
}

func TestATimerThatFiresEarlyServesItsSlotOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		b := newBench(t, "0 */5 * * * *", m)
		b.early = 2 * time.Millisecond
		b.runFor(11 * time.Minute)
		b.expect(t, call{At: 299.998, Slot: 300}, call{At: 599.998, Slot: 600})
		if got, want := m.seconds(b), "last 600 next 900 updated 600"; got != want {
			t.Errorf("stored: %s, want %s", got, want)
		}
	})
}

func TestTwiceAMinuteIsNotMonitored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		b := newBench(t, "*/20 * * * * *", m)
		b.runFor(50 * time.Second)
		b.expect(t, call{At: 20, Slot: -1}, call{At: 40, Slot: -1})
		if m.stored != 0 {
			t.Error("a status was stored")
		}
	})
}

func TestMonitoringByTheMinute(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 500_000_000, time.UTC)
	for spec, want := range map[string]bool{"0 * * * * *": true, "*/30 * * * * *": false, "0,59 0 0 * * *": true, "0,59 0 12 * * *": true, "5,6 0 12 * * *": false} {
		s, err := ncrontab.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := monitored(true, s, noon); got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
		if monitored(false, s, noon) {
			t.Errorf("%s: monitored, though function.json says no", spec)
		}
	}
}

func TestRunOnStartupComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "0 */5 * * * *", &memory{})
		b.function.timer.runOnStartup = true
		time.Sleep(10 * time.Second)
		b.runFor(6 * time.Minute)
		b.expect(t, call{At: 10, Slot: 300}, call{At: 300, Slot: 300})
	})
}

func TestTheHostWithTheLockRunsTheTimerAndTheOtherTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		first, second := newBench(t, "0 * * * * *", m), newBench(t, "0 * * * * *", m)
		var hosts sync.WaitGroup
		hosts.Go(func() { first.runFor(150 * time.Second) })
		time.Sleep(time.Second)
		hosts.Go(func() { second.runFor(5 * time.Minute) })
		hosts.Wait()
		first.expect(t, call{At: 60, Slot: 60}, call{At: 120, Slot: 120})
		// The second asks for the lock every minute, and finds at 181 what was due at 180.
		second.expect(t, call{At: 181, Slot: 180, PastDue: true}, call{At: 240, Slot: 240}, call{At: 300, Slot: 300})
	})
}

func TestALostLockCanGiveTwoRunsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		first, second := newBench(t, "0 * * * * *", m), newBench(t, "0 * * * * *", m)
		first.takes, second.takes = 100*time.Second, time.Second
		var hosts sync.WaitGroup
		hosts.Go(func() { first.runFor(150 * time.Second) })
		time.Sleep(61 * time.Second) // the first is in the middle of its slot
		m.mu.Lock()
		m.owner = 0
		m.mu.Unlock()
		hosts.Go(func() { second.runFor(30 * time.Second) })
		hosts.Wait()
		first.expect(t, call{At: 60, Slot: 60}) // it sees at 90 that it has lost the lock, and ends the slot
		second.expect(t, call{At: 61, Slot: 60, PastDue: true})
	})
}

func TestStorageThatFailsDelaysTheListenerAndLosesNoTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{fails: true}
		b := newBench(t, "0 */5 * * * *", m)
		var host sync.WaitGroup
		host.Go(func() { b.runFor(11 * time.Minute) })
		time.Sleep(90 * time.Second)
		m.mu.Lock()
		m.fails = false
		m.mu.Unlock()
		time.Sleep(4 * time.Minute) // 330: one tick is over
		m.mu.Lock()
		m.fails = true // the status cannot be written: the timer goes on from memory
		m.mu.Unlock()
		host.Wait()
		b.expect(t, call{At: 300, Slot: 300}, call{At: 600, Slot: 600})
	})
}

func TestASlotThatStopCutShortIsPastDueForTheNextHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		b := newBench(t, "0 */5 * * * *", m)
		b.takes = time.Minute
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(310*time.Second, cancel)
		b.run(ctx, ctx)
		if got, want := m.seconds(b), "last -1 next 300 updated 0"; got != want {
			t.Errorf("stored: %s, want %s", got, want)
		}
		next := newBench(t, "0 */5 * * * *", m)
		next.begin = b.begin
		next.runFor(time.Minute)
		next.expect(t, call{At: 310, Slot: 300, PastDue: true})
	})
}

func TestATimersClockMayJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "0 0 * * * *", &memory{})
		var mu sync.Mutex
		var offset time.Duration
		b.now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(offset)
		}
		time.AfterFunc(10*time.Second+500*time.Millisecond, func() {
			mu.Lock()
			defer mu.Unlock()
			offset = 59*time.Minute + 55*time.Second
		})
		b.runFor(20 * time.Second)
		b.expect(t, call{At: 11, Slot: 3600}) // it is read every second
	})
}
