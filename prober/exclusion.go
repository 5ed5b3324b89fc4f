package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"isochrone/prober/wire"
)

// bulkLateness is how late a bulk run may begin, whatever its assignment says: later it would run into
// the rounds of others.
const bulkLateness = 2 * time.Second

// exclusion keeps bulk runs from everything else that a prober measures: while one is due or under way, as
// source or, by the sessions that are listed, as target, no latency run begins; and no two bulk runs are made
// at once. The plan keeps them apart already, all but those that were planned late. The zero exclusion
// knows of no bulk runs. Its methods may be called by several goroutines.
type exclusion struct {
	mu      sync.Mutex
	due     []busySpan      // by what was read last; those of this source leave it when they end
	ended   map[string]bool // assignments of it that are over
	latency int             // assignments under way
	bulk    bool            // one is under way
	changed chan struct{}
}

// busySpan is when a bulk run is due.
type busySpan struct {
	id       string // the assignment's, or empty for a session
	from, to time.Time
}

// learn replaces what is known of bulk runs by what an app says now.
func (e *exclusion) learn(current *wire.Current) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due = e.due[:0]
	known := map[string]bool{} // what the app no longer lists is forgotten
	for i := range current.Assignments {
		a := &current.Assignments[i]
		if !a.Spec.Kind.IsBulk() || !sends(a) {
			continue
		}
		if e.ended[a.ID] {
			known[a.ID] = true
			continue
		}
		e.due = append(e.due, busySpan{a.ID, a.Start, a.Deadline})
	}
	for i := range current.Sessions {
		if s := &current.Sessions[i]; s.Kind.IsBulk() {
			e.due = append(e.due, busySpan{"", s.NotBefore, s.Deadline})
		}
	}
	e.ended = known
	e.tell()
}

// sends says whether an assignment has a run that is to be made.
func sends(as *wire.Assignment) bool {
	for i := range as.Runs {
		if as.Runs[i].Failure == "" {
			return true
		}
	}
	return false
}

// tell wakes everybody who waits. e.mu is held.
func (e *exclusion) tell() {
	if e.changed != nil {
		close(e.changed)
	}
	e.changed = make(chan struct{})
}

// enter waits until the assignment's runs may begin, which an empty reason says. Otherwise reason says why
// they may not, by the latest start or when ctx ended. When the assignment is over, leave must be called.
func (e *exclusion) enter(ctx context.Context, now func() time.Time, as *wire.Assignment) (reason string) {
	latest := as.LatestStart
	if limit := as.Start.Add(bulkLateness); as.Spec.Kind.IsBulk() && limit.Before(latest) {
		latest = limit
	}
	hindered := ""
	for {
		t := now()
		if t.After(latest) {
			if hindered == "" {
				return "the assignment came to the prober after its latest start"
			}
			return hindered + ", and its latest start passed"
		}
		wake, changed := e.try(as, t, &hindered)
		if hindered == "" {
			return ""
		}
		if wake.IsZero() || wake.After(latest) {
			wake = latest.Add(time.Millisecond)
		}
		timer := time.NewTimer(wake.Sub(t))
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
			timer.Stop()
			return hindered + ", and the prober was stopped"
		}
		timer.Stop()
	}
}

// try begins an assignment's runs if they may begin at t, and empties hindered; otherwise it says there
// why not, when that may end by itself (zero: not before something else does), and what is closed when
// something has changed.
func (e *exclusion) try(as *wire.Assignment, t time.Time, hindered *string) (wake time.Time, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	bulk := as.Spec.Kind.IsBulk()
	*hindered = ""
	meets, met := e.meets(t, t.Add(as.Spec.Span()), bulk)
	switch {
	case bulk && e.bulk:
		*hindered = "another bulk run of this prober was under way"
	case bulk && e.latency > 0:
		*hindered = "latency runs of this prober were under way"
	case !bulk && e.bulk:
		*hindered = "a bulk run of this prober was under way"
	case met:
		wake = meets.to
		*hindered = fmt.Sprintf("a bulk run from this prober or to it was due from %s to %s, within the %s that the runs take",
			meets.from.UTC().Format(time.TimeOnly), meets.to.UTC().Format(time.TimeOnly), as.Spec.Span())
	case bulk:
		e.bulk = true
	default:
		e.latency++
	}
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return wake, e.changed
}

// meets finds a bulk run that is due between two times. Those of this prober keep each other apart, so a
// bulk run asks for the sessions alone.
func (e *exclusion) meets(from, to time.Time, sessions bool) (busySpan, bool) {
	for _, s := range e.due {
		if sessions && s.id != "" {
			continue
		}
		if s.from.Before(to) && from.Before(s.to) {
			return s, true
		}
	}
	return busySpan{}, false
}

// leave notes that an assignment is over; begun says whether enter let its runs begin.
func (e *exclusion) leave(as *wire.Assignment, begun bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.tell()
	if !as.Spec.Kind.IsBulk() {
		if begun {
			e.latency--
		}
		return
	}
	if begun {
		e.bulk = false
	}
	if e.ended == nil {
		e.ended = map[string]bool{}
	}
	e.ended[as.ID] = true
	e.due = slices.DeleteFunc(e.due, func(s busySpan) bool { return s.id == as.ID })
}
