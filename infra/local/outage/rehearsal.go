package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"isochrone/functions/host"
	"isochrone/functions/ncrontab"
	"isochrone/functions/tick"
	"isochrone/infra/local/azurite"
	"isochrone/infra/local/storageproxy"
	"isochrone/prober/wire"
	"isochrone/sweep/answers"
	"isochrone/sweep/archive"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/ingest"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

const (
	period = 10 * time.Minute // of sweeps
	step   = 30 * time.Second // of the simulated clock
	// lead is how long before the outage the rehearsal begins, and after how long at the latest it ends.
	lead, tail = 25 * time.Minute, 3 * time.Hour
	// awayTick bounds a tick while storage is away, which would take its whole time limit otherwise.
	awayTick = 200 * time.Millisecond
)

var regions = []string{"westeurope", "northeurope", "eastus", "southeastasia", "brazilsouth"}

// rehearsal is an environment through an outage of its storage.
type rehearsal struct {
	environment string
	proxy       *storageproxy.Proxy
	blobs       *archive.Store
	rows        *tables.Store
	schedule    ncrontab.Schedule
	probers     []*prober
	log         *slog.Logger

	mu  sync.Mutex
	now time.Time

	debts *tick.Debts // of the app's process
	next  time.Time   // the Sweep timer's next tick
	busy  time.Duration
	// listed is how many documents lay in the inbox when the last Ingest tick began.
	listed int
}

// outcome is what an outage came to.
type outcome struct {
	outage                              time.Duration
	slots, complete, missed, other      int
	finished, received                  int
	planned, lost, unplanned, unhandled int
	notMeasured                         map[string]int
	caughtUp                            time.Duration // simulated, after the end of the outage; negative: not
	busy                                time.Duration // real, of the app's ticks after the outage
	// refused requests, and moments that ended with a fault, while storage was throttled
	refused, failed int
}

func newRehearsal(ctx context.Context, server *azurite.Server, environment, dir string, begin time.Time) (_ *rehearsal, err error) {
	r := &rehearsal{environment: environment, now: begin, debts: &tick.Debts{}, next: begin.Truncate(period).Add(period),
		log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if r.schedule, err = ncrontab.Parse("0 */10 * * * *"); err != nil {
		return nil, err
	}
	if r.proxy, err = storageproxy.Start(server.Account()); err != nil {
		return nil, err
	}
	a := r.proxy.Account()
	if r.blobs, err = archive.Open(a, environment); err != nil {
		return nil, err
	}
	if r.rows, err = tables.Open(a, environment); err != nil {
		return nil, err
	}
	conf := "version: 1\nenvironment: " + environment + "\nloopback: true\ntiming: {lead: 30s, late: 3m, grace: 5m}\nprobers:\n"
	for i, id := range regions {
		conf += fmt.Sprintf("  - region: %s\n    addresses: {public: [127.0.0.%d/32]}\n", id, 11+i)
	}
	conf += "probes:\n  - {name: tcp-64, kind: tcp, schedule: \"*/10 * * * *\", paths: [public], count: 20, interval: 20ms, timeout: 1s, warmup: 1, request: 64, response: 16}\n"
	if err := errors.Join(r.blobs.Ensure(ctx), r.rows.Ensure(ctx, begin), r.blobs.PutConfig(ctx, []byte(conf))); err != nil {
		return nil, err
	}
	for i, id := range regions {
		p, err := openProber(a, environment, id, fmt.Sprintf("127.0.0.%d", 11+i), filepath.Join(dir, environment), r.clock, begin)
		if err != nil {
			return nil, err
		}
		r.probers = append(r.probers, p)
	}
	return r, nil
}

func (r *rehearsal) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rehearsal) stop() error {
	var faults []error
	for _, p := range r.probers {
		faults = append(faults, p.spool.Close())
	}
	r.proxy.Stop()
	return errors.Join(faults...)
}

// run takes the environment through an outage. The app's process ends in the middle of one that is not short, and
// another one starts.
func (r *rehearsal) run(ctx context.Context, outage time.Duration) (*outcome, error) {
	begin := r.clock()
	first := r.next
	// A short one covers the tick of a slot; a long one begins after the probers of a slot were told, and
	// before their documents are finished.
	from := begin.Add(lead).Truncate(period).Add(-step)
	if outage >= period {
		from = from.Add(3 * step)
	}
	until := from.Add(outage)
	out := &outcome{outage: outage, caughtUp: -1}
	away := false
	for at := begin; at.Before(until.Add(tail)); at = at.Add(step) {
		r.mu.Lock()
		r.now = at
		r.mu.Unlock()
		switch {
		case !away && !at.Before(from) && at.Before(until):
			away = true
			r.proxy.Away()
		case away && !at.Before(until):
			away = false
			if err := r.proxy.Back(); err != nil {
				return nil, err
			}
			r.busy, r.listed = 0, -1
		}
		if outage >= period && at.Equal(from.Add(outage/2).Truncate(step)) {
			r.debts = &tick.Debts{} // a new process of the app
		}
		if err := r.moment(ctx, at, away, outage); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if out.caughtUp < 0 && !at.Before(until) {
			done, err := r.caughtUp(ctx, first, until)
			if err != nil {
				return nil, err
			}
			if done {
				out.caughtUp, out.busy = at.Sub(until), r.busy
			}
		}
		if out.caughtUp >= 0 && at.After(until.Add(4*period)) {
			break
		}
	}
	return out, r.judge(ctx, out, first)
}

