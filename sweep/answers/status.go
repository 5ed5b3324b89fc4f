package answers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
)

// Ledger is where sweeps are kept account of. tables.Store satisfies it. Both may be read while
// a sweep is being written: an entry seen is true, one not seen may come.
type Ledger interface {
	Sweeps(ctx context.Context, since, until time.Time) ([]ledger.Header, error)
	Sweep(ctx context.Context, slot time.Time) (ledger.Header, []ledger.Entry, bool, error)
	SeenProbers
}

// StatusBlobs is what a status needs of the blobs. archive.Store satisfies it.
type StatusBlobs interface {
	Configs
	Registrations
}

// Status is how the last sweeps went, and which probers live now.
type Status struct {
	Sweeps  []Sweep  // newest first
	Probers []Prober // those of the configuration in its order, then the others
}

// Sweep is how one sweep went.
type Sweep struct {
	Slot       time.Time
	State      ledger.State
	ConfigHash string // of the pinned configuration; empty for a missed slot
	Reason     string // why the slot was missed
	Simulated  bool   // nobody swept: a model made the sweep up
	// Runs counts the runs; nil for a missed slot, for which nothing was planned.
	Runs *Tally
	// Note says why Runs rests on less than the pinned configuration; empty when it does not.
	Note string
	// Gaps are the runs that are not received, by source and reason.
	Gaps []Gap
}

// Tally counts a sweep's runs: Planned is Received plus Missing.
type Tally struct{ Planned, Received, Missing int }

// Gap is the runs of one source that are missing for one reason.
type Gap struct {
	Source string
	// State of the assignments: planned, dispatched or expired; empty when the ledger has none.
	State  ledger.State
	Reason string // for people
	Runs   int
	Probes []string
}

// windows are how far back ReadStatus looks, step by step, until it has enough sweeps.
var windows = []time.Duration{2 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 62 * 24 * time.Hour}

// ReadStatus answers how the last sweeps up to now went, missed slots included. It looks back
// 62 days at the most. What was planned comes from each sweep's pinned configuration and not
// from its plan, which holds the seed of the session keys and is the app's alone to read.
//
// A gap for which nobody has given a reason names the silence of its source where it is silent.
func ReadStatus(ctx context.Context, books Ledger, blobs StatusBlobs, environment string, last int, now time.Time) (*Status, error) {
	headers, err := lastHeaders(ctx, books, last, now)
	if err != nil {
		return nil, err
	}
	out := &Status{}
	if out.Probers, err = statusProbers(ctx, books, blobs, environment, now); err != nil {
		return nil, err
	}
	pins := pinned{configs: blobs, environment: environment, known: map[string]pin{}}
	for _, h := range headers {
		s := Sweep{Slot: h.Slot, State: h.State, ConfigHash: h.ConfigHash, Reason: h.Reason, Simulated: h.Simulated}
		if h.State != ledger.Missed {
			if err := s.count(ctx, books, &pins); err != nil {
				return nil, err
			}
			s.explain(out.Probers)
		}
		out.Sweeps = append(out.Sweeps, s)
	}
	return out, nil
}

// statusProbers reads the probers against the configuration that the environment runs on. Without
// a usable one the status still says what is known of them.
func statusProbers(ctx context.Context, books SeenProbers, blobs StatusBlobs, environment string, now time.Time) ([]Prober, error) {
	body, found, err := blobs.Config(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of environment %q: %w", environment, err)
	}
	var c *config.Config
	if found {
		if c, err = parseFor(environment, body); err != nil {
			c = nil // "sweep config show" and "sweep matrix" say what is wrong with it
		}
	}
	return ReadProbers(ctx, books, blobs, c, environment, now)
}

func lastHeaders(ctx context.Context, books Ledger, last int, now time.Time) (headers []ledger.Header, err error) {
	// A sweep's slot may lie a little after now, by the app's clock.
	until := now.Add(10 * time.Minute)
	for _, window := range windows {
		headers, err = books.Sweeps(ctx, now.Add(-window), until)
		if err != nil {
			return nil, fmt.Errorf("reading the last sweeps: %w", err)
		}
		if len(headers) >= last {
			break
		}
	}
	slices.SortFunc(headers, func(a, b ledger.Header) int { return b.Slot.Compare(a.Slot) })
	return headers[:min(last, len(headers))], nil
}

