package probe

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"isochrone/prober/wire"
)

// level is one number of outstanding requests. Times are nanoseconds since the run's beginning.
type level struct {
	outstanding int
	begin       int64
	end         atomic.Int64 // what is answered later is not counted

	mu        sync.Mutex
	histogram *hdrhistogram.Histogram
	bands     []int
	requests  int
	sum       int64
	least     int64
	most      int64
}

func newLevel(outstanding int, begin int64, duration time.Duration) *level {
	l := &level{
		outstanding: outstanding, begin: begin, histogram: wire.NewHistogram(),
		bands: make([]int, len(wire.BandEndsMS())+1), least: math.MaxInt64,
	}
	l.end.Store(begin + int64(duration))
	return l
}

// endBy ends the level at a time, unless it ends before.
func (l *level) endBy(at int64) {
	for end := l.end.Load(); at < end && !l.end.CompareAndSwap(end, at); end = l.end.Load() {
	}
}

// count counts a request that was answered at a time, and took ns. It allocates nothing.
func (l *level) count(at, ns int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at > l.end.Load() {
		return
	}
	_ = l.histogram.RecordValue(ns) // no run lasts as long as its highest value
	l.bands[wire.Band(ns)]++
	l.requests++
	l.sum += ns
	l.least, l.most = min(l.least, ns), max(l.most, ns)
}

// summary is the level's result, of transfers of size bytes.
func (l *level) summary(size int) wire.Level {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := wire.Level{Outstanding: l.outstanding, Requests: l.requests, Bands: l.bands, CountedNS: max(l.end.Load()-l.begin, 0)}
	if l.requests == 0 {
		return out
	}
	out.Bytes = int64(l.requests) * int64(size)
	out.BPS = float64(out.Bytes) * 8e9 / float64(max(out.CountedNS, 1))
	out.MinNS, out.MeanNS, out.MaxNS = l.least, l.sum/int64(l.requests), l.most
	// The histogram's values are the upper ends of its cells.
	quantile := func(percent float64) int64 {
		return min(max(l.histogram.ValueAtQuantile(percent), l.least), l.most)
	}
	out.P50NS, out.P99NS = quantile(50), quantile(99)
	return out
}
