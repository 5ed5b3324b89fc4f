package reflect

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
)

var secret = []byte("a secret of more than sixteen bytes")

// watched collects what the reflector tells of admissions.
type watched struct {
	mu   sync.Mutex
	seen []Admission
}

func (w *watched) ring(a Admission) { w.mu.Lock(); defer w.mu.Unlock(); w.seen = append(w.seen, a) }

// openShared starts a reflector with a shared secret.
func openShared(t *testing.T, c *clock) (*running, *watched) {
	t.Helper()
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{}
	r := &running{counts: &counts{}, address: listener.Addr().String()}
	r.Reflector = New(Config{
		Observer: r.counts, Now: c.now, Uptime: c.uptime, Log: slog.New(slog.DiscardHandler), Secret: secret, Watch: w.ring,
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	return r, w
}

// shared makes a session as a source with that secret does.
func shared(t *testing.T, secret []byte, made time.Time, request, response int) wire.Session {
	t.Helper()
	id, key, err := wire.SharedSession(secret, made, request, response)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Session{ID: id, Key: key, Kind: wire.KindTCP, RequestBytes: request, ResponseBytes: response}
}

func TestWhoHoldsTheSecretIsAnsweredInItsSizes(t *testing.T) {
	c := newClock()
	r, w := openShared(t, c)
	for i, size := range []struct{ request, response int }{{16, 16}, {64, 16}, {wire.MaxMessageBytes, wire.MaxMessageBytes}} {
		s := shared(t, secret, c.now(), size.request, size.response)
		conn := dial(t, r.address)
		if !greet(t, conn, s, wire.NewNonce()) {
			t.Fatalf("requests of %d bytes: not admitted", size.request)
		}
		for n := range uint64(3) {
			if _, err := ask(t, conn, s, n); err != nil {
				t.Fatal(err)
			}
		}
		r.expect(t, i+1, nil)
		w.mu.Lock()
		want := Admission{Kind: wire.KindTCP, From: netip.MustParseAddrPort(conn.LocalAddr().String()), RequestBytes: size.request, ResponseBytes: size.response}
		if len(w.seen) != i+1 || w.seen[i] != want {
			t.Errorf("told of %+v, want the last to be %+v", w.seen, want)
		}
		w.mu.Unlock()
	}
}

func TestWithASharedSecretNobodyElseGetsAByte(t *testing.T) {
	hello := func(s wire.Session, kind wire.Kind) []byte {
		h := wire.ClientHello(s.Key, kind, s.ID, wire.NewNonce())
		return h[:]
	}
	c := newClock()
	now := c.now()
	other := []byte("another secret of some length")
	forged := shared(t, secret, now, 64, 16)
	forged.ID[15]++ // larger responses than were agreed
	for _, x := range []struct {
		name   string
		bytes  []byte
		reason Reason
	}{
		{"another secret", hello(shared(t, other, now, 64, 16), wire.KindTCP), ReasonWrongKey},
		{"another secret and an old time", hello(shared(t, other, now.Add(-time.Hour), 64, 16), wire.KindTCP), ReasonWrongKey},
		{"made for another kind", hello(shared(t, secret, now, 64, 16), wire.KindUDP), ReasonWrongKey},
		{"an id that was changed", hello(forged, wire.KindTCP), ReasonWrongKey},
		{"an old time", hello(shared(t, secret, now.Add(-sharedSkew-2*time.Second), 64, 16), wire.KindTCP), ReasonTooLate},
		{"a time to come", hello(shared(t, secret, now.Add(sharedSkew+time.Minute), 64, 16), wire.KindTCP), ReasonTooEarly},
		{"responses larger than requests", hello(shared(t, secret, now, 64, 65), wire.KindTCP), ReasonBadSizes},
		{"requests too small", hello(shared(t, secret, now, 15, 15), wire.KindTCP), ReasonBadSizes},
		{"requests too large", hello(shared(t, secret, now, wire.MaxMessageBytes+1, 16), wire.KindTCP), ReasonBadSizes},
		{"zeros", make([]byte, 256), ReasonWrongKey},
		{"garbage", []byte("GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: a scanner that says a lot\r\n\r\n"), ReasonWrongKey},
	} {
		t.Run(x.name, func(t *testing.T) {
			r, _ := openShared(t, c)
			conn := dial(t, r.address)
			write(t, conn, x.bytes)
			silence(t, conn)
			r.expect(t, 0, map[Reason]int{x.reason: 1})
			r.door.mu.Lock()
			defer r.door.mu.Unlock()
			if n := len(r.door.sessions); n != 0 {
				t.Errorf("%d sessions are remembered of somebody who was refused", n)
			}
		})
	}
}

func TestClocksMayDifferByTenMinutes(t *testing.T) {
	c := newClock()
	r, _ := openShared(t, c)
	for _, off := range []time.Duration{-sharedSkew + 5*time.Second, sharedSkew - 5*time.Second} {
		if !greet(t, dial(t, r.address), shared(t, secret, c.now().Add(off), 64, 16), wire.NewNonce()) {
			t.Errorf("a source whose clock is %s off is refused", off)
		}
	}
}

func TestASharedSessionIsNotReplayed(t *testing.T) {
	c := newClock()
	r, _ := openShared(t, c)
	s := shared(t, secret, c.now(), 64, 16)
	nonce := wire.NewNonce()
	first := dial(t, r.address)
	if !greet(t, first, s, nonce) {
		t.Fatal("refused")
	}
	_ = first.Close()
	replay := wire.ClientHello(s.Key, wire.KindTCP, s.ID, nonce)
	refused := map[Reason]int{}
	for _, x := range []struct {
		later  time.Duration
		reason Reason
	}{
		{0, ReasonReplayed}, {sharedSkew, ReasonReplayed},
		{sharedLifetime, ReasonTooLate}, // it is over, and not forgotten
		{24 * time.Hour, ReasonTooLate}, // forgotten, and too old to be granted again
	} {
		c.move(x.later)
		if x.later == 24*time.Hour {
			r.door.mu.Lock()
			r.door.forget(r.now())
			if n := len(r.door.sessions); n != 0 {
				t.Errorf("%d sessions are kept that are over", n)
			}
			r.door.mu.Unlock()
		}
		conn := dial(t, r.address)
		write(t, conn, replay[:])
		silence(t, conn)
		refused[x.reason]++
		r.expect(t, 1, refused)
	}
}

func TestASharedSessionHasOneConnectionAtATime(t *testing.T) {
	c := newClock()
	r, _ := openShared(t, c)
	s := shared(t, secret, c.now(), 64, 16)
	if !greet(t, dial(t, r.address), s, wire.NewNonce()) {
		t.Fatal("refused")
	}
	second := dial(t, r.address)
	hello := wire.ClientHello(s.Key, wire.KindTCP, s.ID, wire.NewNonce())
	write(t, second, hello[:])
	silence(t, second)
	r.expect(t, 1, map[Reason]int{ReasonInUse: 1})
}

func TestSharedSessionsAreBoundedAndMakeRoomWhenTheyAreOver(t *testing.T) {
	c := newClock()
	d := newDoor(moment{wall: c.now(), uptime: c.uptime()})
	d.secret = secret
	enter := func() Reason {
		s := shared(t, secret, c.now(), 64, 16)
		g, reason := d.enter(wire.ClientHello(s.Key, wire.KindTCP, s.ID, wire.NewNonce()), moment{wall: c.now(), uptime: c.uptime()})
		if g != nil {
			d.leave(g)
		}
		return reason
	}
	for i := range maxShared {
		if reason := enter(); reason != "" {
			t.Fatalf("session %d is refused: %s", i, reason)
		}
	}
	if reason := enter(); reason != ReasonSessionLimit || len(d.sessions) != maxShared {
		t.Errorf("one too many: %q, %d remembered; want %q", reason, len(d.sessions), ReasonSessionLimit)
	}
	c.move(sharedLifetime + maxAhead + time.Minute)
	if reason := enter(); reason != "" || len(d.sessions) != 1 {
		t.Errorf("when the others are over: %q, %d remembered; want 1", reason, len(d.sessions))
	}
}
