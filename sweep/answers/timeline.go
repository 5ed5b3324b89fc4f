package answers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
)

// unswept is how long after a slot its sweep may begin: a slot without a header is missed only then.
const unswept = 15 * time.Minute

// noHeader is why a slot is missed of which the ledger knows nothing.
const noHeader = "the ledger does not have the slot: app down, or its timer not due"

// pairSet is the series of one probe by one configuration.
type pairSet struct {
	probe string
	pairs []config.Pair
	runs  map[string]int // by source: so many of the pairs
}

// timelineSlot is a slot at which probes were due, and what they were to measure.
type timelineSlot struct {
	at     time.Time
	state  ledger.State // empty where the ledger has no header
	reason string       // of a missed one
	sets   []*pairSet
	// unknown: the sweep was planned from a configuration that cannot be read any more.
	unknown bool
}

// timeline finds out what was due when. Each sweep was planned from the configuration that it pinned; what
// would have been due at a slot that was missed is said by the sweep before it.
type timeline struct {
	query CoverageQuery
	pins  pinned
	sets  map[*config.Probe]*pairSet
	slots []timelineSlot
	notes []string
	gone  map[string]int // sweeps without a readable configuration, by the reason
}

// readTimeline lists the slots of the query, oldest first: those of the ledger, and those that it should have.
func readTimeline(ctx context.Context, books interface {
	Sweeps(ctx context.Context, since, until time.Time) ([]ledger.Header, error)
}, blobs Configs, environment string, q CoverageQuery, now time.Time) ([]timelineSlot, []string, error) {
	headers, err := books.Sweeps(ctx, q.Since, q.Until)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the sweeps: %w", err)
	}
	t := &timeline{query: q, pins: pinned{configs: blobs, environment: environment, known: map[string]pin{}}, sets: map[*config.Probe]*pairSet{}, gone: map[string]int{}}
	governs, running, err := t.before(ctx, books, headers)
	if err != nil {
		return nil, nil, err
	}
	from := q.Since
	if !running && len(headers) > 0 {
		from = headers[len(headers)-1].Slot // the environment's first sweep
	}
	for _, h := range slices.Backward(headers) { // oldest first
		if governs != nil {
			t.unrecorded(governs, from, h.Slot, now)
		}
		if governs, err = t.recorded(ctx, h, governs); err != nil {
			return nil, nil, err
		}
		from = h.Slot.Add(time.Minute)
	}
	if governs != nil {
		t.unrecorded(governs, from, q.Until, now)
	}
	for why, n := range t.gone {
		t.notes = append(t.notes, fmt.Sprintf("sweeps left out: %d, %s", n, why))
	}
	slices.Sort(t.notes)
	return t.slots, t.notes, nil
}

// before finds the configuration that governed when the query's time began, and whether there had been
// sweeps by then: the newest sweep before, or else the oldest within.
func (t *timeline) before(ctx context.Context, books interface {
	Sweeps(ctx context.Context, since, until time.Time) ([]ledger.Header, error)
}, within []ledger.Header) (governs *config.Config, running bool, err error) {
	var earlier []ledger.Header
	for _, window := range windows {
		if earlier, err = books.Sweeps(ctx, t.query.Since.Add(-window), t.query.Since); err != nil {
			return nil, false, fmt.Errorf("reading the sweeps before: %w", err)
		}
		running = running || len(earlier) > 0
		if slices.ContainsFunc(earlier, func(h ledger.Header) bool { return h.ConfigHash != "" }) {
			break
		}
	}
	candidates := slices.Clone(earlier) // newest first
	for _, h := range slices.Backward(within) {
		candidates = append(candidates, h)
	}
	for _, h := range candidates {
		if h.ConfigHash == "" {
			continue
		}
		found, err := t.pin(ctx, h.ConfigHash)
		if err != nil || found.config != nil {
			return found.config, running, err
		}
	}
	return nil, running, nil
}

func (t *timeline) pin(ctx context.Context, hash string) (pin, error) {
	found, ok := t.pins.known[hash]
	if ok {
		return found, nil
	}
	found, err := t.pins.read(ctx, hash)
	if err == nil {
		t.pins.known[hash] = found
	}
	return found, err
}

// recorded adds a slot that the ledger has, and returns what governs from there on.
func (t *timeline) recorded(ctx context.Context, h ledger.Header, governs *config.Config) (*config.Config, error) {
	s := timelineSlot{at: h.Slot.UTC(), state: h.State, reason: h.Reason}
	if h.State != ledger.Missed {
		found, err := t.pin(ctx, h.ConfigHash)
		if err != nil {
			return nil, err
		}
		if found.config == nil {
			t.gone[found.note]++
			s.unknown = true
			t.slots = append(t.slots, s)
			return governs, nil
		}
		governs = found.config
	}
	if governs != nil {
		for i := range governs.Probes {
			if p := &governs.Probes[i]; t.asked(p) && p.Due(s.at) {
				s.sets = append(s.sets, t.set(governs, p))
			}
		}
	}
	t.slots = append(t.slots, s)
	return governs, nil
}

// unrecorded adds the slots from from to before until at which a probe was due, and which the ledger does not have.
func (t *timeline) unrecorded(governs *config.Config, from, until, now time.Time) {
	due := map[time.Time][]*pairSet{}
	for i := range governs.Probes {
		p := &governs.Probes[i]
		if !t.asked(p) || p.Cron == nil {
			continue
		}
		for at := p.Next(from.Add(-time.Second)); !at.IsZero() && at.Before(until); at = p.Next(at) {
			slot := wire.Slot(at)
			due[slot] = append(due[slot], t.set(governs, p))
		}
	}
	begin := len(t.slots)
	for at, sets := range due {
		s := timelineSlot{at: at, state: ledger.Missed, reason: noHeader, sets: sets}
		if now.Sub(at) < unswept {
			s.state, s.reason = "", "not swept yet"
		}
		t.slots = append(t.slots, s)
	}
	slices.SortFunc(t.slots[begin:], func(a, b timelineSlot) int { return a.at.Compare(b.at) })
}

func (t *timeline) asked(p *config.Probe) bool { return t.query.Probe == "" || t.query.Probe == p.Name }

// set is the series of a probe that are asked for, made once.
func (t *timeline) set(c *config.Config, p *config.Probe) *pairSet {
	s := t.sets[p]
	if s == nil {
		s = &pairSet{probe: p.Name, runs: map[string]int{}}
		for _, pair := range c.Pairs(p) {
			if (t.query.Prober == "" || t.query.Prober == pair.Source) && (t.query.Path == "" || t.query.Path == pair.Path) {
				s.pairs = append(s.pairs, pair)
				s.runs[pair.Source]++
			}
		}
		t.sets[p] = s
	}
	return s
}
