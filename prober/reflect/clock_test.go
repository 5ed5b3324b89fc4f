package reflect

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// refuse sends a first message that was made with the nonce, and expects silence.
func refuse(t *testing.T, r *running, s wire.Session, nonce wire.Nonce) {
	t.Helper()
	conn := dial(t, r.address)
	hello := wire.ClientHello(s.Key, wire.KindTCP, s.ID, nonce)
	write(t, conn, hello[:])
	silence(t, conn)
}

func TestAStepOfTheWallClockDoesNotMakeAReplayGood(t *testing.T) {
	for name, step := range map[string]time.Duration{"past the deadline and back": 2 * time.Minute, "by days and back": 72 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := session()
			r, clock := open(t, Limits{}, s)
			nonce := wire.NewNonce()
			first := dial(t, r.address)
			if !greet(t, first, s, nonce) {
				t.Fatal("refused")
			}
			_ = first.Close()
			clock.set(step)
			r.Admit([]wire.Session{s}) // by this clock, the session is over
			r.Admit(nil)
			clock.set(0)
			r.Admit([]wire.Session{s})
			refuse(t, r, s, nonce)
			r.expect(t, 1, map[Reason]int{ReasonReplayed: 1})
		})
	}
}

// The wall clock is fast from the start, so the session seems to have little time left; when
// that is over it is set right, and the session has time again.
func TestAClockThatWasFastDoesNotMakeAReplayGood(t *testing.T) {
	s := session() // from 2 s to a minute from now
	c := newClock()
	r := startAt(t, Limits{}, c)
	c.set(40 * time.Second)
	late := s
	late.NotBefore = s.NotBefore.Add(45 * time.Second) // after the start, by the fast clock too
	r.Admit([]wire.Session{late})
	c.move(8 * time.Second)
	nonce := wire.NewNonce()
	first := dial(t, r.address)
	if !greet(t, first, late, nonce) {
		t.Fatal("refused")
	}
	_ = first.Close()
	c.move(15 * time.Second) // past the deadline by the fast clock; the deadline is 37 s away
	r.Admit(nil)
	c.move(25 * time.Second)
	c.set(0)
	r.Admit([]wire.Session{late})
	refuse(t, r, late, nonce)
	r.expect(t, 1, map[Reason]int{ReasonReplayed: 1})
}

func TestWhatIsOverByBothClocksIsForgotten(t *testing.T) {
	s := session()
	r, clock := open(t, Limits{}, s)
	first := dial(t, r.address)
	if !greet(t, first, s, wire.NewNonce()) {
		t.Fatal("refused")
	}
	remembered := func() int {
		r.Admit(nil)
		r.door.mu.Lock()
		defer r.door.mu.Unlock()
		return len(r.door.sessions)
	}
	clock.set(24 * time.Hour)
	if n := remembered(); n != 1 {
		t.Errorf("the wall clock alone says that it is over: %d sessions are remembered, want 1", n)
	}
	clock.set(0)
	clock.move(maxAhead + 2*time.Minute)
	if n := remembered(); n != 0 {
		t.Errorf("a quarter of an hour after its deadline %d sessions are remembered", n)
	}
}

// A process takes over with a clock that is a minute slow, so that it seems to have started
// before the session; then the clock is set right.
func TestARestartWithASlowClockDoesNotMakeAReplayGood(t *testing.T) {
	s := session()
	r, clock := open(t, Limits{}, s)
	nonce := wire.NewNonce()
	if !greet(t, dial(t, r.address), s, nonce) {
		t.Fatal("the first reflector refused")
	}
	clock.set(-time.Minute)
	second := startAt(t, Limits{}, clock)
	second.Admit([]wire.Session{s})
	refuse(t, second, s, nonce)
	clock.set(0)
	refuse(t, second, s, nonce)
	second.expect(t, 0, map[Reason]int{ReasonTooEarly: 1, ReasonBeforeStart: 1})

	// What begins later is admitted, however the clock was.
	next := s
	next.ID, next.NotBefore = wire.SessionID{7}, clock.now().Add(time.Second)
	second.Admit([]wire.Session{s, next})
	clock.move(2 * time.Second)
	if !greet(t, dial(t, second.address), next, wire.NewNonce()) {
		t.Error("a session that begins after the restart was refused")
	}
}

// stopper cancels when a session is admitted, and gives what that sets off time to happen.
type stopper struct {
	counts
	cancel context.CancelFunc
}

func (s *stopper) SessionAdmitted() {
	s.cancel()
	time.Sleep(100 * time.Millisecond)
}

func TestBeingStoppedBetweenTheFirstMessageAndTheAnswerEndsTheSession(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newClock()
	ctx, cancel := context.WithCancel(t.Context())
	r := New(Config{Observer: &stopper{cancel: cancel}, Now: c.now, Uptime: c.uptime, Log: slog.New(slog.DiscardHandler)})
	s := session()
	r.Admit([]wire.Session{s})
	c.move(3 * time.Second)
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, listener) }()
	conn := dial(t, listener.Addr().String())
	hello := wire.ClientHello(s.Key, wire.KindTCP, s.ID, wire.NewNonce())
	write(t, conn, hello[:])
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second): // the session's deadline is a minute away
		t.Error("serving did not end")
		_ = conn.Close()
		<-served
	}
}

// A connection may be accepted in the moment of the stop.
func TestAConnectionAcceptedWhileBeingStoppedEndsAtOnce(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // a test's end
	c := newClock()
	counted := &counts{}
	r := New(Config{Limits: Limits{Hello: time.Minute}, Observer: counted, Now: c.now, Uptime: c.uptime, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var connections sync.WaitGroup
	ended := make(chan struct{})
	for range 300 {
		peer := dial(t, listener.Addr().String())
		conn, err := listener.AcceptTCP()
		if err != nil {
			t.Fatal(err)
		}
		r.accept(ctx, conn, &connections)
		defer func(peer net.Conn) { _ = peer.Close() }(peer)
	}
	go func() { connections.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("a connection waits for its first message, although the reflector was stopped")
	}
	if _, refused := counted.snapshot(); len(refused) > 0 {
		t.Errorf("refused %v: being stopped is nobody's fault", refused)
	}
}
