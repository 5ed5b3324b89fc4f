package tables

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

func latestOf(t testing.TB, s *Store) map[string]string {
	t.Helper()
	rows, err := s.Latest(background(t), "", "")
	must(t, err)
	out := map[string]string{}
	for _, r := range rows {
		what := "result"
		if r.Failure == wire.FailureExpired {
			what = "expired"
		}
		out[r.Series.Target] = r.Slot.Format("15:04 ") + what
	}
	return out
}

func TestLatestGoesForwardOnly(t *testing.T) {
	s, ctx := newStore(t), background(t)
	series := seriesOf(s.environment, "westeurope", "eastus")
	older, newer := slot0, slot0.Add(10*time.Minute)
	for i, step := range []struct {
		put  []result.Result
		want string
	}{
		{[]result.Result{expired(series, slot0)}, "10:20 expired"},
		{[]result.Result{measured(t, series, older, 1000)}, "10:20 result"},
		{[]result.Result{expired(series, older)}, "10:20 result"},
		{[]result.Result{expired(series, newer)}, "10:30 expired"},
		{[]result.Result{measured(t, series, older, 1000)}, "10:30 expired"},
		{[]result.Result{measured(t, series, newer, 1000), expired(series, newer), measured(t, series, older, 1000)}, "10:30 result"},
		{[]result.Result{expired(series, newer), measured(t, series, older, 1000)}, "10:30 result"},
	} {
		must(t, s.PutLatest(ctx, step.put))
		if got := latestOf(t, s); len(got) != 1 || got["eastus"] != step.want {
			t.Errorf("after step %d: %v, want %q", i, got, step.want)
		}
	}
}

func TestASecondResultAtTheSameSlotChangesNothing(t *testing.T) {
	s, ctx := newStore(t), background(t)
	series := seriesOf(s.environment, "westeurope", "eastus")
	for _, rtt := range []int64{1000, 2000} {
		must(t, s.PutLatest(ctx, []result.Result{measured(t, series, slot0, rtt)}))
	}
	if rows, err := s.Latest(ctx, "", ""); err != nil || len(rows) != 1 || *rows[0].MinUS != 1 {
		t.Errorf("%+v, %v; want the first", rows, err)
	}
}

func TestForeignResultsNeverBecomeTheLatest(t *testing.T) {
	s, ctx := newStore(t), background(t)
	series := seriesOf(s.environment, "westeurope", "eastus")
	series.Probe = "ext.mtr"
	if err := s.PutLatest(ctx, []result.Result{measured(t, series, slot0, 1000)}); !errors.Is(err, ErrRefused) {
		t.Errorf("a foreign result: %v", err)
	}
}

// Writers bring the same series forward in different orders, with batches that overlap. Whatever
// the order, the newest result is there at the end.
func TestWritersAtOnceLeaveTheNewest(t *testing.T) {
	s, ctx := newStore(t), background(t)
	const slots, writers = 6, 6
	targets := []string{"eastus", "northeurope", "uksouth", "southeastasia", "brazilsouth"}
	var all [][]result.Result
	want := map[string]string{}
	for i := range slots {
		slot := slot0.Add(time.Duration(i) * time.Minute)
		var rs []result.Result
		for j, target := range targets {
			series := seriesOf(s.environment, "westeurope", target)
			rs = append(rs, expired(series, slot))
			what := "expired"
			if j%2 == 0 || i < slots-1 {
				r := expired(series, slot)
				r.Run.Failure = wire.FailureTimeout
				rs = append(rs, r)
				what = "result"
			}
			want[target] = slot.Format("15:04 ") + what
		}
		all = append(all, rs)
	}
	var wg sync.WaitGroup
	for w := range writers {
		rnd := rand.New(rand.NewPCG(uint64(w), 1))
		wg.Go(func() {
			for _, i := range rnd.Perm(slots) {
				rs := all[i]
				rnd := rand.New(rand.NewPCG(uint64(w), uint64(i)))
				half := 1 + rnd.IntN(len(rs)-1)
				for _, part := range [][]result.Result{rs[half:], rs[:half]} {
					if err := s.PutLatest(ctx, part); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if d := cmp.Diff(want, latestOf(t, s)); d != "" {
		t.Errorf("latest (-want +got):\n%s", d)
	}
}

func TestLatestIsReadByPathAndProbe(t *testing.T) {
	s, ctx := newStore(t), background(t)
	var rs []result.Result
	for _, path := range []string{"public", "public-2", "peering"} {
		for _, probe := range []string{"tcp-64", "connect"} {
			for _, target := range []string{"eastus", "uksouth"} {
				r := expired(wire.Series{Environment: s.environment, Source: "westeurope", Target: target, Path: path, Probe: probe}, slot0)
				rs = append(rs, r)
			}
		}
	}
	must(t, s.PutLatest(ctx, rs))
	for _, c := range []struct {
		path, probe string
		want        int
	}{{"", "", 12}, {"public", "", 4}, {"", "tcp-64", 6}, {"public", "tcp-64", 2}, {"vpn", "", 0}, {"public", "none", 0}} {
		rows, err := s.Latest(ctx, c.path, c.probe)
		must(t, err)
		for _, r := range rows {
			if (c.path != "" && r.Series.Path != c.path) || (c.probe != "" && r.Series.Probe != c.probe) || r.Series.Environment != s.environment {
				t.Errorf("path %q, probe %q: got %s", c.path, c.probe, r.Series)
			}
		}
		if len(rows) != c.want {
			t.Errorf("path %q, probe %q: %d rows, want %d", c.path, c.probe, len(rows), c.want)
		}
	}
	if _, err := s.Latest(ctx, "a' or 1 eq 1", ""); err == nil {
		t.Error("a path that is no name was asked for")
	}
}

func TestHundredsOfSeriesAreBroughtForwardInBatches(t *testing.T) {
	s, ctx := newStore(t), background(t)
	var first, second []result.Result
	for i := range 250 {
		series := seriesOf(s.environment, "westeurope", fmt.Sprintf("target-%d", i))
		first = append(first, expired(series, slot0))
		if i%3 > 0 {
			second = append(second, expired(series, slot0.Add(time.Minute)))
		}
	}
	must(t, s.PutLatest(ctx, first))
	must(t, s.PutLatest(ctx, second))
	counts := map[string]int{}
	for _, what := range latestOf(t, s) {
		counts[what]++
	}
	if d := cmp.Diff(map[string]int{"10:20 expired": 84, "10:21 expired": 166}, counts); d != "" {
		t.Errorf("latest (-want +got):\n%s", d)
	}
}
