package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"isochrone/prober/probe"
	"isochrone/prober/wire"
)

// bulkAssignment begins after a time from now and takes up to 20 s: 1 s ramp, 9 s counted, 10 s timeout.
func bulkAssignment(name, target string, after time.Duration) wire.Assignment {
	as := assignment(name, target)
	as.Spec = wire.Spec{Kind: wire.KindThroughput, Timeout: 10 * time.Second, RequestBytes: wire.DefaultChunkBytes,
		Bulk: wire.Bulk{MaxBytes: 1e9, Duration: 9 * time.Second, Ramp: time.Second, Direction: wire.DirectionUp}}
	as.Start = time.Now().Add(after)
	as.LatestStart = as.Start.Add(2 * time.Second)
	as.Deadline = as.LatestStart.Add(as.Spec.Span())
	return as
}

// latencyAssignment begins after a time from now, takes 10 s, and may begin late.
func latencyAssignment(name string, after, late time.Duration) wire.Assignment {
	as := assignment(name, "northeurope")
	as.Spec.Count, as.Spec.Interval, as.Spec.Timeout = 90, 100*time.Millisecond, time.Second
	as.Start = time.Now().Add(after)
	as.LatestStart = as.Start.Add(late)
	as.Deadline = as.LatestStart.Add(time.Minute)
	return as
}

// bulkSession is a bulk run to this prober from after a time from now on.
func bulkSession(after, span time.Duration) wire.Session {
	return wire.Session{Kind: wire.KindSaturate, NotBefore: time.Now().Add(after), Deadline: time.Now().Add(after + span)}
}

// run is what became of an assignment: when its runs began since the test's, or why they did not.
type began struct {
	after  time.Duration
	made   bool
	detail string
}

// play runs an agent on what it is told, with runs that take a time each, and says what became of the
// assignments, by probe.
func play(t *testing.T, current *wire.Current, takes map[string]time.Duration) map[string]began {
	t.Helper()
	start := time.Now()
	a, c, box, probes := rig(func() (*wire.Current, error) { return current, nil })
	out := map[string]began{}
	kindOf := map[wire.Kind]int{}
	probes.make = func(_ context.Context, r probe.Request) wire.Run {
		bulk := r.Spec.Kind.IsBulk()
		probes.mu.Lock()
		if kindOf[wire.KindThroughput] > 0 || bulk && kindOf[wire.KindTCP] > 0 {
			t.Errorf("%s to %s begins while %v are under way", r.Spec.Kind, r.Target, kindOf)
		}
		kindOf[r.Spec.Kind]++
		probes.mu.Unlock()
		time.Sleep(takes[r.Target])
		probes.mu.Lock()
		kindOf[r.Spec.Kind]--
		probes.mu.Unlock()
		return probe.NotMade(r, wire.FailureTimeout, "made "+time.Since(start).String())
	}
	live(t, a, c, 10*time.Minute)
	for _, body := range box.delivered {
		d := unpack(t, body)
		b := began{made: d.Runs[0].Failure != wire.FailureCanceled, detail: d.Runs[0].Detail}
		for i, r := range probes.requests {
			if r.Target == d.Runs[0].Target && r.PlannedStart.Equal(d.Runs[0].PlannedStart) && r.Spec.Kind == d.Runs[0].Kind {
				b.after = probes.began[i].Sub(start)
			}
		}
		out[d.Probe] = b
	}
	return out
}

