package reflect

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"isochrone/prober/wire"
)

// maxTakings is of how many messages the times are kept. Of a longer stream it is every second, fourth
// and so on: the memory stays the same, and quantiles of so many hardly differ.
const maxTakings = 1 << 16

// takings is a sink's account of a stream.
type takings struct {
	spec wire.Spec

	mu    sync.Mutex
	begin int64 // when the first message is due; 0: not yet said
	step  int   // of which messages the time is kept: 1, 2, 4 …
	at    []int64
	taken int
	first int64
	last  int64
	// counts are by wire.StreamInterval since begin.
	counts []int64
}

func newTakings(spec wire.Spec) *takings {
	t := &takings{spec: spec, step: 1}
	for spec.Bulk.Messages/t.step > maxTakings {
		t.step *= 2
	}
	t.at = make([]int64, 0, spec.Bulk.Messages/t.step+1)
	intervals := int64(spec.Span()+bulkMargin)/int64(wire.StreamInterval) + 1
	t.counts = make([]int64, min(intervals, wire.MaxFlowIntervals))
	return t
}

// take notes that message n, the next, was taken.
func (t *takings) take(n int, now int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begin == 0 {
		return errors.New("taking a message: the source has not said when the stream begins")
	}
	if n == 0 {
		t.first = now
	}
	if n%t.step == 0 {
		t.at = append(t.at, now)
	}
	t.last, t.taken = now, n+1
	interval := max(now-t.begin, 0) / int64(wire.StreamInterval)
	t.counts[min(interval, int64(len(t.counts)-1))]++
	return nil
}

// answer answers a question that came now.
func (t *takings) answer(q wire.StreamAsk, now int64) (wire.StreamAnswer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := wire.StreamAnswer{NowNS: now, Taken: t.taken}
	switch q.Ask {
	case wire.StreamClock, wire.StreamCount:
	case wire.StreamBegin:
		if t.begin != 0 || q.BeginNS <= 0 || q.BeginNS > now+int64(bulkMargin) {
			return a, fmt.Errorf("the stream begins at %d, and it is %d: want it once, and soon", q.BeginNS, now)
		}
		t.begin = q.BeginNS
	case wire.StreamEnd:
		if err := q.Drift.Validate(); err != nil {
			return a, err
		}
		if q.Made < t.taken || q.Made > t.spec.Bulk.Messages {
			return a, fmt.Errorf("%d messages made: want at least the %d taken, and at most %d", q.Made, t.taken, t.spec.Bulk.Messages)
		}
		if t.taken > 0 {
			a.Taking = t.sum(q.Drift, q.Made)
		}
	default:
		return a, fmt.Errorf("question %q: want clock, begin, count or end", wire.CutDetail(string(q.Ask)))
	}
	return a, nil
}

// sum is the account of what was taken of the messages that were made. t.mu is held.
func (t *takings) sum(drift wire.Drift, made int) *wire.StreamTaking {
	b := t.spec.Bulk
	out := &wire.StreamTaking{FirstNS: t.first, LastNS: t.last}
	since := func(at int64) int64 { return at - t.begin - drift.At(at) } // by the source's clock
	delays := make([]int64, len(t.at))
	for i, at := range t.at {
		n, after := i*t.step, since(at)
		delays[i] = after - int64(wire.MessageDue(n, b.MessageRate))
		out.MaxBacklog = max(out.MaxBacklog, wire.MessagesDue(time.Duration(after), b.MessageRate, made)-n)
	}
	out.DelayLastNS = since(t.last) - int64(wire.MessageDue(t.taken-1, b.MessageRate))
	slices.Sort(delays)
	out.DelayP50NS, out.DelayP99NS = rank(delays, 0.5), rank(delays, 0.99)
	used := 0
	for i, n := range t.counts {
		if n > 0 {
			used = i + 1
		}
	}
	out.Intervals = slices.Clone(wire.Column(t.counts[:used]))
	return out
}

// rank is the smallest value that at least that part of the values, which are sorted, does not exceed.
func rank(sorted []int64, part float64) int64 {
	return sorted[max(int(math.Ceil(part*float64(len(sorted)))), 1)-1]
}
