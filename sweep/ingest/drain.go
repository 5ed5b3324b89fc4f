package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/sweep/inbox"
)

const (
	// perFolder is how many documents of one prober (or of all strangers) one Drain takes: a
	// prober that floods the inbox delays its own documents and nobody else's.
	perFolder = 1000
	// faultsTold is how many storage faults a Drain's error joins; the rest are counted.
	faultsTold = 5
	// closingTime is how long before its deadline a Drain stops taking documents, or a quarter of
	// its time if that is less.
	closingTime = 15 * time.Second
)

// Drain handles every document in the inbox once. It takes nothing new when ctx is near its
// deadline. Documents that storage faults kept from being stored are left for the next Drain,
// and the error joins those faults; the report is good all the same.
//
// Documents that were opened before and did not come to an end are handled last and one by one,
// so that one that ends the process takes no other with it.
func (g *Ingester) Drain(ctx context.Context) (Report, error) {
	d := drain{ingester: g, plans: g.plans(), last: lastCall(ctx)}
	var work errgroup.Group
	work.SetLimit(g.concurrency())
	var suspects []inbox.Item
	folders := map[string]int{}
	var fault error
	for it, err := range g.Inbox.Inbox(ctx) {
		if err != nil {
			fault = fmt.Errorf("listing the inbox: %w", err)
			break
		}
		if d.closing() {
			break
		}
		folder, _, _ := strings.Cut(it.Name, "/")
		if folders[folder]++; folders[folder] > perFolder {
			d.unfinished()
			continue
		}
		d.list()
		if it.Attempts > 0 {
			suspects = append(suspects, it)
			continue
		}
		work.Go(func() error {
			d.handle(ctx, it)
			return nil
		})
	}
	_ = work.Wait() // the faults are in d
	for _, it := range suspects {
		d.handle(ctx, it)
	}
	return d.report, errors.Join(append([]error{fault}, d.told()...)...)
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

	lock   sync.Mutex
	report Report
	faults []error
}

// lastCall is when a Drain stops taking documents. Deadlines of contexts are by the machine's
// clock, whatever Now says.
func lastCall(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	return deadline.Add(-min(closingTime, time.Until(deadline)/4))
}

func (d *drain) closing() bool {
	if d.last.IsZero() || time.Now().Before(d.last) {
		return false
	}
	d.unfinished()
	return true
}

func (d *drain) unfinished() {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.report.Unfinished = true
}

func (d *drain) list() {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.report.Listed++
}

func (d *drain) handle(ctx context.Context, it inbox.Item) {
	if d.closing() {
		return
	}
	done, err := d.ingester.handle(ctx, it, d.plans)
	d.lock.Lock()
	defer d.lock.Unlock()
	switch {
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
