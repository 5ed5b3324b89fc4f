package foreign

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// maxEchoes is how many replies of one document are kept one by one. Beyond it their order is given
// up, and only how often each round trip was seen is kept.
const maxEchoes = 10 * wire.MaxSamples

// What stands where a reply has no round trip.
const (
	echoUntimed  int64 = 0  // the tool told none
	echoCensored int64 = -1 // the tool told only that it is below its resolution
)

// echoBudget is what one document may still keep.
type echoBudget struct{ replies, bins int }

func newEchoBudget() *echoBudget { return &echoBudget{maxEchoes, maxEchoes} }

// echoes are the replies of one run, in the order in which they arrived.
type echoes struct {
	budget *echoBudget
	seq    []int64 // unwrapped
	rtt    []int64 // ns, or one of the constants above
	marked []bool  // the tool called it a duplicate
	bins   map[int64]int
	// What is known of all, in both forms.
	censored, marks    int
	least, most, below Quantity
	leastNS, mostNS    int64
	from, to           string // the first and the last place
	lowest, highest    int64
	mentioned          bool
}

// mention notes a sequence number that the tool told.
func (e *echoes) mention(seq int64) {
	if !e.mentioned {
		e.lowest, e.highest, e.mentioned = seq, seq, true
	}
	e.lowest, e.highest = min(e.lowest, seq), max(e.highest, seq)
}

// unwrap notes a sequence number of the 16 bits that ICMP has for it, and makes it one that grows.
func (e *echoes) unwrap(seq int64) int64 {
	const round = 1 << 16
	if e.mentioned {
		seq += e.highest - e.highest%round
		switch {
		case seq-e.highest > round/2 && seq >= round:
			seq -= round
		case e.highest-seq > round/2:
			seq += round
		}
	}
	e.mention(seq)
	return seq
}

// add takes one reply. Its round trip may be missing.
func (e *echoes) add(seq int64, duplicate bool, q Quantity) error {
	rtt := echoUntimed
	v, err := q.nanoseconds()
	if err != nil {
		return err
	}
	if v != nil {
		rtt = int64(math.Round(*v))
	}
	if err := e.put(seq, duplicate, rtt, q); err != nil || rtt != 0 || v == nil {
		return err
	}
	// No echo takes no time: the clock was set, or the tool's rounding ate it.
	return q.fault("a round trip of %.20s %s cannot be, and is left out", q.Text, q.Unit)
}

func (e *echoes) put(seq int64, duplicate bool, rtt int64, q Quantity) error {
	if e.from == "" {
		e.from = q.Where
	}
	e.to = q.Where
	if duplicate {
		e.marks++
	}
	switch {
	case rtt == echoUntimed:
	case rtt == echoCensored:
		if e.censored++; e.censored == 1 {
			e.below = q
		}
	case duplicate:
	case e.leastNS == 0:
		e.least, e.most, e.leastNS, e.mostNS = q, q, rtt, rtt
	case rtt < e.leastNS:
		e.least, e.leastNS = q, rtt
	case rtt > e.mostNS:
		e.most, e.mostNS = q, rtt
	}
	if e.bins == nil && e.budget.replies > 0 {
		e.budget.replies--
		e.seq, e.rtt, e.marked = append(e.seq, seq), append(e.rtt, rtt), append(e.marked, duplicate)
		return nil
	}
	if e.bins == nil {
		if err := e.fold(); err != nil {
			return err
		}
	}
	if duplicate {
		return nil
	}
	return e.count(rtt)
}

// fold gives up the order of the replies.
func (e *echoes) fold() error {
	e.bins = map[int64]int{}
	_, dup := e.ordered()
	for i, rtt := range e.rtt {
		if !dup[i] {
			if err := e.count(rtt); err != nil {
				return err
			}
		}
	}
	e.seq, e.rtt, e.marked = nil, nil, nil
	return nil
}

func (e *echoes) count(rtt int64) error {
	if _, ok := e.bins[rtt]; !ok {
		if e.budget.bins--; e.budget.bins < 0 {
			return &Fault{Offset: NoOffset, Reason: fmt.Sprintf("more than %d different round trips in one document: split it", maxEchoes)}
		}
	}
	e.bins[rtt]++
	return nil
}

// ordered sorts the replies as their requests were sent, and says which of them are duplicates: by the
// tool's word, or because their sequence number was there before.
func (e *echoes) ordered() (order []int, duplicate []bool) {
	order, duplicate = make([]int, len(e.seq)), make([]bool, len(e.seq))
	for i := range order {
		order[i] = i
	}
	if !slices.IsSorted(e.seq) {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(e.seq[a], e.seq[b]) })
	}
	for i, at := range order {
		duplicate[at] = e.marked[at] || i > 0 && e.seq[order[i-1]] == e.seq[at]
	}
	return order, duplicate
}

// echoCounts are what replies add up to. Reordered and duplicates are known only where the order is.
type echoCounts struct {
	received, duplicates, reordered int
	inOrder                         bool
}

// counts counts the replies; one is reordered that was overtaken by a later request's (RFC 4737,
// section 3).
func (e *echoes) counts() (c echoCounts) {
	if e.bins != nil {
		for _, n := range e.bins {
			c.received += n
		}
		c.duplicates = e.marks
		return c
	}
	c.inOrder = true
	_, duplicate := e.ordered()
	highest := int64(math.MinInt64)
	for i, seq := range e.seq {
		switch {
		case duplicate[i]:
			c.duplicates++
			continue
		case seq < highest:
			c.reordered++
		}
		c.received++
		highest = max(highest, seq)
	}
	return c
}

// unanswered counts the sequence numbers, each once, for which there is no reply.
func (e *echoes) unanswered(seqs []int64) (n int) {
	slices.Sort(seqs)
	have := slices.Clone(e.seq)
	slices.Sort(have)
	for _, seq := range slices.Compact(seqs) {
		if _, ok := slices.BinarySearch(have, seq); !ok {
			n++
		}
	}
	return n
}

// fill gives a finding the round trips, unless some are known only as below the tool's resolution:
// without those the others would not be what was measured.
func (e *echoes) fill(f *Finding) {
	if e.censored > 0 {
		e.below.Unit = "below the tool's resolution: null"
		f.explain("rtt_min_us", e.below)
		if e.mostNS > 0 {
			most := float64(e.mostNS)
			f.Summary.Max = &most
			f.explain("rtt_max_us", e.most)
		}
		return
	}
	if e.mostNS == 0 {
		return
	}
	if e.bins != nil {
		delete(e.bins, echoUntimed)
		f.Bins = binsOf(e.bins)
	} else {
		order, duplicate := e.ordered()
		for _, at := range order {
			if !duplicate[at] && e.rtt[at] > 0 {
				f.RTT = append(f.RTT, e.rtt[at])
			}
		}
	}
	f.explain("rtt_min_us", e.least)
	f.explain("rtt_mean_us", Quantity{Text: fmt.Sprintf("%d round trips", len(f.RTT)+f.Bins.Len()), Unit: e.least.Unit, Where: e.span()})
	f.explain("rtt_max_us", e.most)
}

// span is where the replies stand.
func (e *echoes) span() string {
	if e.from == e.to {
		return e.from
	}
	return e.from + " to " + e.to
}

func binsOf(counts map[int64]int) summary.Distribution {
	out := make(summary.Distribution, 0, len(counts))
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, summary.Bin{Value: v, N: counts[v]})
	}
	return out
}
