package answers

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/tables"
)

var _ Lake = (*archive.Store)(nil)

// lakeOf is a lake of some days, newest first, each with the same samples of a pair: a run every ten minutes with 99
// round trips from 80 ms on and one that was lost.
type lakeOf struct {
	first time.Time
	days  int
	err   error
}

func (l lakeOf) LakeFiles(_ context.Context, _, _ string, since, until time.Time) (out []archive.LakeBlob, _ error) {
	for i := l.days - 1; i >= 0; i-- {
		day := l.first.AddDate(0, 0, i)
		if !day.AddDate(0, 0, 1).After(since) || !day.Before(until) {
			continue
		}
		out = append(out, archive.LakeBlob{Name: day.Format(time.DateOnly), Written: day, Size: 1000})
	}
	return out, nil
}

func (l lakeOf) ReadTrips(_ context.Context, b archive.LakeBlob, _, _ string) (t archive.LakeTrips, err error) {
	t = archive.LakeTrips{Groups: 1, Of: 6, Size: b.Size, Read: 200}
	for slot := b.Written; slot.Before(b.Written.AddDate(0, 0, 1)); slot = slot.Add(10 * time.Minute) {
		for i := range int64(100) {
			rtt := 80_000_000 + i*1000 + int64(slot.Hour())*100_000
			if i == 50 {
				rtt = wire.Null
			}
			t.Slots, t.RTTNS = append(t.Slots, slot.UnixMicro()), append(t.RTTNS, rtt)
		}
	}
	return t, l.err
}

func TestATrendFromTheLakeIsThatOfItsSamples(t *testing.T) {
	from := &LakeHours{From: lakeOf{first: monday, days: 20}}
	got, err := ReadTrend(t.Context(), from, parse(t, threeRegions), askPair(monday.Add(5*time.Hour), 15*24), monday.AddDate(0, 0, 21))
	if err != nil {
		t.Fatal(err)
	}
	if got.Rests != (Rests{Samples: 15 * 144 * 99, Runs: 15 * 144, Hours: 15 * 24}) || !got.Hours[0].Begin.Equal(monday.Add(5*time.Hour)) || got.Quantiles.N != 15*144*99 {
		t.Errorf("resting on %+v, from %s", got.Rests, got.Hours[0].Begin)
	}
	// 594 round trips: six of each of 0 to 99 µs but 50.
	for _, h := range got.Hours {
		base := 80_000 + 100*float64(h.Begin.Hour())
		if *h.MinUS != base || *h.P50US != base+49 || h.P99US != nil || *h.N != 594 || h.Loss.Ratio != nil {
			t.Fatalf("%s: from %f, p50 %f, of %d", h.Begin, *h.MinUS, *h.P50US, *h.N)
		}
	}
	if want := (LakeRead{Files: 16, Groups: 16, Of: 96, Read: 3200, Size: 16_000}); from.Read != want {
		t.Errorf("%+v was read, want %+v", from.Read, want)
	}
	if q := got.Quantiles; math.Abs(*q.P50US-81_149) > 100 {
		t.Errorf("p50 %f", *q.P50US)
	}
	from.From = lakeOf{first: monday, days: 20, err: fmt.Errorf("the storage is gone")}
	if _, err := ReadTrend(t.Context(), from, parse(t, threeRegions), askPair(monday, 48), monday); err == nil {
		t.Error("the fault of the storage is lost")
	}
}

// lakeAtOnce is a lake that counts how many files are read at a time, or wait to be taken; the older a file is the
// sooner it is there.
type lakeAtOnce struct {
	lakeOf
	under, most, read atomic.Int32
}

func (l *lakeAtOnce) ReadTrips(ctx context.Context, b archive.LakeBlob, target, path string) (archive.LakeTrips, error) {
	l.read.Add(1)
	n := l.under.Add(1)
	defer l.under.Add(-1)
	for most := l.most.Load(); n > most && !l.most.CompareAndSwap(most, n); most = l.most.Load() {
	}
	select {
	case <-time.After(time.Duration(b.Written.Day()) * 200 * time.Microsecond):
	case <-ctx.Done():
		return archive.LakeTrips{}, ctx.Err()
	}
	return l.lakeOf.ReadTrips(ctx, b, target, path)
}

func TestFewLakeFilesAreReadAtATimeAndInOrder(t *testing.T) {
	from := &lakeAtOnce{lakeOf: lakeOf{first: monday, days: 60}}
	ask := askPair(monday, 60*24)
	q := tables.HourQuery{Source: ask.Source, Target: ask.Target, Path: ask.Path, Probe: ask.Probe, Since: ask.Since, Until: ask.Until}
	lake := &LakeHours{From: from}
	last, hours := q.Until, 0
	for h, err := range lake.Hours(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		if !h.Begin.Equal(last.Add(-time.Hour)) {
			t.Fatalf("the hour after %s is %s", last, h.Begin)
		}
		last, hours = h.Begin, hours+1
		if ahead := int(from.read.Load()) - lake.Read.Files; ahead > filesAtOnce {
			t.Fatalf("%d files are read or wait", ahead)
		}
	}
	if most := from.most.Load(); hours != 60*24 || most < 2 || most > filesAtOnce || lake.Read.Files != 60 {
		t.Errorf("%d hours of %d files, %d at a time", hours, lake.Read.Files, most)
	}
	// Who has enough is not kept, and nothing goes on behind.
	from.read.Store(0)
	for range lake.Hours(t.Context(), q) {
		break
	}
	if read := from.read.Load(); from.under.Load() != 0 || read > filesAtOnce+1 {
		t.Errorf("%d files were read for one hour, %d still are", read, from.under.Load())
	}
}
