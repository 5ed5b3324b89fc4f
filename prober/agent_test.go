package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"isochrone/prober/mailbox"
	"isochrone/prober/probe"
	"isochrone/prober/spool"
	"isochrone/prober/wire"
)

// script is the mailbox of an agent under test: what each poll gives, and what is delivered.
type script struct {
	mu        sync.Mutex
	polls     []func() (*wire.Current, error) // one a poll; after the last, nothing changes
	delivered map[string][]byte
	deliver   func(name string, attempt int) error // what an attempt comes to; nil stores
	attempts  int
	stored    bool // a failing attempt stores all the same: the answer is lost
}

func (s *script) Poll(context.Context) (*wire.Current, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.polls) == 0 {
		return nil, nil
	}
	next := s.polls[0]
	s.polls = s.polls[1:]
	return next()
}

func (s *script) Deliver(_ context.Context, name string, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts++
	var err error
	if s.deliver != nil {
		err = s.deliver(name, s.attempts)
	}
	if err == nil || s.stored {
		s.delivered[name] = body
	}
	return err
}

func (s *script) Admit([]wire.Session) {}

// measurer stands for the probes: it notes what it is asked and answers as told.
type measurer struct {
	mu       sync.Mutex
	requests []probe.Request
	began    []time.Time
	make     func(ctx context.Context, r probe.Request) wire.Run
}

func (m *measurer) Make(ctx context.Context, r probe.Request) wire.Run {
	m.mu.Lock()
	m.requests, m.began = append(m.requests, r), append(m.began, time.Now())
	m.mu.Unlock()
	if m.make != nil {
		return m.make(ctx, r)
	}
	return probe.NotMade(r, wire.FailureTimeout, "as the test says")
}

// rig is an agent and its courier with doubles around them; use it inside synctest.
func rig(polls ...func() (*wire.Current, error)) (*agent, *courier, *script, *measurer) {
	box := &script{polls: polls, delivered: map[string][]byte{}}
	documents := spool.NewMemory(1 << 20)
	m := newMetrics(func() spool.Stats { return spool.Stats{} })
	log := slog.New(slog.DiscardHandler)
	c := &courier{inbox: box, spool: documents, metrics: m, log: log, wake: make(chan struct{}, 1), last: make(chan struct{})}
	probes := &measurer{}
	alone := newClaim(time.Now())
	alone.uncontested()
	a := &agent{
		settings: settings{environment: "dev", prober: "westeurope", poll: 5 * time.Second}, now: time.Now, log: log, claim: alone,
		metrics: m, health: newHealth(sinceNow(), alone, 5*time.Second, 30*time.Second), current: box, reflector: box, prober: probes, courier: c, taken: map[string]time.Time{},
	}
	return a, c, box, probes
}

// live runs agent and courier for a time, then stops them as serve does.
func live(t *testing.T, a *agent, c *courier, d time.Duration) {
	t.Helper()
	err := supervise(ctxFor(t, d), a.log, c, []task{a.run}, nil)
	if err != nil {
		t.Error(err)
	}
}

func ctxFor(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// assignment starts a minute from now, with a run to each target; a target in capitals is down.
func assignment(probe string, targets ...string) wire.Assignment {
	slot := wire.Slot(time.Now())
	start := time.Now().Add(time.Minute)
	as := wire.Assignment{
		ID: wire.AssignmentID("dev", slot, "westeurope", probe, 0), Slot: slot, Probe: probe, Start: start,
		LatestStart: start.Add(3 * time.Minute), Deadline: start.Add(5 * time.Minute),
		Spec: wire.Spec{Kind: wire.KindTCP, Count: 4, Interval: 20 * time.Millisecond, Timeout: time.Second, RequestBytes: 64, ResponseBytes: 16},
	}
	for _, target := range targets {
		r := wire.AssignedRun{Target: strings.ToLower(target), Path: "public", Address: "127.0.0.1:7700"}
		if target != r.Target {
			r.Address, r.Failure = "", wire.FailureTargetDown
		}
		as.Runs = append(as.Runs, r)
	}
	return as
}

func giving(assignments ...wire.Assignment) func() (*wire.Current, error) {
	return func() (*wire.Current, error) { return &wire.Current{Assignments: assignments}, nil }
}

func unpack(t *testing.T, body []byte) *wire.Document {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var d wire.Document
	if err := json.NewDecoder(z).Decode(&d); err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Errorf("the app would refuse the document: %v", err)
	}
	return &d
}

