package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"isochrone/prober/spool"
	"isochrone/prober/wire"
)

// shelf is the storage of one registration.
type shelf struct {
	mu      sync.Mutex
	stored  *wire.Registration
	written time.Time
	writers []time.Time // by their start, in the order in which they wrote
	down    bool
}

func (s *shelf) Registered(context.Context) (*wire.Registration, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, 0, errStorage
	}
	return s.stored, time.Since(s.written), nil
}

func (s *shelf) Register(_ context.Context, r wire.Registration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errStorage
	}
	s.stored, s.written = &r, time.Now()
	s.writers = append(s.writers, r.Started)
	return nil
}

// member is one of several processes with one id, started now.
type member struct {
	*registrar
	out  *output
	stop context.CancelFunc
	done chan struct{}
}

func join(t *testing.T, s *shelf) *member {
	t.Helper()
	m := &member{out: &output{}, done: make(chan struct{})}
	mine := newClaim(time.Now())
	m.registrar = &registrar{
		book: s, now: time.Now, log: slog.New(slog.NewJSONHandler(m.out, nil)), metrics: newMetrics(func() spool.Stats { return spool.Stats{} }), claim: mine,
		health:       newHealth(sinceNow(), mine, 5*time.Second, 30*time.Second),
		registration: wire.Registration{Prober: "eastus", Started: time.Now(), HeartbeatInterval: 30 * time.Second},
	}
	m.health.pollSucceeded()
	m.health.poll = 24 * time.Hour // so that it is not what makes it unready
	ctx, stop := context.WithCancel(t.Context())
	m.stop = stop
	go func() { defer close(m.done); _ = m.run(ctx) }()
	t.Cleanup(stop)
	return m
}

// kill ends the process without its leave.
func (m *member) kill() {
	m.book = &shelf{down: true}
	m.stop()
	<-m.done
}

func (m *member) expect(t *testing.T, when string, takes bool, ready string) {
	t.Helper()
	synctest.Wait()
	if _, ok := m.claim.free(); ok != takes {
		t.Errorf("%s: it takes assignments: %v, want %v", when, ok, takes)
	}
	if _, body := asked(m.health.ready); !strings.Contains(body, ready) {
		t.Errorf("%s: ready says %q, want %q", when, body, ready)
	}
}

func TestOfTwoProcessesTheLaterStandsAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		began := time.Now()
		older := join(t, s)
		time.Sleep(10 * time.Second)
		newer := join(t, s)
		fault := `another process is registered as "eastus" since ` + began.UTC().Format(time.RFC3339) + ": stop one of them"
		for range 30 {
			newer.expect(t, "beside the older", false, fault)
			older.expect(t, "beside the newer", true, "ok")
			time.Sleep(9900 * time.Millisecond) // to end before the sixth minute's error
		}
		synctest.Wait()
		for _, w := range s.writers {
			if !w.Equal(began) {
				t.Fatal("the newer wrote a registration")
			}
		}
		if n := strings.Count(newer.out.String(), `"level":"ERROR","msg":"another process is registered as \"eastus\"`); n != 5 {
			t.Errorf("%d errors in the log in nearly five minutes, want one a minute", n)
		}
		stopped := time.Now()
		older.stop()
		time.Sleep(lookAgain)
		newer.expect(t, "two seconds after the older was stopped", true, "ok")
		if since, _ := newer.claim.free(); !since.Equal(stopped) {
			t.Errorf("it takes what starts from %s on, want %s: the older delivers what began before", since, stopped)
		}
	})
}

func TestARestartAfterAStopDoesNotWaitAndAfterAKillAtMostTwoHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		first := join(t, s)
		time.Sleep(time.Minute + time.Second)
		first.stop()
		<-first.done
		second := join(t, s)
		second.expect(t, "at once after a stop", true, "ok")
		time.Sleep(45 * time.Second) // the last heartbeat is 15 s old
		synctest.Wait()
		second.kill()
		third := join(t, s)
		began := time.Now()
		third.expect(t, "at once after a kill", false, "another process")
		time.Sleep(44 * time.Second)
		third.expect(t, "59 s after the last heartbeat", false, "another process")
		time.Sleep(4 * time.Second)
		third.expect(t, "63 s after the last heartbeat", true, "ok")
		if since, _ := third.claim.free(); !since.Equal(began) {
			t.Errorf("it takes what starts from %s on, want its own start, %s", since, began)
		}
	})
}

