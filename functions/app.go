package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"isochrone/functions/host"
	"isochrone/functions/tick"
	"isochrone/functions/web"
	"isochrone/prober/wire"
	"isochrone/sweep/alerts"
	"isochrone/sweep/archive"
	"isochrone/sweep/compact"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/ingest"
	"isochrone/sweep/rollup"
	"isochrone/sweep/tables"
)

// The names and places that the function.json files say too; a test holds them together.
const (
	timerBinding = "timer"
	resultsPath  = "/api/results" // the host's default route prefix, and the route
	// maxInvocation is far above what a timer's invocation needs.
	maxInvocation = 1 << 20
	// maxBodies bounds the memory that documents of Results take: each has up to 32 MiB, and
	// as much again several times while it is converted.
	maxBodies = 4
	// bodyTimeout bounds how long one sender may keep the others out: 32 MiB in a minute is
	// 4.5 Mbit/s, and whoever has less than that gzips.
	bodyTimeout = time.Minute
	// storeTimeout is how long storage may take to keep a document: a client gives up after 30 s.
	storeTimeout = 25 * time.Second
)

// dispatcher is what the timers need of dispatch.Dispatcher.
type dispatcher interface {
	tick.Dispatcher
	Resume(ctx context.Context) (dispatch.Report, error)
}

// ingester is what Ingest and Results need of ingest.Ingester.
type ingester interface {
	Drain(ctx context.Context) (ingest.Report, error)
	Foreign(ctx context.Context, body []byte, p ingest.Parameters) (ingest.Outcome, error)
}

// roller is what Rollup needs of rollup.Roller.
type roller interface {
	Run(ctx context.Context) (rollup.Report, error)
}

// alerter is what Rollup needs of alerts.Evaluator, beside what the roller tells it.
type alerter interface {
	Finish(ctx context.Context) error
	Report() alerts.Report
}

// compactor is what Compact needs of compact.Compactor.
type compactor interface {
	Run(ctx context.Context, s compact.Scope) (compact.Report, error)
}

// app holds the seven functions. What they work with is opened when it is first needed: the host
// waits for nothing but the port.
type app struct {
	settings settings
	now      func() time.Time
	log      *slog.Logger
	// dispatcher, ingester, roller and compactor log to the invocation's logger.
	dispatcher func(ctx context.Context, log *slog.Logger) (dispatcher, error)
	ingester   func(ctx context.Context, log *slog.Logger) (ingester, error)
	roller     func(ctx context.Context, log *slog.Logger) (roller, alerter, error)
	compactor  func(ctx context.Context, log *slog.Logger) (compactor, error)
	// bodies has room for as many documents as Results holds in memory at once.
	bodies chan struct{}
	// bodyTimeout is how long a sender may take for a document's body.
	bodyTimeout time.Duration
	// storeTimeout is how long storage may take to keep it.
	storeTimeout time.Duration
	// questions answers Query, and pages is what Dashboard serves.
	questions http.Handler
	pages     fs.FS
	// debts are slots whose sweep failed.
	debts tick.Debts
}

func newApp(s settings, now func() time.Time, log *slog.Logger) *app {
	st := &stores{settings: s, now: now, turn: make(chan struct{}, 1)}
	budget := ingest.NewBudget() // Ingest and Results run at once in one process
	return &app{
		settings: s, now: now, log: log, bodies: make(chan struct{}, maxBodies), bodyTimeout: bodyTimeout, storeTimeout: storeTimeout,
		questions: newQuestions(s, now, st), pages: web.Files(),
		dispatcher: func(ctx context.Context, log *slog.Logger) (dispatcher, error) {
			blobs, rows, err := st.get(ctx)
			if err != nil {
				return nil, err
			}
			return &dispatch.Dispatcher{Environment: s.Environment, Mailbox: blobs, Ledger: rows, Rows: rows,
				Resolver: net.DefaultResolver, Now: now, Clock: rows, Log: log, NewSeed: wire.NewSeed}, nil
		},
		ingester: func(ctx context.Context, log *slog.Logger) (ingester, error) {
			blobs, rows, err := st.get(ctx)
			if err != nil {
				return nil, err
			}
			return &ingest.Ingester{Environment: s.Environment, Inbox: blobs, Archive: blobs, Rows: rows, Ledger: rows,
				Now: now, Log: log, Budget: budget}, nil
		},
		roller: func(ctx context.Context, log *slog.Logger) (roller, alerter, error) {
			blobs, rows, err := st.get(ctx)
			if err != nil {
				return nil, nil, err
			}
			watcher := alerts.New(s.Environment, rows, blobs, now, log)
			return &rollup.Roller{Hours: rows, Profiles: rows, Watcher: watcher, Now: now, Log: log}, watcher, nil
		},
		compactor: func(ctx context.Context, log *slog.Logger) (compactor, error) {
			blobs, rows, err := st.get(ctx)
			if err != nil {
				return nil, err
			}
			return &compact.Compactor{Lake: blobs, Marks: rows, Now: now, Log: log}, nil
		},
	}
}

