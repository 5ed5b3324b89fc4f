package main

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"isochrone/prober/probe"
	"isochrone/prober/reflect"
	"isochrone/prober/wire"
)

// refusals is a reflector's observer that notes when it refused whom for what.
type refusals struct {
	mu       sync.Mutex
	admitted int
	at       []time.Time
	reasons  map[reflect.Reason]int
}

func (o *refusals) SessionAdmitted() { o.mu.Lock(); defer o.mu.Unlock(); o.admitted++ }
func (o *refusals) SessionRefused(r reflect.Reason) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at = append(o.at, time.Now())
	o.reasons[r]++
}

// Every source of the design point begins before the target knows of its session. All ask again,
// from one address here, and hit none of the reflector's limits with it.
func TestAllSourcesAskAgainUntilTheTargetKnowsOfTheirSessions(t *testing.T) {
	const sources = 59
	listener, err := reflect.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := &refusals{reasons: map[reflect.Reason]int{}}
	reflector := reflect.New(reflect.Config{Observer: seen, Now: time.Now, Uptime: sinceNow(), Log: slog.New(slog.DiscardHandler)})
	ctx := ctxFor(t, time.Minute)
	served := make(chan error, 1)
	go func() { served <- reflector.Serve(ctx, listener) }()

	start := time.Now().Add(100 * time.Millisecond)
	time.Sleep(time.Until(start))
	spec := wire.Spec{Kind: wire.KindTCP, Count: 5, Interval: 20 * time.Millisecond, Timeout: 5 * time.Second, RequestBytes: 64, ResponseBytes: 16}
	prober := probe.New(probe.NewPacer(1))
	sessions := make([]wire.Session, sources)
	runs := make([]wire.Run, sources)
	var all sync.WaitGroup
	for i := range sources {
		s := &sessions[i]
		*s = wire.Session{
			ID: wire.SessionID{1, byte(i)}, Key: wire.NewSeed(), Source: "westeurope", Path: "public", Probe: "tcp-64", Kind: spec.Kind,
			RequestBytes: spec.RequestBytes, ResponseBytes: spec.ResponseBytes, MaxRequests: spec.Count, NotBefore: start, Deadline: start.Add(time.Minute),
		}
		all.Go(func() {
			runs[i] = prober.Make(ctx, probe.Request{
				Target: "northeurope", Path: "public", Spec: spec, Address: listener.Addr().String(), Session: s.ID, Key: s.Key,
				PlannedStart: start, First: start, LatestStart: start.Add(40 * time.Second), Deadline: start.Add(50 * time.Second),
			})
		})
	}
	time.Sleep(time.Until(start.Add(900 * time.Millisecond))) // by then all have asked twice
	reflector.Admit(sessions)
	all.Wait()
	for i, r := range runs {
		if r.Failure != "" || r.Counts.Received != spec.Count {
			t.Errorf("source %d: failure %q (%s), %d received", i, r.Failure, r.Detail, r.Counts.Received)
		}
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	total := len(seen.at)
	if seen.admitted != sources || seen.reasons[reflect.ReasonUnknownSession] != total || total < 2*sources || total > 3*sources {
		t.Errorf("admitted %d, refused %v; want %d, and each two or three times before, as unknown", seen.admitted, seen.reasons, sources)
	}
	if total >= 2*sources { // the second time they do not come in step
		slices.SortFunc(seen.at, time.Time.Compare)
		if spread := seen.at[2*sources-1].Sub(seen.at[sources]); spread < 250*time.Millisecond {
			t.Errorf("all asked again within %s", spread)
		}
	}
}
