package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"isochrone/sweep/inbox"
)

const (
	// perFolder is how many documents of one prober (or of all strangers) one Drain takes.
	perFolder = 1000
	// faultsTold is how many storage faults a Drain's error joins; the rest are counted.
	faultsTold = 5
	// closingTime is how long before its end a Drain stops taking documents, or a quarter of its
	// time if that is less.
	closingTime = 15 * time.Second
)

// Drain handles every document in the inbox once. It ends when four fifths of the time up to ctx's
// deadline are over: a fifth is the caller's, for what it does next. It takes nothing new when
// that is near. Documents that storage faults kept from being stored are left for the next Drain,
// and the error joins those faults; the report is good all the same. What its sender has locked
// is left too, and is no fault: somebody else's doing must not make every Drain fail.
//
// What one prober sends delays nobody else's documents, however much it is and however long it takes:
// the inbox is listed first, a part of each folder, and then the folders take turns (see queue).
//
// Documents that were opened before and did not come to an end are handled last and one by one,
// so that one that ends the process takes no other with it. A quarter of the time is theirs.
func (g *Ingester) Drain(ctx context.Context) (Report, error) {
	ctx, cancel := withoutReserve(ctx)
	defer cancel()
	d := drain{ingester: g, plans: g.plans(), last: lastCall(ctx)}
	fault := d.list(ctx)
	until := d.last
	if !d.suspects.empty() {
		until = d.before(4)
	}
	d.work(ctx, &d.fresh, g.concurrency(), until)
	d.work(ctx, &d.suspects, 1, d.last)
	return d.report, errors.Join(append([]error{fault}, d.told()...)...)
}

// withoutReserve is ctx with an earlier deadline, if it has one. Deadlines of contexts are by the
// machine's clock, whatever Now says.
func withoutReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/5))
}

func (g *Ingester) concurrency() int {
	if g.Concurrency > 0 {
		return g.Concurrency
	}
	return DefaultConcurrency
}

// drain is the state of one Drain.
type drain struct {
	ingester *Ingester
	plans    *plans
	last     time.Time // after which nothing is taken; zero is never

	fresh    queue
	suspects queue // opened before

	lock   sync.Mutex
	report Report
	faults []error
}

// lastCall is when a Drain stops taking documents.
func lastCall(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	return deadline.Add(-min(closingTime, time.Until(deadline)/4))
}

// before is when the n-th part of the time that is left begins; never, if there is no end.
func (d *drain) before(n time.Duration) time.Time {
	if d.last.IsZero() {
		return d.last
	}
	return d.last.Add(-time.Until(d.last) / n)
}

func over(end time.Time) bool { return !end.IsZero() && !time.Now().Before(end) }

// list lists the inbox, for half of the time at the most.
func (d *drain) list(ctx context.Context) error {
	until := d.before(2)
	listed := map[string]int{}
	for it, err := range d.ingester.Inbox.Inbox(ctx, perFolder+1) {
		if err != nil {
			return fmt.Errorf("listing the inbox: %w", err)
		}
		if over(until) {
			d.report.Unfinished = true
			return nil
		}
		folder := folderOf(it)
		if listed[folder]++; listed[folder] > perFolder {
			d.report.Unfinished = true
			continue
		}
		d.report.Listed++
		if it.Attempts > 0 {
			d.suspects.add(it)
		} else {
			d.fresh.add(it)
		}
	}
	return nil
}

// work empties a queue, and stops taking from it when its time is over.
func (d *drain) work(ctx context.Context, q *queue, workers int, until time.Time) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for !over(until) {
				it, done, ok := q.next()
				if !ok {
					return
				}
				d.handle(ctx, it)
				done()
			}
		})
	}
	all.Wait()
	d.report.Unfinished = d.report.Unfinished || !q.empty()
}

func (d *drain) handle(ctx context.Context, it inbox.Item) {
	done, err := d.ingester.handle(ctx, it, d.plans)
	d.lock.Lock()
	defer d.lock.Unlock()
	switch {
	case errors.Is(err, inbox.ErrLocked):
		d.report.Left++
		d.ingester.Log.Warn("a document is locked, and was left in the inbox", "item", it.Name, "reason", err.Error())
	case err != nil:
		d.report.Left++
		d.faults = append(d.faults, err)
	case done.refusal != nil:
		d.report.Quarantined++
	case !done.stored:
		d.report.Left++
	case isForeign(it):
		d.report.Foreign++
	default:
		d.report.Received++
	}
	d.report.Rows += done.rows
	d.report.Samples += done.samples
}

// told are the first faults, and how many more there were.
func (d *drain) told() []error {
	if more := len(d.faults) - faultsTold; more > 0 {
		return append(d.faults[:faultsTold:faultsTold], fmt.Errorf("and %d documents more were left", more))
	}
	return d.faults
}