func TestLatencyRunsWaitForBulkRuns(t *testing.T) {
	for name, c := range map[string]struct {
		current func() *wire.Current
		takes   map[string]time.Duration
		want    map[string]began // detail: a part of it
	}{
		"nothing in the way": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{latencyAssignment("rtt", time.Minute, 0), bulkAssignment("rate", "eastus", 70*time.Second)}}
		}, map[string]time.Duration{"northeurope": 9 * time.Second, "eastus": 20 * time.Second},
			map[string]began{"rtt": {time.Minute, true, ""}, "rate": {70 * time.Second, true, ""}}},
		"a bulk run is due within the span": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{latencyAssignment("rtt", time.Minute, time.Minute), bulkAssignment("rate", "eastus", 69*time.Second)}}
		}, map[string]time.Duration{"northeurope": 9 * time.Second, "eastus": 15 * time.Second},
			map[string]began{"rtt": {84 * time.Second, true, ""}, "rate": {69 * time.Second, true, ""}}}, // the bulk run ended early
		"a bulk run is under way": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{bulkAssignment("rate", "eastus", time.Minute), latencyAssignment("rtt", 65*time.Second, time.Minute)}}
		}, map[string]time.Duration{"northeurope": 9 * time.Second, "eastus": 20 * time.Second},
			map[string]began{"rate": {time.Minute, true, ""}, "rtt": {80 * time.Second, true, ""}}},
		"too long for the latest start": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{bulkAssignment("rate", "eastus", time.Minute), latencyAssignment("rtt", 65*time.Second, 10*time.Second)}}
		}, map[string]time.Duration{"eastus": 20 * time.Second},
			map[string]began{"rate": {time.Minute, true, ""}, "rtt": {0, false, "a bulk run of this prober was under way, and its latest start passed"}}},
		"a session is due within the span": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{latencyAssignment("rtt", time.Minute, time.Minute)}, Sessions: []wire.Session{bulkSession(68*time.Second, 22*time.Second)}}
		}, nil, map[string]began{"rtt": {90 * time.Second, true, ""}}},
		"a session is open past the latest start": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{latencyAssignment("rtt", time.Minute, 15*time.Second)}, Sessions: []wire.Session{bulkSession(50*time.Second, 30*time.Second)}}
		}, nil, map[string]began{"rtt": {0, false, "a bulk run from this prober or to it was due from "}}},
		"one session after the other": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{latencyAssignment("rtt", time.Minute, 2*time.Minute)},
				Sessions: []wire.Session{bulkSession(80*time.Second, 20*time.Second), bulkSession(50*time.Second, 22*time.Second), bulkSession(111*time.Second, 9*time.Second)}}
		}, nil, map[string]began{"rtt": {100 * time.Second, true, ""}}},
		"a bulk run that is not to be made": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{latencyAssignment("rtt", time.Minute, 0), bulkAssignment("rate", "EASTUS", time.Minute)}}
		}, nil, map[string]began{"rtt": {time.Minute, true, ""}, "rate": {0, true, "the app knew of it"}}},
		"latency sessions are no hindrance": {func() *wire.Current {
			s := bulkSession(50*time.Second, 60*time.Second)
			s.Kind = wire.KindTCP
			return &wire.Current{Assignments: []wire.Assignment{latencyAssignment("rtt", time.Minute, 0)}, Sessions: []wire.Session{s}}
		}, nil, map[string]began{"rtt": {time.Minute, true, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { compare(t, play(t, c.current(), c.takes), c.want) })
		})
	}
}

func compare(t *testing.T, got, want map[string]began) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d documents, want %d", len(got), len(want))
	}
	for probe, w := range want {
		g := got[probe]
		if late := g.after - w.after; late < 0 || late > 100*time.Millisecond || g.made != w.made || !strings.Contains(g.detail, w.detail) {
			t.Errorf("%s: %+v, want %+v", probe, g, w)
		}
	}
}

