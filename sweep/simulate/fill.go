package simulate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/ingest"
	"isochrone/sweep/ledger"
	"isochrone/sweep/plan"
	"isochrone/sweep/result"
)

// Filler fills a store with the history of a model. A fill that was cut off is made again, and does the
// rest: the same history has the same bytes.
type Filler struct {
	Model   *Model
	Config  *Derived
	Archive Archive
	Rows    Rows
	Ledger  Ledger
	// Progress, if it is set, is told what was done so far. It may be called at once.
	Progress func(Report)
}

// Report says what was done.
type Report struct {
	Slots     int `json:"slots"` // of the history
	Filled    int `json:"filled"`
	Had       int `json:"had"`  // slots that were filled before
	Left      int `json:"left"` // slots that have another plan: their sweep stays as it is
	Documents int `json:"documents"`
	Rows      int `json:"rows"`
	Expired   int `json:"expired"`
	Samples   int `json:"samples"`
}

// Done is how many slots were looked at.
func (r Report) Done() int { return r.Filled + r.Had + r.Left }

const (
	// A batch is so many slots, as many plans as ingest keeps at hand, and about so many runs.
	batchSlots, batchRuns = 24, 6000
	batchesAtOnce         = 2 // one is made while the other is written
	// afterwards is when a batch's documents come: what comes in time is stored, however old it is by the machine's clock.
	afterwards = time.Hour
	// longestBatch is over how much time: its documents come together, and the first may not be too late.
	longestBatch = ledger.LateLimit - 24*time.Hour
)

// batch is some slots, filled together.
type batch struct {
	slots []*plan.Plan
	texts map[string][]byte // plans by slot's name
	runs  int
}

// filling is one call of Run.
type filling struct {
	*Filler
	had map[time.Time]bool

	lock   sync.Mutex
	report Report
}

// Run fills the store. The report is good when there is an error, too.
func (f *Filler) Run(ctx context.Context) (Report, error) {
	r := &filling{Filler: f, had: map[time.Time]bool{}}
	err := r.run(ctx)
	if err != nil {
		err = fmt.Errorf("filling with simulated history: %w", err)
	}
	return r.report, err
}

func (f *filling) run(ctx context.Context) error {
	hash, err := f.Archive.PinConfig(ctx, f.Config.Text)
	if err != nil {
		return err
	}
	headers, err := f.Ledger.Sweeps(ctx, f.Model.Since, f.Model.Until)
	if err != nil {
		return err
	}
	for _, h := range headers {
		if h.State == ledger.Complete {
			f.had[h.Slot.UTC()] = true
		}
	}
	slots := Slots(f.Config.Config, f.Model.Since, f.Model.Until)
	f.add(func(r *Report) { r.Slots = len(slots) })
	work, within := errgroup.WithContext(ctx)
	work.SetLimit(batchesAtOnce)
	plans := planner{model: f.Model, config: f.Config.Config, hash: hash}
	next := batch{texts: map[string][]byte{}}
	send := func() {
		b := next
		work.Go(func() error { return f.batch(within, &b) })
		next = batch{texts: map[string][]byte{}}
	}
	for _, s := range slots {
		if within.Err() != nil {
			break
		}
		p, err := plans.plan(s)
		if err != nil {
			return errors.Join(err, work.Wait())
		}
		text, err := plan.Encode(p)
		if err != nil {
			return errors.Join(err, work.Wait())
		}
		if n := len(next.slots); n > 0 && p.Slot.Sub(next.slots[0].Slot) > longestBatch {
			send()
		}
		next.slots, next.texts[wire.SlotName(p.Slot)], next.runs = append(next.slots, p), text, next.runs+p.Runs()
		if len(next.slots) == batchSlots || next.runs >= batchRuns {
			send()
		}
	}
	send()
	return errors.Join(work.Wait(), ctx.Err())
}

