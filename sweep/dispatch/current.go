package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/plan"
)

const (
	// tellRounds is how often a prober's current.json is computed anew because somebody else
	// changed it meanwhile. Each round that fails means that another handler's succeeded.
	tellRounds = 8
	tellAtOnce = 16
	tellPause  = 25 * time.Millisecond // times the round
)

// version is a prober's current.json as it was read.
type version struct {
	body []byte
	etag string
}

// tell writes the current.json of every prober of the plan.
//
// The content is a function of the open plans alone, and they are listed after the version that
// is to be replaced was read. So whoever replaces a version knew every plan that its writer
// knew, and a handler that was held up cannot take away what another one has added: its write
// fails, and it lists the plans again. One prober's failure does not keep it from the others.
func (d *Dispatcher) tell(ctx context.Context, p *plan.Plan, known plans, report *Report) error {
	pending := probersOf(p)
	var faults []error
	for round := 1; len(pending) > 0; round++ {
		if round > tellRounds {
			return errors.Join(append(faults, fmt.Errorf("telling %q of sweep %q: their assignments kept changing, %d times in a row",
				pending, wire.SlotName(p.Slot), tellRounds))...)
		}
		if round > 1 {
			select {
			case <-time.After(time.Duration(round) * tellPause):
			case <-ctx.Done():
				return errors.Join(append(faults, fmt.Errorf("telling %q of sweep %q: %w", pending, wire.SlotName(p.Slot), ctx.Err()))...)
			}
		}
		again, err := d.tellOnce(ctx, pending, known, report)
		if err != nil {
			faults = append(faults, fmt.Errorf("telling the probers of sweep %q: %w", wire.SlotName(p.Slot), err))
		}
		pending = again
	}
	return errors.Join(faults...)
}

// tellOnce returns the probers whose version somebody else replaced meanwhile.
func (d *Dispatcher) tellOnce(ctx context.Context, probers []string, known plans, report *Report) (again []string, err error) {
	versions := make([]version, len(probers))
	faults := each(probers, func(i int) (err error) {
		versions[i].body, versions[i].etag, err = d.Mailbox.ReadCurrent(ctx, probers[i])
		return err
	})
	open, err := d.openPlans(ctx, known)
	if err != nil {
		return nil, err
	}
	now := d.Now()
	lost, written := make([]bool, len(probers)), make([]bool, len(probers))
	for i, err := range each(probers, func(i int) error {
		if faults[i] != nil {
			return faults[i]
		}
		body, err := d.current(probers[i], open, now)
		if err != nil || bytes.Equal(body, versions[i].body) {
			return err
		}
		written[i], err = d.Mailbox.WriteCurrent(ctx, probers[i], body, versions[i].etag)
		lost[i] = err == nil && !written[i]
		return err
	}) {
		faults[i] = nil
		if err != nil {
			faults[i] = fmt.Errorf("writing what %q is to do: %w", probers[i], err)
		}
		if lost[i] {
			again = append(again, probers[i])
		}
		if written[i] {
			report.Written++
		}
	}
	return again, errors.Join(faults...)
}

func (d *Dispatcher) current(prober string, open []*plan.Plan, now time.Time) ([]byte, error) {
	current, err := plan.Current(d.Environment, prober, open, now)
	if err != nil {
		return nil, err
	}
	return json.Marshal(current)
}

// openPlans reads the plans of all open slots, those in known from there. A slot that is marked
// and has no plan is left out: its plan is about to come, and then whoever stores it tells the
// probers. So is one whose plan this program cannot read, or it would keep every other sweep from
// the probers; its documents could not be stored either. It never is because storage failed: then
// nobody is told anything, since what is told must not lack a plan that can be read.
func (d *Dispatcher) openPlans(ctx context.Context, known plans) ([]*plan.Plan, error) {
	slots, err := d.Ledger.OpenSweeps(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the open sweeps: %w", err)
	}
	var out []*plan.Plan
	for _, slot := range slots {
		p, err := d.planOf(ctx, slot, known)
		if isUnreadable(err) { // eachOpen says so
			continue
		}
		if err != nil {
			return nil, err
		}
		if p != nil {
			out = append(out, p)
		}
	}
	return out, nil
}

// probersOf lists the probers that a plan has something for: its sources, and the targets of kinds
// that need a reflector. The others' targets may be endpoints, and there is nothing to tell them.
func probersOf(p *plan.Plan) []string {
	seen := map[string]bool{}
	for i := range p.Assignments {
		a := &p.Assignments[i]
		seen[a.Source] = true
		if !a.Spec.NeedsProber() {
			continue
		}
		for j := range a.Runs {
			seen[a.Runs[j].Target] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// each calls do for every index of in, several at once, and returns the errors by index.
func each(in []string, do func(i int) error) []error {
	var (
		lock sync.Mutex
		work errgroup.Group
		out  = make([]error, len(in))
	)
	work.SetLimit(tellAtOnce)
	for i := range in {
		work.Go(func() error {
			err := do(i)
			lock.Lock()
			defer lock.Unlock()
			out[i] = err
			return nil
		})
	}
	_ = work.Wait() // every error is in out
	return out
}
