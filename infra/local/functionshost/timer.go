package functionshost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// recheck bounds one sleep, so that a clock that was set, or a machine that slept, is noticed.
const recheck = time.Second

var errLockLost = errors.New("the timer's lock was lost to another host")

// heldLock is a lock that this host has. renew returns errLockLost when it no longer has it.
type heldLock interface {
	renew(ctx context.Context) error
	release(ctx context.Context) error
}

// timerStorage keeps a timer's status and lock across hosts. Absent is nil: load finds no status
// when there is none, acquire no lock when another host has it.
type timerStorage interface {
	load(ctx context.Context) (*scheduleStatus, error)
	store(ctx context.Context, s scheduleStatus) error
	acquire(ctx context.Context) (heldLock, error)
}

// timer fires one function on its schedule, on whichever host holds the lock.
type timer struct {
	function *function
	storage  timerStorage
	invoke   func(ctx context.Context, reason string, info timerInfo) error
	now      func() time.Time
	log      *slog.Logger
	monitor  bool
	early    time.Duration // by which it fires too early
	renewal  time.Duration // between two renewals of the lock
	period   time.Duration // after which a lock that is not renewed is lost
	recovery time.Duration // between two attempts to get the lock
	// settled is called once, when the first attempt to get the lock has failed, or the status is
	// known.
	settled func()
}

// run holds the lock and listens, until ctx ends. An invocation that runs then is not cut short
// by it: the caller ends it through the context given to invoke.
func (t *timer) run(ctx, invoking context.Context) {
	defer t.settled()
	for ctx.Err() == nil {
		lock, err := t.storage.acquire(ctx)
		if err != nil && ctx.Err() == nil {
			t.log.Error("The timer's lock could not be had", "error", err)
		}
		if lock == nil {
			t.settled()
			sleep(ctx, t.recovery)
			continue
		}
		listening, lost := context.WithCancelCause(ctx)
		renewed := make(chan struct{})
		go func() {
			defer close(renewed)
			t.keep(listening, lock, lost)
		}()
		if err := t.listen(listening, invoking); err != nil && listening.Err() == nil {
			t.log.Error("The listener for the function was unable to start", "error", err)
			sleep(listening, t.recovery)
		}
		lost(nil)
		<-renewed
		// ctx may have ended, and the next host should not have to wait for the lease to run out.
		releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storageWait)
		if err := lock.release(releasing); err != nil {
			t.log.Warn("The timer's lock could not be released", "error", err)
		}
		cancel()
	}
}

// keep renews the lock, and calls lost when it is gone.
func (t *timer) keep(ctx context.Context, lock heldLock, lost context.CancelCauseFunc) {
	valid := time.Now().Add(t.period)
	wait := t.renewal
	for sleep(ctx, wait) {
		attempt := time.Now()
		err := lock.renew(ctx)
		switch {
		case err == nil:
			valid, wait = attempt.Add(t.period), t.renewal
			continue
		case ctx.Err() != nil:
			return
		case errors.Is(err, errLockLost), time.Now().After(valid):
			t.log.Warn("Singleton lock lost", "error", err)
			lost(errLockLost)
			return
		}
		wait = min(t.renewal, time.Second)
	}
}

// listen fires the function as long as ctx lasts.
func (t *timer) listen(ctx, invoking context.Context) error {
	status, pastDue, err := t.start(ctx)
	t.settled()
	if err != nil {
		return err
	}
	switch {
	case pastDue:
		t.log.Info("Function is past due on startup. Executing now.")
		status = t.fire(ctx, invoking, status, true, false)
	case t.function.timer.runOnStartup:
		t.log.Info("Function is configured to run on startup. Executing now.")
		status = t.fire(ctx, invoking, status, false, true)
	}
	for t.until(ctx, status.Next) {
		status = t.fire(ctx, invoking, status, false, false)
	}
	return nil
}