func (f *filling) add(what func(*Report)) {
	f.lock.Lock()
	what(&f.report)
	now := f.report
	f.lock.Unlock()
	if f.Progress != nil {
		f.Progress(now)
	}
}

// batch fills some slots.
func (f *filling) batch(ctx context.Context, b *batch) error {
	mine, err := f.create(ctx, b)
	if err != nil || len(mine) == 0 {
		return err
	}
	g := &gathered{rows: f.Rows, ledger: f.Ledger}
	w := &waiting{model: f.Model, tasks: map[string]task{}, made: func() { f.add(func(r *Report) { r.Documents++ }) }}
	for _, p := range mine {
		for i := range p.Assignments {
			f.assign(p, &p.Assignments[i], w, g)
		}
	}
	expired := len(g.results)
	last := mine[len(mine)-1].Slot.Add(afterwards)
	in := &ingest.Ingester{Environment: f.Model.Environment, Inbox: w, Archive: &shelf{f.Archive, b.texts}, Rows: g, Ledger: g,
		Now: func() time.Time { return last }, Log: slog.New(slog.DiscardHandler)}
	report, err := in.Drain(ctx)
	if err == nil && report.Received != len(w.order) {
		err = fmt.Errorf("of %d documents %d were stored", len(w.order), report.Received)
	}
	if err != nil {
		return err
	}
	if err := g.write(ctx); err != nil {
		return err
	}
	if err := f.complete(ctx, mine); err != nil {
		return err
	}
	f.add(func(r *Report) {
		r.Filled += len(mine)
		r.Rows += len(g.results)
		r.Expired += expired
		r.Samples += report.Samples
	})
	return nil
}

// create stores the plans. Slots that are done, and those of which another plan is stored, are left out.
func (f *filling) create(ctx context.Context, b *batch) ([]*plan.Plan, error) {
	mine := make([]bool, len(b.slots))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for i, p := range b.slots {
		work.Go(func() (err error) {
			mine[i], err = f.Archive.CreatePlan(ctx, p.Slot, b.texts[wire.SlotName(p.Slot)])
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	var out []*plan.Plan
	for i, p := range b.slots {
		switch {
		case !mine[i]:
			f.add(func(r *Report) { r.Left++ })
		case f.had[p.Slot]:
			f.add(func(r *Report) { r.Had++ })
		default:
			out = append(out, p)
		}
	}
	return out, nil
}

// assign has a document made of an assignment, or its runs expire where the source is away.
func (f *filling) assign(p *plan.Plan, a *plan.Assignment, w *waiting, g *gathered) {
	if _, away := f.Model.away(a.Source, p.Slot); away {
		for i := range a.Runs {
			r := result.Expired(p.Series(a, &a.Runs[i]), p.Slot, a.ID, a.Part, a.Spec.Kind, a.Start)
			r.Provenance.Simulated = true
			g.results = append(g.results, r)
		}
		g.entries = append(g.entries, ledger.Entry{Slot: p.Slot, Key: ledger.Key{Source: a.Source, Probe: a.Probe, Part: a.Part}, Assignment: a.ID,
			State: ledger.Expired, Runs: len(a.Runs), Error: "no document came in time", Simulated: true})
		return
	}
	name := wire.InboxBlob(a.Source, p.Slot, a.ID, fmt.Sprintf("%08x", f.Model.random("document", a.ID).Uint32()))
	w.order, w.tasks[name] = append(w.order, name), task{p, a}
}

// complete writes the headers of slots, last of all. They say nothing of bytes that bulk runs may send: nobody sent any, and
// they would count against the month's budget.
func (f *filling) complete(ctx context.Context, plans []*plan.Plan) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for _, p := range plans {
		work.Go(func() error {
			return f.Ledger.AdvanceHeader(ctx, ledger.Header{Slot: p.Slot, State: ledger.Complete, ConfigHash: p.ConfigHash, Simulated: true})
		})
	}
	return work.Wait()
}
