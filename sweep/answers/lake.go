package answers

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/tables"
)

// Lake is where the samples of whole days lie, in files that are read by ranges. archive.Store satisfies it.
type Lake interface {
	LakeFiles(ctx context.Context, source, probe string, since, until time.Time) ([]archive.LakeBlob, error)
	ReadTrips(ctx context.Context, b archive.LakeBlob, target, path string) (archive.LakeTrips, error)
}

// LakeHours makes hours of the samples of one series in the lake, in the place of those that rollup made of its
// runs: their quantiles are exact. The lake does not say which runs were degraded, and of simulated ones only in which
// file some are; today is not in it yet. It is not for several questions at once.
type LakeHours struct {
	From Lake
	// Read grows while hours are read.
	Read LakeRead
}

// LakeRead is how much of the lake was read for an answer.
type LakeRead struct {
	Files      int
	Groups, Of int // row groups: those read, and those that the files have
	Foreign    int // of those read: that turned out to hold no row of the pair
	Requests   int
	Read, Size int64 // bytes: those read, and those that the files have
}

// filesAtOnce is how many lake files are read at a time, and whose samples are in memory.
const filesAtOnce = 8

// Hours reads hours as tables.Store does: newest first. A series must be named.
func (l *LakeHours) Hours(ctx context.Context, q tables.HourQuery) iter.Seq2[tables.Hour, error] {
	return func(yield func(tables.Hour, error) bool) {
		files, err := l.From.LakeFiles(ctx, q.Source, q.Probe, q.Since, q.Until)
		if err != nil {
			yield(tables.Hour{}, err)
			return
		}
		ctx, stop := context.WithCancel(ctx)
		var under sync.WaitGroup
		defer under.Wait()
		defer stop()
		results := make([]chan fileTrips, len(files))
		start := func(i int) {
			if i >= len(files) {
				return
			}
			results[i] = make(chan fileTrips, 1)
			under.Go(func() {
				t, err := l.From.ReadTrips(ctx, files[i], q.Target, q.Path)
				results[i] <- fileTrips{t, err}
			})
		}
		for i := range filesAtOnce {
			start(i)
		}
		for i, b := range files {
			got := <-results[i]
			results[i] = nil // a year's samples are not held
			if got.err != nil {
				yield(tables.Hour{}, got.err)
				return
			}
			start(i + filesAtOnce) // so that at most so many are read or wait to be taken
			l.Read.add(&got.trips)
			hours, err := hoursOfTrips(&got.trips, q)
			if err != nil {
				yield(tables.Hour{}, fmt.Errorf("reading %q: %w", b.Name, err))
				return
			}
			for _, h := range hours {
				if !yield(h, nil) {
					return
				}
			}
		}
	}
}

// fileTrips is what reading a file gave.
type fileTrips struct {
	trips archive.LakeTrips
	err   error
}

func (r *LakeRead) add(t *archive.LakeTrips) {
	r.Files++
	r.Groups, r.Of = r.Groups+t.Groups, r.Of+t.Of
	r.Foreign, r.Requests = r.Foreign+t.Foreign, r.Requests+t.Requests
	r.Read, r.Size = r.Read+t.Read, r.Size+t.Size
}

// hoursOfTrips are the hours of a file's samples, newest first.
func hoursOfTrips(t *archive.LakeTrips, q tables.HourQuery) (out []tables.Hour, err error) {
	byHour := map[int64][]int{} // places of the samples
	for i, slot := range t.Slots {
		hour := slot / int64(time.Hour/time.Microsecond)
		byHour[hour] = append(byHour[hour], i)
	}
	for hour, places := range byHour {
		begin := time.UnixMicro(hour * int64(time.Hour/time.Microsecond)).UTC()
		if begin.Before(q.Since) || !begin.Before(q.Until) {
			continue
		}
		h, err := hourOfTrips(t, places, begin)
		if err != nil {
			return nil, err
		}
		if t.Simulated {
			h.Simulated = h.Runs
		}
		h.Series = wire.Series{Source: q.Source, Target: q.Target, Path: q.Path, Probe: q.Probe}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b tables.Hour) int { return b.Begin.Compare(a.Begin) })
	return out, nil
}

func hourOfTrips(t *archive.LakeTrips, places []int, begin time.Time) (tables.Hour, error) {
	slots := map[int64]bool{}
	trips := make([]int64, 0, len(places))
	for _, i := range places {
		slots[t.Slots[i]] = true
		if rtt := t.RTTNS[i]; rtt != wire.Null {
			trips = append(trips, rtt)
		}
	}
	n := len(trips)
	h := tables.Hour{Begin: begin, Runs: len(slots), Counts: tables.HourCounts{Received: &n}}
	if n == 0 {
		return h, nil
	}
	text, over, err := wire.EncodeHistogram(trips)
	if err != nil {
		return h, err
	}
	if over == 0 { // or the histogram does not hold all of them
		h.Histogram = text
	}
	slices.Sort(trips)
	us := func(i int) *float64 {
		v := float64(trips[i]) / 1000
		return &v
	}
	h.RTT.MinUS, h.RTT.MaxUS = us(0), us(n-1)
	for p, into := range map[float64]**float64{0.5: &h.RTT.P50US, 0.9: &h.RTT.P90US, 0.95: &h.RTT.P95US, 0.99: &h.RTT.P99US, 0.999: &h.RTT.P999US} {
		if rank := rankOf(p, n); rank > 0 {
			*into = us(rank - 1)
		}
	}
	return h, nil
}

// rankOf is the nearest rank of a quantile, 0 where fewer than ten values lie above it.
func rankOf(p float64, n int) int {
	const slack = 1e-9 // 1000 × (1 − 0.99) is a little under 10 in floating point
	if float64(n)*(1-p) < 10-slack {
		return 0
	}
	return max(int(math.Ceil(float64(n)*p-slack)), 1)
}
