package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

func schedule(t testing.TB, text string) cron.Schedule {
	t.Helper()
	s, err := cron.ParseStandard("CRON_TZ=UTC " + text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var everyPath = []string{"public", "peering", "vpn"}

// bulkOf is one round of runs that take 14 s: 12 s and what the guard adds.
func bulkOf(kind wire.Kind) wire.Spec {
	s := wire.Spec{Kind: kind, Timeout: 2 * time.Second, RequestBytes: 1024, Bulk: wire.Bulk{MaxBytes: 1000}}
	switch kind {
	case wire.KindThroughput:
		s.Bulk.Duration, s.Bulk.Direction = 10*time.Second, wire.DirectionUp
	case wire.KindSaturate:
		s.Bulk.Duration, s.Bulk.Outstanding = 5*time.Second, 2
	case wire.KindStream:
		s.Bulk.Messages, s.Bulk.MessageRate, s.Bulk.Batch = 800, 100, 1
	case wire.KindLoad:
		s.ResponseBytes, s.Bulk.Users, s.Bulk.Duration = 64, 5, 10*time.Second
	}
	return s
}

// world makes a configuration of n probers, each with some of the paths, with latency probes and some bulk
// probes that are due at the slot. Where whole is true, everybody has every path and measures everybody.
func world(t testing.TB, random *rand.Rand, n int, whole bool) Input {
	c := &config.Config{Version: 1, Environment: "test", Budget: config.Budget{Sweep: 1 << 50, Month: 1 << 50},
		Timing: config.Timing{Lead: 30 * time.Second, Late: time.Duration(20+random.IntN(60)) * time.Second, Grace: time.Minute}}
	in := Input{Config: c, ConfigHash: hash, Slot: slot, Now: slot.Add(time.Duration(random.IntN(3000)) * time.Millisecond), Seed: seed, Targets: map[string]Target{}}
	for i := range n {
		p := config.Prober{ID: fmt.Sprintf("p%02d", i), Addresses: map[string][]config.Allowed{}}
		target := Target{Assignments: 1, Addresses: map[string]Address{}}
		for _, path := range everyPath {
			if whole || random.IntN(3) > 0 {
				p.Addresses[path] = []config.Allowed{{Name: p.ID}}
				target.Addresses[path] = addresses(path, fmt.Sprintf("192.0.2.%d:7700", i+1))[path]
			}
		}
		target.Down = random.IntN(20) == 0
		c.Probers, in.Targets[p.ID] = append(c.Probers, p), target
	}
	c.Endpoints = []config.Endpoint{{Name: "api", Path: "public", URL: "https://api.example.com/"}, {Name: "web", Path: "vpn", URL: "https://web.example.com/"}}
	some := func() (ids []string) {
		for _, i := range random.Perm(n)[:random.IntN(n+1)] {
			ids = append(ids, c.Probers[i].ID)
		}
		return ids
	}
	tcp := wire.Spec{Kind: wire.KindTCP, Count: 100, Interval: 20 * time.Millisecond, Timeout: time.Second, RequestBytes: 64, ResponseBytes: 16}
	c.Probes = []config.Probe{
		{Name: "rtt", Cron: schedule(t, "*/10 * * * *"), Paths: everyPath, Spec: tcp},
		{Name: "odd", Cron: schedule(t, "3-59/20 * * * *"), Paths: []string{"public"}, Spec: tcp},
	}
	most := 3 // fewer where there are many probers: the test is to take seconds
	if n > 20 {
		most = 2
	}
	paths := random.Perm(len(everyPath))[:1+random.IntN(most)]
	for i := range 1 + random.IntN(most) {
		p := config.Probe{Name: fmt.Sprintf("bulk%d", i), Cron: schedule(t, "20 10 30 11 *"), Spec: bulkOf(wire.BulkKinds()[random.IntN(4)])}
		for _, k := range paths {
			p.Paths = append(p.Paths, everyPath[k])
		}
		if !whole {
			p.From, p.To = some(), some()
		}
		c.Probes = append(c.Probes, p)
	}
	asks := bulkOf(wire.KindLoad)
	asks.Method, asks.Connection, asks.RequestBytes, asks.ResponseBytes = "GET", wire.ConnectionKeepAlive, 0, 0
	c.Probes = append(c.Probes, config.Probe{Name: "ask", Cron: schedule(t, "20 10 30 11 *"), Paths: []string{"public", "vpn"}, To: []string{"api", "web"}, Spec: asks})
	return in
}

// span is a time in which a prober is busy.
type span struct {
	from, to time.Time
	what     string
}

// latencyRuns are the times in which the runs of other slots and this one may be under way, by prober.
func latencyRuns(in Input, until time.Time) map[string][]span {
	out := map[string][]span{}
	for i := range in.Config.Probes {
		p := &in.Config.Probes[i]
		if p.Spec.Kind.IsBulk() {
			continue
		}
		busy := map[string]bool{}
		for _, pair := range in.Config.Pairs(p) {
			busy[pair.Source], busy[pair.Target] = true, true
		}
		for at := p.Next(in.Slot.Add(-time.Hour)); at.Before(until); at = p.Next(at) {
			from := at.Add(in.Config.Timing.Lead)
			if at.Equal(in.Slot) {
				from = in.Now.Truncate(time.Millisecond).Add(in.Config.Timing.Lead)
			}
			for id := range busy {
				out[id] = append(out[id], span{from, from.Add(in.Config.Timing.Late + p.Spec.Span()), p.Name + " of " + at.Format("15:04")})
			}
		}
	}
	return out
}

// For 2 to 61 probers, any directions and paths: every pair is measured exactly once, nobody is in two
// bulk runs at once, clocks' errors included, and none overlaps a latency run of its probers.
func TestBulkRunsNeverMeetAnything(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for n := 2; n <= 61; n++ {
		whole := n%2 == 0 || n%3 == 0
		in := world(t, random, n, whole)
		p := mustMake(t, in)
		busy := map[string][]span{}
		met := map[string]map[config.Pair]int{}
		var last time.Time
		for i := range p.Assignments {
			a := &p.Assignments[i]
			if !a.Spec.Kind.IsBulk() {
				continue
			}
			r := &a.Runs[0]
			if r.Failure == wire.FailureCanceled || r.Failure == wire.FailureBudget {
				t.Fatalf("%d probers: %s to %s is not made: %s", n, a.Source, r.Target, r.Detail)
			}
			if a.Deadline.Before(a.LatestStart.Add(a.Spec.Span())) {
				t.Fatalf("%d probers: %s is cut", n, a.Probe)
			}
			s := span{a.Start, a.Deadline, a.Probe + " from " + a.Source + " to " + r.Target}
			busy[a.Source] = append(busy[a.Source], s)
			if r.URL == "" {
				busy[r.Target] = append(busy[r.Target], s)
			}
			if met[a.Probe] == nil {
				met[a.Probe] = map[config.Pair]int{}
			}
			met[a.Probe][config.Pair{Source: a.Source, Target: r.Target, Path: r.Path}]++
			if a.Deadline.After(last) {
				last = a.Deadline
			}
		}
		latency := latencyRuns(in, last.Add(time.Hour))
		for id, spans := range busy {
			slices.SortFunc(spans, func(x, y span) int { return cmp.Or(x.from.Compare(y.from), cmp.Compare(x.what, y.what)) })
			for i, s := range spans {
				if i > 0 && s.from.Sub(spans[i-1].to) < config.BulkGuard {
					t.Fatalf("%d probers: %s is in %q until %s and in %q from %s", n, id, spans[i-1].what, spans[i-1].to, s.what, s.from)
				}
				for _, l := range latency[id] {
					if s.from.Before(l.to.Add(config.BulkGuard)) && l.from.Before(s.to.Add(config.BulkGuard)) {
						t.Fatalf("%d probers: %s is in %q from %s to %s, and in %q from %s to %s", n, id, s.what, s.from, s.to, l.what, l.from, l.to)
					}
				}
			}
		}
		for i := range in.Config.Probes {
			if probe := &in.Config.Probes[i]; probe.Spec.Kind.IsBulk() {
				checkProbe(t, in, p, probe, met[probe.Name], whole)
			}
		}
	}
}

// checkProbe holds a bulk probe's runs to its pairs, and its rounds to the fewest there can be.
func checkProbe(t *testing.T, in Input, p *Plan, probe *config.Probe, met map[config.Pair]int, whole bool) {
	t.Helper()
	pairs := in.Config.Pairs(probe)
	for _, pair := range pairs {
		if met[pair] != 1 {
			t.Errorf("%s: %v is measured %d times", probe.Name, pair, met[pair])
		}
	}
	if len(met) != len(pairs) {
		t.Errorf("%s: %d pairs are measured, asked for are %d", probe.Name, len(met), len(pairs))
	}
	rounds := map[string]map[time.Time]bool{}
	for i := range p.Assignments {
		if a := &p.Assignments[i]; a.Probe == probe.Name {
			path := a.Runs[0].Path
			if rounds[path] == nil {
				rounds[path] = map[time.Time]bool{}
			}
			rounds[path][a.Start] = true
		}
	}
	n := len(in.Config.Probers)
	for path, starts := range rounds {
		want := 2 * (n - 1 + n%2)
		if probe.Spec.AsksURL() {
			want = 1 // an endpoint a path, which bears everybody at once
		} else if !whole {
			continue // sweep/rounds has the tests of these
		}
		if len(starts) != want {
			t.Errorf("%d probers, %s over %s: %d rounds, want %d", n, probe.Name, path, len(starts), want)
		}
	}
}