// share is what one source makes of one probe.
type share struct{ source, probe string }

func (s *Sweep) count(ctx context.Context, books Ledger, pins *pinned) error {
	header, entries, found, err := books.Sweep(ctx, s.Slot)
	if err != nil {
		return fmt.Errorf("reading the sweep of slot %s: %w", s.Slot.Format(time.RFC3339), err)
	}
	if found && header.State != "" { // read together with the entries, so the two agree
		s.State, s.ConfigHash = header.State, header.ConfigHash
	}
	planned, note, err := pins.planned(ctx, s.ConfigHash, s.Slot)
	if err != nil {
		return err
	}
	if s.Note = note; note != "" {
		planned = map[share]int{}
		for _, e := range entries {
			planned[share{e.Key.Source, e.Key.Probe}] += e.Runs
		}
	}
	s.Runs = &Tally{}
	for _, n := range planned {
		s.Runs.Planned += n
	}
	gaps := newGaps()
	for _, e := range entries {
		of := share{e.Key.Source, e.Key.Probe}
		if e.State == ledger.Received {
			s.Runs.Received += e.Runs
		} else {
			gaps.add(of, e.State, reason(e), e.Runs)
		}
		planned[of] -= e.Runs
	}
	for of, left := range planned {
		if left > 0 {
			gaps.add(of, "", "not in the ledger: the sweep was not planned to its end", left)
		}
	}
	s.Runs.Missing = s.Runs.Planned - s.Runs.Received
	s.Gaps = gaps.sorted()
	return nil
}

func reason(e ledger.Entry) string {
	if e.Error != "" {
		return e.Error
	}
	return noReason(e.State)
}

// gaps collects missing runs by source, state and reason.
type gaps map[gapKey]*Gap

type gapKey struct {
	source string
	state  ledger.State
	reason string
}

func newGaps() gaps { return gaps{} }

func (g gaps) add(of share, state ledger.State, reason string, runs int) {
	key := gapKey{of.source, state, reason}
	gap := g[key]
	if gap == nil {
		gap = &Gap{Source: of.source, State: state, Reason: reason}
		g[key] = gap
	}
	gap.Runs += runs
	if !slices.Contains(gap.Probes, of.probe) {
		gap.Probes = append(gap.Probes, of.probe)
	}
}

func (g gaps) sorted() []Gap {
	out := make([]Gap, 0, len(g))
	for _, gap := range g {
		slices.Sort(gap.Probes)
		out = append(out, *gap)
	}
	slices.SortFunc(out, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.State, b.State), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// pinned reads each pinned configuration once.
type pinned struct {
	configs     Configs
	environment string
	known       map[string]pin
}

type pin struct {
	config *config.Config
	note   string
}

// planned counts the runs that the pinned configuration gives each source and probe at a slot.
// The note says why it cannot; only a failing store is an error.
func (p *pinned) planned(ctx context.Context, hash string, slot time.Time) (map[share]int, string, error) {
	found, ok := p.known[hash]
	if !ok {
		var err error
		if found, err = p.read(ctx, hash); err != nil {
			return nil, "", err
		}
		p.known[hash] = found
	}
	if found.note != "" {
		return nil, found.note, nil
	}
	made, err := planned(found.config, slot, 0)
	if err != nil {
		return nil, "counted from the ledger alone: " + err.Error(), nil
	}
	runs := map[share]int{}
	for i := range made.Assignments {
		a := &made.Assignments[i]
		runs[share{a.Source, a.Probe}] += len(a.Runs)
	}
	return runs, "", nil
}

func (p *pinned) read(ctx context.Context, hash string) (pin, error) {
	if hash == "" {
		return pin{note: "counted from the ledger alone: the sweep names no configuration"}, nil
	}
	body, found, err := p.configs.PinnedConfig(ctx, hash)
	if err != nil {
		return pin{}, fmt.Errorf("reading the pinned configuration %q: %w", hash, err)
	}
	if !found {
		return pin{note: fmt.Sprintf("counted from the ledger alone: the pinned configuration %.12s is gone", hash)}, nil
	}
	c, err := parseFor(p.environment, body)
	if err != nil {
		return pin{note: "counted from the ledger alone: " + err.Error()}, nil
	}
	return pin{config: c}, nil
}