func TestBulkRunsBeginAtTheirTimeOrNotAtAll(t *testing.T) {
	for name, c := range map[string]struct {
		current func() *wire.Current
		takes   map[string]time.Duration
		want    map[string]began
	}{
		"another bulk run ends in time": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{bulkAssignment("one", "northeurope", time.Minute), bulkAssignment("two", "eastus", 79*time.Second)}}
		}, map[string]time.Duration{"northeurope": 20 * time.Second}, map[string]began{"one": {time.Minute, true, ""}, "two": {80 * time.Second, true, ""}}},
		"another bulk run does not": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{bulkAssignment("one", "northeurope", time.Minute), bulkAssignment("two", "eastus", 77*time.Second)}}
		}, map[string]time.Duration{"northeurope": 20 * time.Second}, map[string]began{"one": {time.Minute, true, ""}, "two": {0, false, "another bulk run of this prober was under way, and its latest start passed"}}},
		"a later latest start is not believed": {func() *wire.Current {
			two := bulkAssignment("two", "eastus", 70*time.Second)
			two.LatestStart, two.Deadline = two.Start.Add(time.Minute), two.Start.Add(2*time.Minute)
			return &wire.Current{Assignments: []wire.Assignment{bulkAssignment("one", "northeurope", time.Minute), two}}
		}, map[string]time.Duration{"northeurope": 20 * time.Second}, map[string]began{"one": {time.Minute, true, ""}, "two": {0, false, "another bulk run of this prober"}}},
		"a session to it ends in time": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{bulkAssignment("rate", "eastus", time.Minute)}, Sessions: []wire.Session{bulkSession(50*time.Second, 11*time.Second)}}
		}, nil, map[string]began{"rate": {61 * time.Second, true, ""}}},
		"a session to it is due while it would run": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{bulkAssignment("rate", "eastus", time.Minute)}, Sessions: []wire.Session{bulkSession(70*time.Second, 30*time.Second)}}
		}, nil, map[string]began{"rate": {0, false, "a bulk run from this prober or to it was due from "}}},
		"latency runs that take too long": {func() *wire.Current {
			return &wire.Current{Assignments: []wire.Assignment{latencyAssignment("rtt", time.Minute, 0), bulkAssignment("rate", "eastus", 70*time.Second)}}
		}, map[string]time.Duration{"northeurope": 15 * time.Second}, map[string]began{"rtt": {time.Minute, true, ""}, "rate": {0, false, "latency runs of this prober were under way"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { compare(t, play(t, c.current(), c.takes), c.want) })
		})
	}
}

// A bulk run that the prober learns of while a latency assignment waits counts, and one that an app takes
// back does not.
func TestWhatIsWaitedForFollowsWhatTheAppSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e exclusion
		as := latencyAssignment("rtt", 0, time.Minute)
		e.learn(&wire.Current{Sessions: []wire.Session{bulkSession(-time.Second, 31*time.Second)}})
		start := time.Now()
		go func() {
			time.Sleep(10 * time.Second)
			e.learn(&wire.Current{Sessions: []wire.Session{bulkSession(0, 10*time.Second)}})
			time.Sleep(5 * time.Second)
			e.learn(&wire.Current{})
		}()
		if reason := e.enter(t.Context(), time.Now, &as); reason != "" || time.Since(start) != 15*time.Second {
			t.Errorf("after %s: %q; want to begin when the sessions are gone, after 15 s", time.Since(start), reason)
		}
		e.leave(&as, true)
	})
}

func TestAStopEndsTheWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e exclusion
		as := latencyAssignment("rtt", 0, time.Minute)
		e.learn(&wire.Current{Sessions: []wire.Session{bulkSession(-time.Second, time.Minute)}})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if reason := e.enter(ctx, time.Now, &as); !strings.HasSuffix(reason, "and the prober was stopped") || time.Since(start) != 3*time.Second {
			t.Errorf("after %s: %q", time.Since(start), reason)
		}
		e.leave(&as, false)
	})
}

// Bulk runs that are over, and learnt of again, are over.
func TestABulkRunThatIsOverIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e exclusion
		bulk := bulkAssignment("rate", "eastus", 0)
		current := &wire.Current{Assignments: []wire.Assignment{bulk}}
		e.learn(current)
		if reason := e.enter(t.Context(), time.Now, &bulk); reason != "" {
			t.Fatal(reason)
		}
		e.leave(&bulk, true)
		e.learn(current)
		as, start := latencyAssignment("rtt", 0, time.Minute), time.Now()
		if reason := e.enter(t.Context(), time.Now, &as); reason != "" || time.Since(start) != 0 {
			t.Errorf("after %s: %q", time.Since(start), reason)
		}
		e.leave(&as, true)
		e.learn(&wire.Current{})
		if len(e.ended) != 0 || len(e.due) != 0 {
			t.Errorf("what the app lists no longer is kept: %v, %v", e.ended, e.due)
		}
	})
}
