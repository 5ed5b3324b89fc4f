package doctor

import (
	"context"
	"fmt"
	"time"

	"isochrone/sweep/answers"
	"isochrone/sweep/ledger"
)

// lookBack is how much of the past is looked at.
const lookBack = 24 * time.Hour

// maxSlots bounds how many slots of it are compared.
const maxSlots = 2000

const remedyApp = "see that the Functions app runs and reaches the storage: its log says what Sweep did; SWEEP_SCHEDULE has to fire at every slot of the configuration"

// schedule holds the slots that were due against the sweeps that were made.
func (e *examination) schedule(ctx context.Context) error {
	headers, err := e.Rows.Sweeps(ctx, e.now.Add(-lookBack), e.now.Add(slotAllowance))
	if err != nil {
		return err
	}
	made := map[time.Time]ledger.Header{}
	var newest ledger.Header
	var since time.Time // of the configuration of today, as far as sweeps show
	for _, h := range headers {
		made[h.Slot.UTC()] = h
		if h.Slot.After(newest.Slot) {
			newest = h
		}
		if h.ConfigHash == e.hash && (since.IsZero() || h.Slot.Before(since)) {
			since = h.Slot
		}
	}
	next := nextDue(e.config, e.now)
	if newest.Slot.IsZero() {
		return e.neverSwept(ctx, next)
	}
	f := Finding{Check: CheckSchedule, State: OK, Text: newestText(newest.Slot, e.now, next)}
	if due := nextDue(e.config, newest.Slot); !due.IsZero() && e.now.Sub(due) > slotAllowance {
		f.State, f.Remedy = Fault, remedyApp
		f.Text = fmt.Sprintf("the newest sweep is of slot %s, %s ago; slot %s was due and nobody swept it", stamp(newest.Slot), age(e.now.Sub(newest.Slot)), stamp(due))
	}
	e.add(f)
	if newest.State != ledger.Missed && newest.ConfigHash != e.hash {
		e.found(CheckSchedule, "", Warning, "the configuration was changed after the newest sweep", "nothing: the next sweep uses it")
	}
	e.slots(made, since)
	return nil
}

func newestText(slot, now, next time.Time) string {
	return fmt.Sprintf("the newest sweep is of slot %s, %s ago; the next is due at %s", stamp(slot), age(now.Sub(slot)), stamp(next))
}

// neverSwept is said when there is no sweep in lookBack.
func (e *examination) neverSwept(ctx context.Context, next time.Time) error {
	status, err := answers.ReadStatus(ctx, e.Rows, e.Blobs, e.Environment, 1, e.now)
	if err != nil {
		return err
	}
	f := Finding{Check: CheckSchedule, State: Warning, Text: "there has been no sweep yet; the next is due at " + stamp(next), Remedy: "wait for it; if none comes: " + remedyApp}
	if len(status.Sweeps) > 0 {
		last := status.Sweeps[0].Slot
		f.Text = newestText(last, e.now, next)
		if due := nextDue(e.config, last); e.now.Sub(due) > slotAllowance {
			f.State, f.Remedy = Fault, remedyApp
		} else {
			f.State, f.Remedy = OK, ""
		}
	}
	e.add(f)
	return nil
}

// slots counts the slots that were due since the configuration is in use.
func (e *examination) slots(made map[time.Time]ledger.Header, since time.Time) {
	missed := 0
	for _, h := range made {
		if h.State == ledger.Missed {
			missed++
		}
	}
	if missed > 0 {
		e.found(CheckSchedule, "", Warning, fmt.Sprintf("%s of the last 24 h missed: the app was not there at the time", plural(missed, "slot was", "slots were")),
			"see in the app's log, and in the host's, why it was away; sweep status names the slots")
	}
	if since.IsZero() {
		return
	}
	due, absent := 0, 0
	var first time.Time
	for slot := since; due < maxSlots && e.now.Sub(slot) > slotAllowance; due++ {
		if _, ok := made[slot.UTC()]; !ok {
			if absent++; first.IsZero() {
				first = slot
			}
		}
		if slot = nextDue(e.config, slot); slot.IsZero() {
			break
		}
	}
	if absent > 0 {
		e.found(CheckSchedule, "", Fault, fmt.Sprintf("%d of %d slots that were due have no sweep, the first %s", absent, due, stamp(first)), remedyApp)
	}
}

// recentSweeps is how many sweeps are counted.
const recentSweeps = 10

// closedWithin is how long after its slot a sweep may be open: what is in it may have to be waited for.
const closedWithin = 3 * time.Hour

// sweeps counts what the last sweeps brought, and those that nobody closes.
func (e *examination) sweeps(ctx context.Context) error {
	status, err := answers.ReadStatus(ctx, e.Rows, e.Blobs, e.Environment, recentSweeps, e.now)
	if err != nil {
		return err
	}
	planned, missing, complete := 0, 0, 0
	reasons := newTop()
	for i := range status.Sweeps {
		s := &status.Sweeps[i]
		if s.Runs == nil || s.State != ledger.Complete {
			continue
		}
		complete++
		planned, missing = planned+s.Runs.Planned, missing+s.Runs.Missing
		for _, g := range s.Gaps {
			reasons.add(g.Source+": "+g.Reason, g.Runs)
		}
	}
	last := "complete sweep"
	if complete > 1 {
		last = fmt.Sprintf("%d complete sweeps", complete)
	}
	switch {
	case complete == 0:
		e.found(CheckSweeps, "", Warning, "no sweep is complete yet", "wait for the first; then sweep status says how it went")
	case missing > 0:
		e.found(CheckSweeps, "", Warning, fmt.Sprintf("of %d runs in the last %s %d never came; most: %s", planned, last, missing, reasons.first()),
			"sweep status says of which prober, and why")
	default:
		e.ok(CheckSweeps, "", "all %d runs of the last %s came", planned, last)
	}
	open, err := e.Rows.OpenSweeps(ctx)
	if err != nil {
		return err
	}
	late := 0
	for _, slot := range open {
		if e.now.Sub(slot) > closedWithin {
			late++
		}
	}
	if late > 0 {
		e.found(CheckSweeps, "", Fault, fmt.Sprintf("%s open for more than 3 h, the first of slot %s: Ingest closes them", plural(late, "sweep is", "sweeps are"), stamp(open[0])),
			"see what Ingest says in the app's log: a clock that is a minute off keeps it from closing any")
	}
	return nil
}

// top finds what is said most.
type top struct {
	counts map[string]int
	order  []string
}

func newTop() *top { return &top{counts: map[string]int{}} }

func (t *top) add(text string, n int) {
	if _, ok := t.counts[text]; !ok {
		t.order = append(t.order, text)
	}
	t.counts[text] += n
}

// first is the text with the largest count, of several the one that came first.
func (t *top) first() (text string) {
	for _, s := range t.order {
		if text == "" || t.counts[s] > t.counts[text] {
			text = s
		}
	}
	return text
}