// moment is what everybody does at a moment: the probers, and then the app where a tick of it is due.
func (r *rehearsal) moment(ctx context.Context, at time.Time, away bool, outage time.Duration) error {
	var work sync.WaitGroup
	faults := make([]error, len(r.probers))
	for i, p := range r.probers {
		work.Go(func() { faults[i] = p.step(ctx, at) })
	}
	work.Wait()
	if err := errors.Join(faults...); err != nil {
		return err
	}
	limit := 4 * time.Minute
	if away {
		limit = awayTick
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begun := time.Now()
	var err error
	if !at.Before(r.next) {
		due := tick.At(host.Timer{Status: &host.ScheduleStatus{Next: r.next}}, r.schedule, at)
		r.next = r.schedule.Next(at)
		_, _, err = r.debts.Sweep(ctx, r.dispatcher(), due, r.schedule, at)
	} else if at.Second() == 0 && (!away || outage <= period || at.Minute()%10 == 1) { // while storage is away for long not every minute
		err = r.ingest(ctx, at)
	}
	r.busy += time.Since(begun)
	if err != nil && !away {
		return fmt.Errorf("a tick at %s, with storage there: %w", at.Format(time.RFC3339), err)
	}
	return nil
}

func (r *rehearsal) dispatcher() *dispatch.Dispatcher {
	return &dispatch.Dispatcher{Environment: r.environment, Mailbox: r.blobs, Ledger: r.rows, Rows: r.rows, Resolver: net.DefaultResolver,
		Now: r.clock, Log: r.log, NewSeed: wire.NewSeed}
}

// ingest is the Ingest timer's tick, as the app has it.
func (r *rehearsal) ingest(ctx context.Context, at time.Time) error {
	d := r.dispatcher()
	g := &ingest.Ingester{Environment: r.environment, Inbox: r.blobs, Archive: r.blobs, Rows: r.rows, Ledger: r.rows, Now: r.clock, Log: r.log}
	againErr := r.debts.SweepAgain(ctx, d, at)
	_, deliverErr := d.Deliver(ctx)
	drained, drainErr := g.Drain(ctx)
	r.listed = drained.Listed
	_, resumeErr := d.Resume(ctx)
	return errors.Join(againErr, deliverErr, drainErr, resumeErr)
}

// caughtUp says whether nothing of the outage is left to do: no document waits, in a spool or in the inbox, and the
// ledger has every slot up to its end. Those that are swept then end as every sweep does.
func (r *rehearsal) caughtUp(ctx context.Context, first, until time.Time) (bool, error) {
	for _, p := range r.probers {
		if p.spool.Len() > 0 {
			return false, nil
		}
	}
	headers, err := r.rows.Sweeps(ctx, first, until)
	if err != nil {
		return false, err
	}
	return r.listed == 0 && len(headers) == int(until.Sub(first)/period)+1, nil
}

// judge counts what is stored, up to half an hour before the end.
func (r *rehearsal) judge(ctx context.Context, out *outcome, first time.Time) error {
	until := r.clock().Add(-20 * time.Minute).Truncate(period)
	headers, err := r.rows.Sweeps(ctx, first, until)
	if err != nil {
		return err
	}
	out.slots = int(until.Sub(first) / period)
	for _, h := range headers {
		switch h.State {
		case ledger.Complete:
			out.complete++
		case ledger.Missed:
			out.missed++
		}
	}
	out.other = out.slots - out.complete - out.missed
	received := map[string]bool{}
	for e, err := range r.rows.Entries(ctx, "", first, r.clock()) {
		if err != nil {
			return err
		}
		if e.State == ledger.Received {
			received[e.Assignment] = true
		}
	}
	for _, p := range r.probers {
		for id := range p.finished {
			out.finished++
			if received[id] {
				out.received++
			}
		}
	}
	c, err := answers.ReadCoverage(ctx, r.rows, r.blobs, r.environment, answers.CoverageQuery{Since: first, Until: until}, r.clock())
	if err != nil {
		return err
	}
	out.notMeasured = map[string]int{}
	for i := range c.Rows {
		row := &c.Rows[i]
		out.planned, out.lost, out.unplanned = out.planned+row.Planned, out.lost+row.Lost, out.unplanned+row.Unplanned
		if !row.AddsUp() {
			out.unhandled++
		}
		for _, w := range row.Why {
			out.notMeasured[string(w.Fate)+": "+w.Reason] += w.Runs
		}
	}
	return nil
}
