package answers

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"isochrone/sweep/ledger"
)

// LedgerEntries is where the ledger's entries are read many slots at a time, oldest slot first. tables.Store
// satisfies it.
type LedgerEntries interface {
	Entries(ctx context.Context, source string, since, until time.Time) iter.Seq2[ledger.Entry, error]
}

// book is the ledger's entries of the slots, small: a month of 60 probers has a million of them.
type book struct {
	slots   map[int64][]bookEntry // by the slot's Unix time; in the order of share and part
	shares  map[share]uint32
	reasons []string
	known   map[string]uint16
}

// bookEntry is what is kept of one entry.
type bookEntry struct {
	share  uint32
	part   int32
	runs   int32
	reason uint16 // in reasons
	state  uint8  // in bookStates
}

var bookStates = []ledger.State{"", ledger.Planned, ledger.Dispatched, ledger.Received, ledger.Expired}

func (b *book) read(ctx context.Context, rows LedgerEntries, q CoverageQuery, slots []timelineSlot) error {
	b.slots, b.shares, b.known = map[int64][]bookEntry{}, map[share]uint32{}, map[string]uint16{}
	wanted := map[int64]bool{}
	for i := range slots {
		wanted[slots[i].at.Unix()] = true
	}
	for e, err := range rows.Entries(ctx, q.Prober, q.Since, q.Until) {
		if err != nil {
			return fmt.Errorf("reading the ledger: %w", err)
		}
		if at := e.Slot.Unix(); wanted[at] && (q.Probe == "" || q.Probe == e.Key.Probe) {
			b.slots[at] = append(b.slots[at], b.entry(&e))
		}
	}
	for _, es := range b.slots {
		slices.SortFunc(es, func(x, y bookEntry) int {
			if x.share != y.share {
				return int(x.share) - int(y.share)
			}
			return int(x.part) - int(y.part)
		})
	}
	return nil
}

func (b *book) entry(e *ledger.Entry) bookEntry {
	of := share{e.Key.Source, e.Key.Probe}
	number, ok := b.shares[of]
	if !ok {
		number = uint32(len(b.shares))
		b.shares[of] = number
	}
	return bookEntry{share: number, part: int32(e.Key.Part), runs: int32(e.Runs), reason: b.reason(reason(*e)), state: uint8(max(slices.Index(bookStates, e.State), 0))}
}

// reason keeps a text once. There are few: they are ours. Should there be very many, the rest share one.
func (b *book) reason(text string) uint16 {
	number, ok := b.known[text]
	if !ok {
		if len(b.reasons) == math.MaxUint16 {
			return math.MaxUint16 - 1
		}
		number = uint16(len(b.reasons))
		b.known[text], b.reasons = number, append(b.reasons, text)
	}
	return number
}

// of is the entries of a share at a slot.
func (b *book) of(slot time.Time, of share) []bookEntry {
	number, ok := b.shares[of]
	if !ok {
		return nil
	}
	es := b.slots[slot.Unix()]
	first, _ := slices.BinarySearchFunc(es, number, func(e bookEntry, n uint32) int { return int(e.share) - int(n) })
	last := first
	for last < len(es) && es[last].share == number {
		last++
	}
	return es[first:last]
}

// part finds one of a share's entries.
func part(es []bookEntry, number int) (bookEntry, bool) {
	i := slices.IndexFunc(es, func(e bookEntry) bool { return int(e.part) == number })
	if i < 0 {
		return bookEntry{}, false
	}
	return es[i], true
}
