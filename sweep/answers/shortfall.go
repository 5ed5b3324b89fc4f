package answers

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"isochrone/sweep/ledger"
)

// Books is the ledger, many slots at a time. tables.Store satisfies it.
type Books interface {
	Sweeps(ctx context.Context, since, until time.Time) ([]ledger.Header, error)
	LedgerEntries
}

// Shortfall is the runs of one source that are not received, over some hours.
type Shortfall struct {
	Prober           string
	Planned, Missing int
	Why              []CoverageReason // most runs first
}

// ReadShortfalls answers which sources have runs missing of the slots from since to now. It counts by the
// ledger alone, which is quick: it does not see what became of received runs, nor into the quarantine;
// ReadCoverage does. Documents that may come in the next minutes are not missing. The probers are a Status's.
func ReadShortfalls(ctx context.Context, books Books, blobs Configs, environment string, probers []Prober, since, now time.Time) ([]Shortfall, error) {
	q := CoverageQuery{Since: since, Until: now}
	c := &counter{query: q, environment: environment, now: now, probers: byID(probers)}
	var err error
	if c.slots, _, err = readTimeline(ctx, books, blobs, environment, q, now); err != nil {
		return nil, err
	}
	if err := c.book.read(ctx, books, q, c.slots); err != nil {
		return nil, err
	}
	sums := map[string]*shortfall{}
	for i := range c.slots {
		for _, set := range c.slots[i].sets {
			for source, planned := range set.runs {
				if sums[source] == nil {
					sums[source] = &shortfall{why: map[whyKey]int{}}
				}
				sums[source].planned += planned
				c.fallsShort(sums[source], &c.slots[i], share{source, set.probe}, planned)
			}
		}
	}
	var out []Shortfall
	for source, s := range sums {
		if f := s.of(source); f.Missing > 0 {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b Shortfall) int { return strings.Compare(a.Prober, b.Prober) })
	return out, nil
}

func byID(probers []Prober) map[string]*Prober {
	out := map[string]*Prober{}
	for i := range probers {
		out[probers[i].ID] = &probers[i]
	}
	return out
}

// shortfall is a Shortfall while it is counted.
type shortfall struct {
	planned int
	why     map[whyKey]int
}

func (s *shortfall) of(source string) Shortfall {
	out := Shortfall{Prober: source, Planned: s.planned}
	for why, n := range s.why {
		out.Missing += n
		out.Why = append(out.Why, CoverageReason{why.fate, why.reason, n})
	}
	slices.SortFunc(out.Why, func(a, b CoverageReason) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Fate, b.Fate), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// fallsShort counts what one source did not deliver of one probe at one slot.
func (c *counter) fallsShort(s *shortfall, slot *timelineSlot, of share, planned int) {
	if slot.state == ledger.Missed {
		s.why[whyKey{FateMissed, slot.reason}] += planned
		return
	}
	young := c.now.Sub(slot.at) < unswept
	for _, e := range c.book.of(slot.at, of) {
		planned -= int(e.runs)
		fate, state := FateExpired, bookStates[e.state]
		if state != ledger.Expired {
			fate = FateOpen
		}
		if state == ledger.Received || fate == FateOpen && young {
			continue
		}
		s.why[whyKey{fate, c.because(c.book.reasons[e.reason], state, of.source, slot.at, "")}] += int(e.runs)
	}
	if planned > 0 && !young {
		s.why[whyKey{FateLost, lostEntry}] += planned
	}
}