// start reads the status, and finds whether an occurrence was missed since it was written.
func (t *timer) start(ctx context.Context) (status scheduleStatus, pastDue bool, err error) {
	now := t.now()
	next := t.function.timer.schedule.Next
	if !t.monitor {
		return scheduleStatus{Next: next(now)}, false, nil
	}
	stored, err := t.storage.load(ctx)
	if err != nil {
		return scheduleStatus{}, false, err
	}
	if stored == nil {
		// Written at once, so that the first occurrence is not missed unnoticed.
		first := scheduleStatus{Next: next(now), LastUpdated: now}
		return scheduleStatus{Next: first.Next}, false, t.storage.store(ctx, first)
	}
	base := stored.Last
	if base.IsZero() {
		base = stored.LastUpdated
	}
	if base.IsZero() {
		base = now
	}
	if expected := next(base); !stored.Next.Equal(expected) {
		// The schedule has changed: what the old one missed is not made up for.
		if now.After(expected) {
			expected, base = next(now), now
		}
		*stored = scheduleStatus{Next: expected, LastUpdated: base}
		if err := t.storage.store(ctx, *stored); err != nil {
			return scheduleStatus{}, false, err
		}
	}
	return *stored, !stored.Next.IsZero() && now.After(stored.Next), nil
}

// fire invokes the function once and returns the status after it. Ticks that came due meanwhile
// collapse: the next occurrence is counted from when this one began, and fires at once if it has
// passed; those after it are skipped.
func (t *timer) fire(ctx, invoking context.Context, status scheduleStatus, pastDue, startup bool) scheduleStatus {
	began := t.now()
	info := newTimerInfo(nil, pastDue)
	if t.monitor {
		shown := status
		info.ScheduleStatus = &shown
	}
	reason := "Timer fired at " + dotNetTime(began)
	// An error is logged where it happens, and changes nothing: the occurrence counts as served.
	_ = t.invoke(invoking, reason, info)

	counted := began
	if !pastDue && !startup && status.Next.After(began) {
		counted = status.Next // it fired early
	}
	after := scheduleStatus{Last: counted, Next: t.function.timer.schedule.Next(counted), LastUpdated: counted}
	if !t.monitor {
		return scheduleStatus{Next: after.Next}
	}
	if invoking.Err() != nil {
		// The host was stopped in the middle: as after a crash, the next host finds it past due.
		return after
	}
	if err := t.storage.store(context.WithoutCancel(ctx), after); err != nil {
		t.log.Error("Function failed to update the timer trigger status", "error", err)
	}
	return after
}

// until waits for an instant of the timer's clock. It returns false when ctx ends first; an
// instant that is zero never comes.
func (t *timer) until(ctx context.Context, instant time.Time) bool {
	for {
		if ctx.Err() != nil {
			return false
		}
		wait := recheck
		if !instant.IsZero() {
			wait = min(wait, instant.Sub(t.now())-t.early)
		}
		if wait <= 0 {
			return true
		}
		if !sleep(ctx, wait) {
			return false
		}
	}
}

// sleep returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// newTimer sets a timer up; settled is called once.
func newTimer(f *function, o *Options, v *invoker, s timerStorage, settled func()) *timer {
	return &timer{
		function: f, storage: s, now: o.Now, early: o.Early,
		log:     o.Log.With("category", "Host.Triggers.Timer", "function", f.name),
		monitor: monitored(f.timer.useMonitor, f.timer.schedule, o.Now()),
		renewal: o.LockPeriod / 2, period: o.LockPeriod, recovery: o.LockRetry, settled: sync.OnceFunc(settled),
		invoke: func(ctx context.Context, reason string, info timerInfo) error {
			return v.timer(ctx, f, reason, info, o.Now())
		},
	}
}

// timer calls a timer's function.
func (v *invoker) timer(ctx context.Context, f *function, reason string, info timerInfo, now time.Time) error {
	p, err := timerPayload(f, info, now)
	if err != nil {
		return fmt.Errorf("calling function %q: %w", f.name, err)
	}
	return v.run(ctx, f, reason, func(ctx context.Context, i *invocation) error {
		_, err := v.post(ctx, i, p)
		return err
	})
}
