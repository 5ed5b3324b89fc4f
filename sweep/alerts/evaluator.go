package alerts

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"isochrone/sweep/answers"
	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// Rows is where alerts lie, and what they are made of (tables.Store). All may be called at once, from several
// processes; a call that fails may have been carried out all the same, and may be made again.
type Rows interface {
	// LevelsOf reads the levels of a source's series.
	LevelsOf(ctx context.Context, source string) iter.Seq2[*tables.SeriesLevels, error]
	// WriteLevels changes levels; the error has tables.ErrChanged in its chain where a row is not as read.
	WriteLevels(ctx context.Context, ls []*tables.SeriesLevels) error
	// Hours reads hours, newest first within a series.
	Hours(ctx context.Context, q tables.HourQuery) iter.Seq2[tables.Hour, error]
	// Sweeps and Entries read the ledger.
	Sweeps(ctx context.Context, since, until time.Time) ([]ledger.Header, error)
	Entries(ctx context.Context, source string, since, until time.Time) iter.Seq2[ledger.Entry, error]
	// Claims lists the alerts that last.
	Claims(ctx context.Context) ([]tables.Claim, error)
	// Claim puts a claim in the place of the one that was read, or of none; mine is false where another's is there.
	Claim(ctx context.Context, was *tables.Claim, is tables.Claim) (mine bool, err error)
	// ReleaseClaim takes a claim away if it is still that one.
	ReleaseClaim(ctx context.Context, c tables.Claim) error
	// PutAlert writes an alert's row where there is none; over says that there is one that has ended.
	PutAlert(ctx context.Context, a tables.Alert) (over bool, err error)
	// EndAlert notes in an alert's row that it is over.
	EndAlert(ctx context.Context, a tables.Alert) error
	// Alerts reads alerts, newest first within a kind.
	Alerts(ctx context.Context, q tables.AlertQuery) iter.Seq2[tables.Alert, error]
}

// Configs is where the environment's configuration lies (archive.Store).
type Configs interface {
	Config(ctx context.Context) (body []byte, found bool, err error)
}

// Evaluator finds alerts and tells them during one invocation. Watch may be called at once.
type Evaluator struct {
	Environment string
	Rows        Rows
	Configs     Configs
	Now         func() time.Time
	Log         *slog.Logger
	// ChangesIn finds where a series got another level, from the medians and the smallest round trips of its hours;
	// without it nobody looks.
	ChangesIn func(p50, minima []trend.Point) []answers.Change
	// DryRun finds and tells nobody: Findings has what would be told.
	DryRun bool

	// turns has a lock a source: windows of one source are told of at once, and its series are judged by one of them
	// at a time, or both would find the same.
	turns    sync.Map
	lock     sync.Mutex
	begun    bool
	owner    string
	config   *config.Config // nil where there is none that can be used
	alerts   config.Alerts
	zones    map[string]*time.Location // of the probers
	claims   map[key]tables.Claim
	changes  map[string][]told // by series, of the last days
	report   Report
	findings []Finding
}

type key struct {
	kind    tables.AlertKind
	subject string
}

// told is a change that an alert was raised for.
type told struct {
	at   time.Time
	rise bool
}

// Finding is what would be told.
type Finding struct {
	tables.Alert
	State string // raised, lasts or ends
}

// The states of a finding.
const (
	StateRaised = "raised"
	StateLasts  = "lasts"
	StateEnds   = "ends"
)

// Report says what was done.
type Report struct {
	Series   int // that had new hours
	Read     int // of these, those whose four weeks of hours were read
	Waiting  int // those that are not watched yet, because theirs were not read
	Searched int // those that were searched for changes
	Raised   int // alerts
	Ended    int
	Lasting  int // alerts that are open now
}

// LogValue implements slog.LogValuer.
func (r Report) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("series", r.Series), slog.Int("read", r.Read), slog.Int("waiting", r.Waiting), slog.Int("searched", r.Searched),
		slog.Int("raised", r.Raised), slog.Int("ended", r.Ended), slog.Int("lasting", r.Lasting))
}

// Findings are what a dry run found, in no order.
func (e *Evaluator) Findings() []Finding {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.findings
}

// Report is what was done so far.
func (e *Evaluator) Report() Report {
	e.lock.Lock()
	defer e.lock.Unlock()
	r := e.report
	r.Lasting = len(e.claims)
	return r
}

// turn waits for the source, and returns what ends the turn.
func (e *Evaluator) turn(source string) func() {
	lock, _ := e.turns.LoadOrStore(source, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	return lock.(*sync.Mutex).Unlock
}

func (e *Evaluator) count(what func(*Report)) {
	e.lock.Lock()
	defer e.lock.Unlock()
	what(&e.report)
}

// ending says whether less than so much is left of the invocation's time: nothing that can wait is begun then.
func ending(ctx context.Context, reserve time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(deadline) < reserve
}

// begin reads what all that follows rests on, once. Claims are read before anything that they are held
// against: a claim that somebody makes later is found when it is to be made.
func (e *Evaluator) begin(ctx context.Context) error {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.begun {
		return nil
	}
	claims, err := e.Rows.Claims(ctx)
	if err != nil {
		return err
	}
	e.claims = map[key]tables.Claim{}
	for _, c := range claims {
		e.claims[key{c.Kind, c.Subject}] = c
	}
	e.changes = map[string][]told{}
	for a, err := range e.Rows.Alerts(ctx, tables.AlertQuery{Kind: tables.AlertChange, Since: e.Now().Add(-changeMemory)}) {
		if err != nil {
			return err
		}
		if a.BeforeUS != nil && a.AfterUS != nil {
			e.changes[a.Subject] = append(e.changes[a.Subject], told{a.Since, *a.AfterUS > *a.BeforeUS})
		}
	}
	if err := e.configure(ctx); err != nil {
		return err
	}
	e.owner = rand.Text()
	e.begun = true
	return nil
}

// configure reads what sweep.yaml says. Without one that can be used the defaults hold: it may be that
// somebody is about to correct it.
func (e *Evaluator) configure(ctx context.Context) error {
	e.alerts, e.config, e.zones = config.DefaultAlerts(), nil, map[string]*time.Location{}
	body, found, err := e.Configs.Config(ctx)
	if err != nil {
		return fmt.Errorf("reading what is worth an alert: %w", err)
	}
	if !found {
		return nil
	}
	c, err := config.Parse(body)
	if err != nil {
		e.Log.Warn("the configuration cannot be used: alerts go by the defaults, and no objective is looked at", "error", err)
		return nil
	}
	e.config, e.alerts = c, c.Alerts
	e.zones = zonesOf(c)
	return nil
}

// New makes an Evaluator for one invocation.
func New(environment string, rows Rows, configs Configs, now func() time.Time, log *slog.Logger) *Evaluator {
	return &Evaluator{Environment: environment, Rows: rows, Configs: configs, Now: now, Log: log, ChangesIn: answers.ChangesIn}
}
