package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"isochrone/functions/host"
	"isochrone/functions/ncrontab"
	"isochrone/functions/tick"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/compact"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/ingest"
	"isochrone/sweep/rollup"
	"isochrone/sweep/tables"
)

// sweepSchedule is the Sweep timer's: an hour is what the rarest sensible sweep takes, and a month of
// them fits into minutes.
const sweepSchedule = "0 0 * * * *"

// invocationTime bounds an invocation, by the machine's clock.
const invocationTime = 30 * time.Second

// handlerChild does what the Functions app does, put together as functions/app.go puts it together, by the
// month's clock.
type handlerChild struct {
	task     task
	clock    *clock
	log      *slog.Logger
	schedule ncrontab.Schedule
	budget   *ingest.Budget
	debts    tick.Debts

	mu    sync.Mutex // held while storage is opened
	blobs *archive.Store
	rows  *tables.Store
}

func newHandler(t task, c *clock, log *slog.Logger) (*handlerChild, error) {
	due, err := ncrontab.Parse(sweepSchedule)
	if err != nil {
		return nil, err
	}
	return &handlerChild{task: t, clock: c, log: log, schedule: due, budget: ingest.NewBudget()}, nil
}

// stores opens storage when it is first needed. A failure is not remembered.
func (h *handlerChild) stores(ctx context.Context) (*archive.Store, *tables.Store, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rows != nil {
		return h.blobs, h.rows, nil
	}
	blobs, err := archive.Open(h.task.Account, h.task.Environment)
	if err != nil {
		return nil, nil, err
	}
	rows, err := tables.Open(h.task.Account, h.task.Environment)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(blobs.Ensure(ctx), rows.Ensure(ctx, h.clock.now())); err != nil {
		return nil, nil, err
	}
	h.blobs, h.rows = blobs, rows
	return blobs, rows, nil
}

func (h *handlerChild) do(ctx context.Context, o order) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(ctx, invocationTime)
	defer cancel()
	blobs, rows, err := h.stores(ctx)
	if err != nil {
		return nil, err
	}
	d := &dispatch.Dispatcher{Environment: h.task.Environment, Mailbox: blobs, Ledger: rows, Rows: rows, Resolver: net.DefaultResolver,
		Now: h.clock.now, Clock: rows, Log: h.log, NewSeed: wire.NewSeed}
	switch o.Do {
	case doSweep:
		return h.sweep(ctx, d, o.Next)
	case doIngest:
		g := &ingest.Ingester{Environment: h.task.Environment, Inbox: blobs, Archive: blobs, Rows: rows, Ledger: rows,
			Now: h.clock.now, Log: h.log, Budget: h.budget}
		return h.ingest(ctx, d, g)
	case doCompact:
		report, err := (&compact.Compactor{Lake: blobs, Marks: rows, Now: h.clock.now, Log: h.log}).Run(ctx, compact.Scope{Apply: true})
		return map[string]int{"lake": report.Written, "pruned": report.Deleted}, err
	case doResults:
		g := &ingest.Ingester{Environment: h.task.Environment, Inbox: blobs, Archive: blobs, Rows: rows, Ledger: rows,
			Now: h.clock.now, Log: h.log, Budget: h.budget}
		_, err := g.Foreign(ctx, []byte(o.Foreign.Body), o.Foreign.parameters())
		return nil, err
	case doRollup:
		report, err := (&rollup.Roller{Hours: rows, Profiles: rows, Now: h.clock.now, Log: h.log}).Run(ctx)
		return map[string]int{"hours": report.Written, "left": report.Left + report.Waiting}, err
	}
	return nil, fmt.Errorf("a handler does not %q", o.Do)
}

func (h *handlerChild) sweep(ctx context.Context, d *dispatch.Dispatcher, next time.Time) (map[string]int, error) {
	t := tick.At(host.Timer{Status: &host.ScheduleStatus{Next: next}}, h.schedule, h.clock.now())
	swept, _, err := h.debts.Sweep(ctx, d, t, h.schedule, h.clock.now())
	return map[string]int{"planned": swept.Created, "missed": swept.Missed}, err
}

func (h *handlerChild) ingest(ctx context.Context, d *dispatch.Dispatcher, g *ingest.Ingester) (map[string]int, error) {
	againErr := h.debts.SweepAgain(ctx, d, h.clock.now())
	_, deliverErr := d.Deliver(ctx)
	drained, drainErr := g.Drain(ctx)
	resumed, resumeErr := d.Resume(ctx)
	return map[string]int{"received": drained.Received, "quarantined": drained.Quarantined, "rows": drained.Rows, "samples": drained.Samples,
		"expired": resumed.Expired, "completed": resumed.Completed, "waiting": drained.Left}, errors.Join(againErr, deliverErr, drainErr, resumeErr)
}
