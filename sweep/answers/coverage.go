package answers

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/tables"
)

// CoverageRows is what a coverage needs of the tables. tables.Store satisfies it.
type CoverageRows interface {
	Books
	// Outcomes are in the order of source, target, path and probe, and newest first within a series.
	Outcomes(ctx context.Context, q tables.RunQuery) iter.Seq2[tables.Row, error]
	SeenProbers
}

// CoverageBlobs is what a coverage needs of the blobs. archive.Store satisfies it.
type CoverageBlobs interface {
	Configs
	Registrations
	Quarantined(ctx context.Context, since time.Time, prefix string) iter.Seq2[archive.Held, error]
}

// CoverageQuery asks what became of the runs that were planned. Empty names stand for all.
type CoverageQuery struct {
	Prober, Path, Probe string
	// Since and Until bound the slots: Since <= slot < Until. Slots that are not past yet are left out.
	Since, Until time.Time
	// ByDay counts by day instead of by hour, both of UTC.
	ByDay bool
}

// Fate is what became of a planned run.
type Fate string

// The fates. Every planned run has exactly one.
const (
	FateMeasured Fate = "measured" // its row has figures
	FateFailed   Fate = "failed"   // its row has a failure code
	FateExpired  Fate = "expired"  // no document came in time: its row says so
	FateMissed   Fate = "missed"   // nobody swept its slot
	FateOpen     Fate = "open"     // its document is awaited
	FateLost     Fate = "lost"     // its row is not what the ledger says: a fault of ours
	// FateUnplanned stands with the reasons for rows that no sweep planned.
	FateUnplanned Fate = "unplanned"
)

// Coverage is what became of the planned runs, by prober and time.
type Coverage struct {
	Rows []CoverageRow // by time, and by prober within it
	// Notes say what could not be counted; without them everything is.
	Notes []string
	// Simulated says that a model made up one of the runs at least.
	Simulated bool
}

// CoverageRow counts the runs of one source in one hour or day.
type CoverageRow struct {
	Prober string
	From   time.Time // the hour's or the day's beginning, UTC
	// Planned is counted from the pinned configurations alone, the six from rows and ledger: that they are
	// Planned together is checked by AddsUp.
	Planned                                       int
	Measured, Failed, Expired, Missed, Open, Lost int
	// Unplanned are rows that no sweep planned: a fault of ours too.
	Unplanned int
	Why       []CoverageReason // of all that is not measured, most runs first
}

// CoverageReason is why runs have a fate: of failed ones the failure code.
type CoverageReason struct {
	Fate   Fate
	Reason string
	Runs   int
}

// AddsUp says whether every planned run is accounted for once, and nothing else is there.
func (r *CoverageRow) AddsUp() bool {
	return r.Planned == r.Measured+r.Failed+r.Expired+r.Missed+r.Open+r.Lost && r.Lost == 0 && r.Unplanned == 0
}

// add is one more run with a fate.
func (r *CoverageRow) add(fate Fate, n int) {
	switch fate {
	case FateMeasured:
		r.Measured += n
	case FateFailed:
		r.Failed += n
	case FateExpired:
		r.Expired += n
	case FateMissed:
		r.Missed += n
	case FateOpen:
		r.Open += n
	case FateLost:
		r.Lost += n
	}
}

// ReadCoverage answers the query. Nothing is kept of a run but its share in a count: memory grows by some
// bytes an assignment, by some hundred a series, and by the rows of the answer.
//
// The ledger is read before the rows. A run's row is written before its entry is final, so an entry that
// is final has its row, whoever writes meanwhile.
func ReadCoverage(ctx context.Context, rows CoverageRows, blobs CoverageBlobs, environment string, q CoverageQuery, now time.Time) (*Coverage, error) {
	if q.Until.After(now) {
		q.Until = now
	}
	c := &counter{query: q, environment: environment, now: now, tallies: map[tallyKey]*tally{}}
	var err error
	if c.slots, c.notes, err = readTimeline(ctx, rows, blobs, environment, q, now); err != nil {
		return nil, err
	}
	if err := c.book.read(ctx, rows, q, c.slots); err != nil {
		return nil, err
	}
	if err := c.readReasons(ctx, rows, blobs); err != nil {
		return nil, err
	}
	c.countPlanned()
	if err := c.join(rows.Outcomes(ctx, tables.RunQuery{Source: q.Prober, Path: q.Path, Probe: q.Probe, Since: q.Since, Until: q.Until})); err != nil {
		return nil, fmt.Errorf("reading what became of the runs: %w", err)
	}
	return c.answer(), nil
}

// readReasons reads what may be why a document is not there: its prober's silence, or that it was refused.
func (c *counter) readReasons(ctx context.Context, rows CoverageRows, blobs CoverageBlobs) error {
	probers, err := statusProbers(ctx, rows, blobs, c.environment, c.now)
	if err != nil {
		return err
	}
	c.probers = byID(probers)
	c.refused, err = readRefused(ctx, blobs, c.query.Since)
	return err
}

// maxRefused bounds how many refused documents are remembered; of more the newest.
const maxRefused = 100_000

// readRefused reads why documents of assignments lie in quarantine, by the assignment's id.
func readRefused(ctx context.Context, blobs CoverageBlobs, since time.Time) (map[string]string, error) {
	out := map[string]string{}
	for h, err := range blobs.Quarantined(ctx, since, "") {
		if err != nil {
			return nil, fmt.Errorf("reading the quarantine: %w", err)
		}
		prober, file, ok := strings.Cut(h.Why.Origin, "/")
		if !ok || prober == "_http" {
			continue
		}
		parts := strings.Split(file, "_") // <HHmm>_<assignment>_<attempt>.json.gz
		if len(parts) != 3 {
			continue
		}
		// A body that was refused as a conflict is a second one: the first was taken.
		if out[parts[1]] = "its document is in quarantine (" + h.Why.Stage + ")"; len(out) == maxRefused {
			break
		}
	}
	return out, nil
}

// answer is the tallies in order.
func (c *counter) answer() *Coverage {
	out := &Coverage{Notes: c.notes, Simulated: c.simulated}
	for _, t := range c.tallies {
		for why, n := range t.why {
			t.row.Why = append(t.row.Why, CoverageReason{why.fate, why.reason, n})
		}
		slices.SortFunc(t.row.Why, func(a, b CoverageReason) int {
			return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Fate, b.Fate), cmp.Compare(a.Reason, b.Reason))
		})
		out.Rows = append(out.Rows, t.row)
	}
	slices.SortFunc(out.Rows, func(a, b CoverageRow) int {
		return cmp.Or(a.From.Compare(b.From), strings.Compare(a.Prober, b.Prober))
	})
	return out
}

// isForeign says whether a row is of a document that nobody planned.
func isForeign(r *tables.Row) bool { return strings.HasPrefix(r.Series.Probe, wire.ForeignPrefix) }
