package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/infra/local/simulated"
	"isochrone/prober/wire"
)

// roundTimeout bounds one round.
const roundTimeout = 10 * time.Minute

// atOnce is how many simulated probers deliver at the same time.
const atOnce = 8

// round is one sweep from the plan to the rollup, and the bare loop beside it.
type round struct {
	assignments, runs, samples int
	plan, dispatch, ingest     stage
	idle                       stage // an Ingest that finds nothing to do, the sweep being open
	rollup                     stage // of the sweep's hour, and the first profiles
	deliver                    stage // by the probers, and one poll of each
	stored                     stored
	bare                       bareTimes
}

func (s *scale) round(ctx context.Context, n int, seed uint64) (out round, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	r, err := s.newRig(ctx, n, seed)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := r.begin(ctx); err != nil {
		return out, err
	}
	if err := out.sweep(ctx, r); err != nil {
		return out, err
	}
	s.say("   planned and dispatched in %.2f s", (out.plan.took + out.dispatch.took).Seconds())
	deliveries, err := out.measure(ctx, r)
	if err != nil {
		return out, err
	}
	s.say("   %d documents, %s MB, delivered in %.2f s", len(deliveries), megabytes(float64(out.deliver.in)), out.deliver.took.Seconds())
	for _, step := range []struct {
		function string
		to       *stage
	}{{"Ingest", &out.ingest}, {"Ingest", &out.idle}, {"Rollup", &out.rollup}} {
		if *step.to, _, err = r.invoke(ctx, step.function); err != nil {
			return out, err
		}
		s.say("   %s took %.2f s", step.function, step.to.took.Seconds())
		if step.to != &out.ingest {
			continue
		}
		if err := out.check(ctx, r, deliveries); err != nil {
			return out, err
		}
	}
	if out.stored, err = r.stored(ctx); err != nil {
		return out, err
	}
	out.bare, err = s.again(ctx, r, deliveries)
	return out, err
}

// begin has the probers register, and the app open its stores: a first start is not what is measured.
func (r *rig) begin(ctx context.Context) error {
	if err := eachOf(ctx, r.probers, func(ctx context.Context, p *simulated.Prober) error { return p.Register(ctx, time.Now()) }); err != nil {
		return err
	}
	if _, _, err := r.invoke(ctx, "Ingest"); err != nil {
		return err
	}
	r.outside.take()
	return nil
}

// sweep has the slot planned and dispatched. What comes up to the storing of the plan is planning.
func (o *round) sweep(ctx context.Context, r *rig) error {
	began := time.Now()
	whole, requests, err := r.invoke(ctx, "Sweep")
	if err != nil {
		return err
	}
	o.plan, o.dispatch = whole, whole
	for i, q := range requests {
		if strings.HasPrefix(q.path, "PUT ") && strings.Contains(q.path, "/_sweeps/") {
			o.plan.took = q.at.Sub(began)
			o.dispatch.took = max(whole.took-o.plan.took, 0)
			o.plan.usage, o.dispatch.usage = sum(requests[:i+1]), sum(requests[i+1:])
			r.slot, err = wire.ParseSlotName(strings.TrimSuffix(path.Base(q.path), ".json"))
			return err
		}
	}
	return errors.New("no plan was stored by the function Sweep")
}

// measure has the probers take what they are given, and deliver the documents, all of them made before
// the first is delivered.
func (o *round) measure(ctx context.Context, r *rig) ([]simulated.Delivery, error) {
	began := time.Now()
	assigned := make(map[*simulated.Prober][]wire.Assignment, len(r.probers))
	for _, p := range r.probers {
		as, err := p.Poll(ctx)
		if err != nil {
			return nil, err
		}
		assigned[p] = as
		o.assignments += len(as)
	}
	polling := time.Since(began)
	made := make(map[*simulated.Prober][]simulated.Delivery, len(r.probers))
	var all []simulated.Delivery
	for _, p := range r.probers {
		ds := make([]simulated.Delivery, len(assigned[p]))
		var work errgroup.Group
		work.SetLimit(runtime.GOMAXPROCS(0))
		for i, a := range assigned[p] {
			work.Go(func() (err error) {
				ds[i], err = p.Measure(a)
				return err
			})
		}
		if err := work.Wait(); err != nil {
			return nil, err
		}
		made[p], all = ds, append(all, ds...)
	}
	for _, d := range all {
		o.runs += d.Runs
		o.samples += d.Samples
	}
	began = time.Now()
	if err := eachOf(ctx, r.probers, func(ctx context.Context, p *simulated.Prober) error {
		for _, d := range made[p] {
			if err := p.Deliver(ctx, d); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	o.deliver = stage{took: polling + time.Since(began), usage: sum(r.outside.take())}
	return all, nil
}

func eachOf(ctx context.Context, probers []*simulated.Prober, do func(context.Context, *simulated.Prober) error) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for _, p := range probers {
		work.Go(func() error {
			if err := do(ctx, p); err != nil {
				return fmt.Errorf("simulated prober %q: %w", p.ID, err)
			}
			return nil
		})
	}
	return work.Wait()
}
