package probe

import (
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// arrivals is what the target's own sequence numbers tell of the replies. Warm-up is left out.
type arrivals struct {
	mode    stamp.Mode
	seen    []uint64 // a bit a reply, by its sequence number less base
	base    uint32
	begun   bool
	highest uint32 // less base

	duplicates, reordered int

	// Of a third party's reflector, which counts by itself or not, and from any number.
	stateful     bool
	again        bool // a sample was answered more than once
	first, last  stamp.Pair
	repliesCount uint32
}

// beforeFirst is by how many replies the first one to come may have overtaken others, where the
// target's numbers begin anywhere.
const beforeFirst = 1024

func newArrivals(count int, mode stamp.Mode) arrivals {
	// A target answers each request three times at the most.
	return arrivals{mode: mode, seen: make([]uint64, (3*count+2*beforeFirst)/64+1)}
}

// add takes the reply to measured sample i; first says that it is the first to it.
func (a *arrivals) add(i int, r stamp.Reply, first bool) {
	a.stateful = a.stateful || r.Sequence != r.SenderSequence
	if i < 0 {
		return
	}
	if a.mode == stamp.Unauthenticated {
		a.span(r, first)
	}
	if !a.begun {
		a.begun = true
		if a.mode == stamp.Unauthenticated {
			a.base = r.Sequence - beforeFirst
		}
	}
	n := r.Sequence - a.base
	if n/64 >= uint32(len(a.seen)) {
		return // it cannot have counted so far
	}
	bit := uint64(1) << (n % 64)
	switch {
	case a.seen[n/64]&bit != 0:
		a.duplicates++
	case n < a.highest:
		a.reordered++
	}
	a.seen[n/64] |= bit
	a.highest = max(a.highest, n)
}

// span keeps the first and the last reply by the reflector's count.
func (a *arrivals) span(r stamp.Reply, first bool) {
	if !first {
		a.again = true
		return
	}
	pair := stamp.Pair{Sender: r.SenderSequence, Reflector: r.Sequence}
	if a.repliesCount == 0 || int32(pair.Reflector-a.first.Reflector) < 0 {
		a.first = pair
	}
	if a.repliesCount == 0 || int32(pair.Reflector-a.last.Reflector) > 0 {
		a.last = pair
	}
	a.repliesCount++
}

// reported writes the counts by direction, by the report that closed the session.
func (a *arrivals) reported(c *wire.Counts, report stamp.Report) {
	forward := c.Sent - int(report.Received)
	reverse := c.Lost - c.Late - forward
	if forward < 0 || reverse < 0 {
		return // packets were still on their way: nothing can be said
	}
	a.byReplies(c)
	c.LostForward, c.LostReverse = &forward, &reverse
	c.DuplicateForward = bounded(int(report.Duplicates), wire.MaxSamples)
	c.ReorderedForward = bounded(int(report.Reordered), c.Sent)
}

// counted writes the counts by direction that a third party's reflector lets be known, if it counts
// its replies. What was lost before the first reply and after the last has no direction.
func (a *arrivals) counted(c *wire.Counts) {
	if !a.stateful || a.repliesCount == 0 || a.again {
		return
	}
	forward, reverse, ok := stamp.Lost(a.first, a.last, a.repliesCount-1)
	if !ok || int(forward)+int(reverse)+c.Late > c.Lost {
		return
	}
	a.byReplies(c)
	c.LostForward, c.LostReverse = bounded(int(forward), c.Lost), bounded(int(reverse), c.Lost)
}

// byReplies writes the counts of the way back, for which the replies' own numbers are enough.
func (a *arrivals) byReplies(c *wire.Counts) {
	c.DuplicateReverse = bounded(a.duplicates, c.Duplicate)
	c.ReorderedReverse = bounded(a.reordered, c.Sent)
}

func bounded(n, most int) *int {
	n = min(n, most)
	return &n
}
