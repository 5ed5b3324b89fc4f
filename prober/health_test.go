package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"isochrone/prober/wire"
)

// sinceNow is the uptime of a program that starts now.
func sinceNow() func() time.Duration {
	begun := time.Now()
	return func() time.Duration { return time.Since(begun) }
}

func asked(check func() error) (int, string) {
	w := httptest.NewRecorder()
	answering(check)(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w.Code, w.Body.String()
}

// expectHealth looks at both answers at given times since the start. ready is a part of the text.
func expectHealth(t *testing.T, h *health, looks []look) {
	t.Helper()
	for _, l := range looks {
		time.Sleep(l.after - h.uptime())
		if code, body := asked(h.alive); (code == http.StatusOK) != l.alive {
			t.Errorf("after %s: alive %d %q, want %v", l.after, code, body, l.alive)
		}
		code, body := asked(h.ready)
		if want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[l.ready == "ok"]; code != want || !strings.Contains(body, l.ready) {
			t.Errorf("after %s: ready %d %q, want %d %q", l.after, code, body, want, l.ready)
		}
	}
}

type look struct {
	after time.Duration
	alive bool
	ready string
}

func TestAProberIsAliveThroughAnOutageOfStorageAndNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, box, _ := rig(func() (*wire.Current, error) { return nil, nil })
		for range 240 { // twenty minutes
			box.polls = append(box.polls, func() (*wire.Current, error) { return nil, errStorage })
		}
		a.health.heartbeat = time.Hour // so that the registration does not grow old
		a.health.heartbeatSucceeded()
		done := make(chan struct{})
		go func() { defer close(done); live(t, a, c, 25*time.Minute) }()
		expectHealth(t, a.health, []look{
			{50 * time.Second, true, "ok"},
			{65 * time.Second, true, "polling assignments has not succeeded for 1m5s"},
			{10 * time.Minute, true, "polling assignments has not succeeded for 10m0s"},
			{24 * time.Minute, true, "ok"},
		})
		<-done
	})
}

func TestAProberWhoseRegistrationIsOldIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, _, _ := rig()
		r := &registrar{
			now: time.Now, log: slog.New(slog.DiscardHandler), metrics: a.metrics, health: a.health, claim: a.claim,
			registration: wire.Registration{HeartbeatInterval: 30 * time.Second},
		}
		r.book = bookFunc(func(wire.Registration) error {
			if at := a.health.uptime(); at < 10*time.Second || at > 100*time.Second && at < 300*time.Second {
				return errStorage
			}
			return nil
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := supervise(ctxFor(t, 10*time.Minute), a.log, c, []task{a.run, r.run}, nil); err != nil {
				t.Error(err)
			}
		}()
		expectHealth(t, a.health, []look{
			{9 * time.Second, true, "registering has not succeeded yet"},
			{60 * time.Second, true, "ok"},
			{150 * time.Second, true, "ok"},
			{250 * time.Second, true, "registering has not succeeded for "},
			{350 * time.Second, true, "ok"},
		})
		<-done
	})
}

// hanging is a mailbox whose poll does not even end with its context, as with a lock that is
// never given back.
type hanging struct{ release chan struct{} }

func (h hanging) Poll(context.Context) (*wire.Current, error) { <-h.release; return nil, nil }

func TestAProberWhoseLoopHangsIsNotAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, _, _ := rig()
		stuck := hanging{make(chan struct{})}
		a.current = stuck
		done := make(chan struct{})
		go func() { defer close(done); live(t, a, c, 10*time.Minute) }()
		expectHealth(t, a.health, []look{
			{stuckAfter - time.Second, true, "polling assignments has not succeeded yet"},
			{stuckAfter + time.Second, false, "polling assignments has not succeeded yet"},
		})
		close(stuck.release)
		expectHealth(t, a.health, []look{{stuckAfter + time.Minute, true, "registering has not succeeded yet"}})
		<-done
	})
}

// The longest that one round of the loop may take by the settings and the mailbox's own limit.
func TestASlowLoopIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, box, _ := rig()
		a.settings.poll = time.Minute
		for range 5 {
			box.polls = append(box.polls, func() (*wire.Current, error) { time.Sleep(30 * time.Second); return nil, errStorage })
		}
		done := make(chan struct{})
		go func() { defer close(done); live(t, a, c, 10*time.Minute) }()
		for range 60 {
			time.Sleep(9 * time.Second)
			if err := a.health.alive(); err != nil {
				t.Errorf("after %s: %v", a.health.uptime(), err)
			}
		}
		<-done
	})
}

func TestTheHelpNamesWhatIsServed(t *testing.T) {
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if !strings.Contains(help, "\n  "+path+" ") {
			t.Errorf("%s is not explained in the help", path)
		}
	}
}