// handler routes the host's requests.
func (a *app) handler() *host.Mux {
	m := host.NewMux(host.Options{Log: a.log, Timeout: a.settings.Timeout, MaxBody: maxInvocation})
	m.Trigger("Sweep", a.sweep)
	m.Trigger("Ingest", a.ingest)
	m.Trigger("Rollup", a.rollup)
	m.Trigger("Compact", a.compact)
	m.HTTP("Results", resultsPath, min(a.settings.Timeout, httpTimeout), http.HandlerFunc(a.results))
	m.HTTPBelow("Query", queryPath, min(a.settings.Timeout, httpTimeout), a.questions)
	m.HTTPBelow("Dashboard", dashboardPath, min(a.settings.Timeout, httpTimeout), newDashboard(a.pages))
	return m
}

// sweep serves the Sweep timer: it plans and dispatches the slot, if there is one to serve, and
// finishes dispatches that were cut short, also when the slot's own failed. What is overdue is
// left to Ingest.
func (a *app) sweep(ctx context.Context, in *host.Invocation) error {
	timer, err := in.Timer(timerBinding)
	if err != nil {
		return err
	}
	t := tick.At(timer, a.settings.Sweep, a.now())
	if !t.MissedSince.IsZero() {
		in.Log.Warn("more slots were missed than are listed one by one", "since", t.MissedSince, "listed_from", t.Missed[0])
	}
	d, err := a.dispatcher(ctx, in.Log)
	if err != nil {
		a.debts.Owe(t)
		return err
	}
	slot := ""
	if t.Slot.IsZero() {
		in.Log.Warn("nothing is swept: the tick comes too late for every slot that was due", "missed", len(t.Missed))
	} else {
		slot = wire.SlotName(t.Slot)
	}
	swept, delivered, err := a.debts.Sweep(ctx, d, t, a.settings.Sweep, a.now())
	in.Log.Info("swept", "slot", slot, "on_demand", t.OnDemand, "missed", len(t.Missed), "sweep", swept, "deliver", delivered)
	return err
}

// ingest serves the Ingest timer, each step whatever became of the others. It makes sweeps that failed a
// moment ago and finishes dispatches first, because probers wait for them; then it empties the inbox; and then it expires what did
// not come: after a day without the app, the day's documents wait in the inbox.
func (a *app) ingest(ctx context.Context, in *host.Invocation) error {
	d, err := a.dispatcher(ctx, in.Log)
	if err != nil {
		return err
	}
	g, err := a.ingester(ctx, in.Log)
	if err != nil {
		return err
	}
	againErr := a.debts.SweepAgain(ctx, d, a.now())
	delivered, deliverErr := d.Deliver(ctx)
	drained, drainErr := g.Drain(ctx)
	resumed, resumeErr := d.Resume(ctx)
	in.Log.Info("ingested", "deliver", delivered, "drain", drained, "resume", resumed)
	return errors.Join(againErr, deliverErr, drainErr, resumeErr)
}

// rollup serves the Rollup timer: the hours whose runs have changed, and once a day the profiles; and it tells what
// in them, in the ledger and against the objectives is worth telling. What one invocation has no time for the next one does.
func (a *app) rollup(ctx context.Context, in *host.Invocation) error {
	r, watcher, err := a.roller(ctx, in.Log)
	if err != nil {
		return err
	}
	report, err := r.Run(ctx)
	alertErr := watcher.Finish(ctx)
	in.Log.Info("rolled up", "rollup", report, "alerts", watcher.Report())
	return errors.Join(err, alertErr)
}

// compact serves the Compact timer: the lake files of the days that are over and have changed, and the raw
// samples that are old enough to go. What one invocation has no time for the next one does.
func (a *app) compact(ctx context.Context, in *host.Invocation) error {
	c, err := a.compactor(ctx, in.Log)
	if err != nil {
		return err
	}
	report, err := c.Run(ctx, compact.Scope{Apply: true})
	in.Log.Info("compacted", "compact", report)
	return err
}

// stores opens storage when it is first needed, and makes what is missing there.
type stores struct {
	settings settings
	now      func() time.Time
	turn     chan struct{} // holds one: whoever opens
	blobs    *archive.Store
	rows     *tables.Store
	ready    bool
}

// get may be called at once. A failure is not remembered: the next call tries again.
func (s *stores) get(ctx context.Context) (*archive.Store, *tables.Store, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if s.ready {
		return s.blobs, s.rows, nil
	}
	var err error
	if s.blobs, err = archive.Open(s.settings.Account, s.settings.Environment); err != nil {
		return nil, nil, err
	}
	if s.rows, err = tables.Open(s.settings.Account, s.settings.Environment); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(s.blobs.Ensure(ctx), s.rows.Ensure(ctx, s.now())); err != nil {
		return nil, nil, err
	}
	s.ready = true
	return s.blobs, s.rows, nil
}