func only(t *testing.T, box *script) *wire.Document {
	t.Helper()
	if len(box.delivered) != 1 {
		t.Fatalf("%d documents, want 1", len(box.delivered))
	}
	for _, body := range box.delivered {
		return unpack(t, body)
	}
	return nil
}

func TestADocumentHoldsExactlyTheAssignmentsRunsInItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		targets := []string{"northeurope", "EASTUS", "brazilsouth", "westeurope"}
		as := assignment("tcp-64", targets...)
		as.Part = 2
		a, c, box, probes := rig(giving(as))
		probes.make = func(_ context.Context, r probe.Request) wire.Run {
			if r.Target == "northeurope" { // the first ends last
				time.Sleep(10 * time.Second)
			}
			return probe.NotMade(r, wire.FailureRefused, "")
		}
		live(t, a, c, 2*time.Minute)
		d := only(t, box)
		if d.Assignment != as.ID || d.Probe != "tcp-64" || d.Source != "westeurope" || d.Environment != "dev" || d.Part != 2 || !d.Slot.Equal(as.Slot) || len(d.Attempt) != 8 {
			t.Errorf("document %+v", d)
		}
		for i, r := range d.Runs {
			want := wire.FailureRefused
			if targets[i] == "EASTUS" {
				want = wire.FailureTargetDown
			}
			if r.Target != strings.ToLower(targets[i]) || r.Failure != want || r.Samples.Len() != 4 || !r.PlannedStart.Equal(as.Start) {
				t.Errorf("run %d is to %s with failure %q and %d samples", i, r.Target, r.Failure, r.Samples.Len())
			}
		}
		if len(d.Runs) != len(targets) || len(probes.requests) != 3 {
			t.Errorf("%d runs, %d made; want 4, and nothing sent to the one that is down", len(d.Runs), len(probes.requests))
		}
	})
}

func TestSendsAreSpreadOverTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		as := assignment("tcp-64", "a", "b", "c", "d")
		a, c, _, probes := rig(giving(as))
		live(t, a, c, 2*time.Minute)
		offsets := map[string]time.Duration{}
		for _, r := range probes.requests {
			offsets[r.Target] = r.First.Sub(as.Start)
			if !r.Deadline.Equal(as.Deadline) {
				t.Errorf("%s: deadline %s, want %s", r.Target, r.Deadline, as.Deadline)
			}
		}
		for i, target := range []string{"a", "b", "c", "d"} {
			if want := time.Duration(i) * 5 * time.Millisecond; offsets[target] != want {
				t.Errorf("%s begins %s after the start, want %s: a quarter of 20 ms apart", target, offsets[target], want)
			}
		}
		for _, began := range probes.began {
			if began.Before(as.Start) || began.After(as.Start.Add(time.Second)) {
				t.Errorf("a run was begun %s after the start", began.Sub(as.Start))
			}
		}
	})
}

func TestAnAssignmentIsTakenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		as := assignment("tcp-64", "northeurope")
		list := giving(as)
		a, c, box, probes := rig(list, list, list)
		a.settings.poll = 20 * time.Second // the app writes the list again while it waits, runs and is done
		for range 30 {
			box.polls = append(box.polls, list)
		}
		live(t, a, c, 10*time.Minute)
		only(t, box)
		if len(probes.requests) != 1 {
			t.Errorf("measured %d times", len(probes.requests))
		}
		if len(a.taken) != 0 {
			t.Errorf("%d assignments are remembered after their deadline", len(a.taken))
		}
	})
}

func TestWhatIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, over := assignment("before", "x"), assignment("over", "x") // start nine minutes before this process
		time.Sleep(10 * time.Minute)
		broken := []wire.Assignment{assignment("id", "x"), assignment("Probe", "x"), assignment("runs"), assignment("order", "x"), assignment("samples", "x", "y")}
		broken[0].ID = "../x"
		broken[3].LatestStart = broken[3].Start.Add(-time.Second)
		broken[4].Spec.Count = wire.MaxSamples
		good := assignment("good", "x")
		before.LatestStart, before.Deadline = good.LatestStart, good.Deadline
		a, c, box, _ := rig(giving(append(broken, before, over, good)...))
		live(t, a, c, 5*time.Minute)
		if d := only(t, box); d.Probe != "good" {
			t.Errorf("worked on %q", d.Probe)
		}
	})
}

func TestAnAssignmentThatComesLate(t *testing.T) {
	for late, want := range map[time.Duration]wire.Failure{
		3 * time.Minute: wire.FailureTimeout,  // still in time: measured
		4 * time.Minute: wire.FailureCanceled, // after its latest start, before its deadline
	} {
		synctest.Test(t, func(t *testing.T) {
			as := assignment("tcp-64", "northeurope")
			a, c, box, _ := rig()
			time.Sleep(time.Minute + late)
			box.polls = append(box.polls, giving(as))
			live(t, a, c, 5*time.Minute)
			if got := only(t, box).Runs[0].Failure; got != want {
				t.Errorf("%s after its start: %q, want %q", late, got, want)
			}
		})
	}
}

func TestAnUnknownKindIsARunThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		as := assignment("udp-64", "northeurope")
		as.Spec.Kind = "udp"
		a, c, box, _ := rig(giving(as))
		a.prober = probe.New(probe.NewPacer(0))
		live(t, a, c, 2*time.Minute)
		if d := only(t, box); d.Runs[0].Failure != wire.FailureUnsupported || d.Runs[0].Kind != "udp" {
			t.Errorf("failure %q of kind %q", d.Runs[0].Failure, d.Runs[0].Kind)
		}
	})
}

func TestAStoppedAgentDeliversWhatHadBegunAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, waiting := assignment("begun", "x"), assignment("waiting", "x")
		waiting.Start = waiting.Start.Add(2 * time.Minute)
		a, c, box, probes := rig(giving(begun, waiting))
		probes.make = func(ctx context.Context, r probe.Request) wire.Run {
			<-ctx.Done()
			return probe.NotMade(r, wire.FailureCanceled, "")
		}
		live(t, a, c, 90*time.Second)
		if d := only(t, box); d.Probe != "begun" || d.Runs[0].Failure != wire.FailureCanceled {
			t.Errorf("delivered %q with failure %q", d.Probe, d.Runs[0].Failure)
		}
	})
}

var errStorage = errors.New("storage does not answer")

func TestADocumentIsDeliveredOnceStorageIsBack(t *testing.T) {
	for _, stored := range []bool{false, true} { // failed, and failed but stored
		synctest.Test(t, func(t *testing.T) {
			a, c, box, _ := rig(giving(assignment("tcp-64", "northeurope")))
			box.stored = stored
			box.deliver = func(_ string, attempt int) error {
				if attempt < 9 {
					return errStorage
				}
				return nil
			}
			live(t, a, c, 20*time.Minute)
			only(t, box)
			if box.attempts != 9 || c.spool.Len() != 0 {
				t.Errorf("%d attempts, %d documents left", box.attempts, c.spool.Len())
			}
		})
	}
}

func TestASuccessEndsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := assignment("first", "x"), assignment("second", "x")
		second.Start = second.Start.Add(2 * time.Minute)
		a, c, box, _ := rig(giving(first, second))
		var at []time.Time
		box.deliver = func(_ string, attempt int) error {
			at = append(at, time.Now())
			if attempt <= 6 || attempt == 8 { // six failures, a success, and for the second one failure
				return errStorage
			}
			return nil
		}
		live(t, a, c, 20*time.Minute)
		if len(at) != 9 || len(box.delivered) != 2 {
			t.Fatalf("%d attempts, %d documents", len(at), len(box.delivered))
		}
		if gap := at[8].Sub(at[7]); gap > time.Second {
			t.Errorf("after a success the next failure was waited on for %s, want a second at the most", gap)
		}
	})
}

func TestAConflictDoesNotHoldUpTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, box, _ := rig(giving(assignment("a", "x"), assignment("b", "x")))
		box.deliver = func(_ string, attempt int) error {
			if attempt == 1 {
				return mailbox.ErrConflict
			}
			return nil
		}
		live(t, a, c, 3*time.Minute)
		only(t, box)
		if box.attempts != 2 || c.spool.Len() != 0 {
			t.Errorf("%d attempts, %d documents left", box.attempts, c.spool.Len())
		}
	})
}

func TestStoppingIsBoundedAlthoughStorageDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, box, _ := rig(giving(assignment("tcp-64", "northeurope")))
		box.deliver = func(string, int) error { return errStorage }
		began := time.Now()
		live(t, a, c, 10*time.Minute)
		if took := time.Since(began) - 10*time.Minute; took > deliveryBound || took < deliveryBound/2 {
			t.Errorf("it took %s after the signal, want %s", took, deliveryBound)
		}
		if c.spool.Len() != 1 {
			t.Errorf("%d documents left, want 1", c.spool.Len())
		}
	})
}

func TestATaskThatBreaksEndsTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, _, _ := rig()
		server := func(context.Context) error { return errStorage }
		if err := supervise(t.Context(), a.log, c, []task{a.run}, []task{server}); !errors.Is(err, errStorage) {
			t.Errorf("%v, want what the server said", err)
		}
	})
}

func TestTheHeartbeatIsTriedAgainSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var beats []time.Duration
		began := time.Now()
		alone := newClaim(began)
		r := &registrar{
			now: time.Now, log: slog.New(slog.DiscardHandler), metrics: newMetrics(func() spool.Stats { return spool.Stats{} }), claim: alone,
			health: newHealth(sinceNow(), alone, 5*time.Second, 30*time.Second), registration: wire.Registration{HeartbeatInterval: 30 * time.Second},
		}
		r.book = bookFunc(func(reg wire.Registration) error {
			beats = append(beats, time.Since(began))
			if !reg.Heartbeat.Equal(time.Now()) {
				t.Errorf("heartbeat %s at %s", reg.Heartbeat, time.Now())
			}
			if n := len(beats); n == 3 || n == 4 { // two fail
				return errStorage
			}
			return nil
		})
		if err := r.run(ctxFor(t, 95*time.Second)); err != nil {
			t.Error(err)
		}
		if len(beats) < 6 || beats[0] != 0 || beats[1] != 30*time.Second || beats[2] != time.Minute {
			t.Fatalf("heartbeats at %v", beats)
		}
		if gap := beats[4] - beats[2]; gap > 3*time.Second+time.Millisecond { // at most 1 s, then 2 s
			t.Errorf("after two failures the heartbeat is back after %s", gap)
		}
		if gap := beats[5] - beats[4]; gap != 30*time.Second {
			t.Errorf("after a success the next is due in %s", gap)
		}
	})
}

type bookFunc func(wire.Registration) error

func (bookFunc) Registered(context.Context) (*wire.Registration, time.Duration, error) {
	return nil, 0, nil
}
func (f bookFunc) Register(_ context.Context, r wire.Registration) error { return f(r) }

func TestTheSameDocumentGivesTheSameBytes(t *testing.T) {
	slot := wire.Slot(time.Now())
	d := wire.Document{
		Version: 1, Environment: "dev", Slot: slot, Source: "westeurope", Probe: "p", Assignment: wire.AssignmentID("dev", slot, "westeurope", "p", 0), Attempt: "0123abcd",
		Runs: []wire.Run{probe.NotMade(probe.Request{Target: "x", Path: "public", Spec: wire.Spec{Kind: wire.KindTCP, Count: 5}, PlannedStart: slot}, wire.FailureCanceled, "")},
	}
	first, err := encode(&d)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // gzip's time stamp counts seconds
	second, err := encode(&d)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("a second later the bytes differ (%v)", err)
	}
	d.Runs = nil
	if _, err := encode(&d); err == nil {
		t.Error("a document that the app would refuse is sent")
	}
}