func TestOfTwoProcessesThatStartTogetherTheOlderRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		older := join(t, s)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		s.stored = nil // as if the newer had looked before the older wrote
		newer := join(t, s)
		newer.expect(t, "before either has seen the other", true, "ok")
		time.Sleep(30*time.Second - time.Millisecond) // the older's second heartbeat comes first
		synctest.Wait()
		if !strings.Contains(older.out.String(), `goes on, as the older`) {
			t.Errorf("the older says nothing of the newer: %s", older.out)
		}
		time.Sleep(30 * time.Second)
		older.expect(t, "after two heartbeats", true, "ok")
		newer.expect(t, "after two heartbeats", false, "another process")
		newer.stop()
		<-newer.done
		if s.stored.Stopped || !s.stored.Started.Equal(older.registration.Started) {
			t.Errorf("the newer, stopped, left %+v: want the older's registration as it was", s.stored)
		}
	})
}

func TestNothingIsTakenBeforeTheFirstLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{down: true}
		m := join(t, s)
		time.Sleep(time.Minute)
		m.expect(t, "while storage is away", false, "registering has not succeeded yet")
		s.mu.Lock()
		s.down = false
		s.mu.Unlock()
		time.Sleep(30 * time.Second)
		m.expect(t, "after storage is back", true, "ok")
		s.mu.Lock()
		s.down = true
		s.mu.Unlock()
		time.Sleep(time.Hour)
		m.expect(t, "in an outage", true, "registering has not succeeded for")
	})
}

func TestAnotherProcessWithAWrongClockDoesNotHoldUsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		s := &shelf{written: now.Add(-time.Hour), stored: &wire.Registration{Prober: "eastus", Started: now.Add(-time.Hour), Heartbeat: now.Add(24 * time.Hour), HeartbeatInterval: 30 * time.Second}}
		m := join(t, s)
		m.expect(t, "an hour after the other's last heartbeat", true, "ok")
		if since, _ := m.claim.free(); since.After(now) {
			t.Errorf("it takes nothing until %s", since)
		}
	})
}

func TestWhatIsFetchedWhileStandingAsideIsTakenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		older, ours := assignment("older", "x"), assignment("ours", "x")
		older.Start = older.Start.Add(-40 * time.Second) // in 20 s
		a, c, box, _ := rig(giving(older, ours))
		a.claim.contest("another", true)
		time.AfterFunc(30*time.Second, func() { a.claim.seen(time.Now()); a.claim.uncontested() })
		live(t, a, c, 20*time.Minute)
		if d := only(t, box); d.Probe != "ours" {
			t.Errorf("worked on %q", d.Probe)
		}
	})
}

func TestASecondProcessOfAnIdTakesOverWhenTheFirstIsStopped(t *testing.T) {
	const id = "westeurope"
	x := newExchange(t)
	first := startProcess(t, x.account, x.environment, id)
	x.registered(t, id)
	port := x.ports[id]
	second := startProcess(t, x.account, x.environment, id)
	fault := `another process is registered as "westeurope" since `
	eventually(t, "the second does not complain", func() bool { return strings.Contains(second.out.String(), `"level":"ERROR"`) })
	if code, body := second.local(t, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, fault) {
		t.Errorf("the second is ready: %d %q, want 503 %q", code, body, fault)
	}
	as, _ := x.assign(t, id, id, "connect", connectSpec, time.Now().UTC().Add(8*time.Second))
	x.write(t, id, []wire.Assignment{as}, nil)
	eventually(t, "the first has not taken it", func() bool { return first.out.field("took an assignment", "assignment") == as.ID })
	time.Sleep(time.Second) // five polls, and a heartbeat of either
	if second.out.field("took an assignment", "assignment") != "" {
		t.Error("both took the assignment")
	}
	if x.registered(t, id); x.ports[id] != port {
		t.Error("the second has registered")
	}
	if code, _ := first.exit(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	eventually(t, "the second has not taken over", func() bool {
		x.registered(t, id)
		return x.ports[id] != port && second.out.field("took an assignment", "assignment") == as.ID
	})
	if code, body := second.local(t, "/readyz"); code != http.StatusOK {
		t.Errorf("after it took over: %d %q", code, body)
	}
	if code, _ := second.exit(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	var last wire.Registration
	if err := json.Unmarshal(x.get(wire.ProbersContainer(x.environment), wire.RegistrationBlob(id)), &last); err != nil || !last.Stopped {
		t.Errorf("the last registration does not say stopped: %+v, %v", last, err)
	}
}
