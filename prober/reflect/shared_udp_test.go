package reflect

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// openSharedUDP starts a reflector with a shared secret on a UDP socket.
func openSharedUDP(t *testing.T, c *clock) (*running, *watched) {
	t.Helper()
	conn, err := ListenUDP(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{}
	r := &running{counts: &counts{}, address: conn.LocalAddr().String()}
	r.Reflector = New(Config{
		Observer: r.counts, Now: c.now, Uptime: c.uptime, Log: slog.New(slog.DiscardHandler), Secret: secret, Watch: w.ring,
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.ServeUDP(ctx, conn) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	return r, w
}

// sharedStamp makes a udp session as a source with that secret does.
func sharedStamp(t *testing.T, secret []byte, made time.Time, bytes int) wire.Session {
	t.Helper()
	s := shared(t, secret, made, bytes, 0)
	s.Kind = wire.KindUDP
	return s
}

func TestWhoHoldsTheSecretIsAnsweredOverUDP(t *testing.T) {
	c := newClock()
	r, w := openSharedUDP(t, c)
	for i, bytes := range []int{wire.MinDatagramBytes, 200, wire.MaxDatagramBytes} {
		s := sourceOfSession(t, r.address, sharedStamp(t, secret, c.now(), bytes))
		if got := s.reports(t, 0); got != (stamp.Report{}) {
			t.Errorf("at first it reports %+v", got)
		}
		for n := range uint32(3) {
			reply := s.ask(t, s.sample(n))
			if a, ok := stamp.ParseReply(reply, stamp.Authenticated); !ok || len(reply) != bytes || !s.key.Verify(reply) || a.Sequence != n {
				t.Fatalf("sample %d of %d octets was answered with %d: %+v", n, bytes, len(reply), a)
			}
		}
		if got, want := s.reports(t, 1), (stamp.Report{Received: 3, Replies: 3}); got != want {
			t.Errorf("at the end it reports %+v, want %+v", got, want)
		}
		r.expect(t, i+1, map[Reason]int{})
		w.mu.Lock()
		want := Admission{Kind: wire.KindUDP, From: netip.MustParseAddrPort(s.LocalAddr().String()), RequestBytes: bytes}
		if len(w.seen) != i+1 || w.seen[i] != want {
			t.Errorf("told of %+v, want the last to be %+v", w.seen, want)
		}
		w.mu.Unlock()
	}
}

func TestWithASharedSecretNobodyElseGetsADatagram(t *testing.T) {
	c := newClock()
	now := c.now()
	good := sharedStamp(t, secret, now, 200)
	forged := good
	forged.ID[12]++
	for name, x := range map[string]struct {
		session wire.Session
		want    Reason
	}{
		"another secret":       {sharedStamp(t, []byte("another secret of some length"), now, 200), ReasonWrongKey},
		"an id that changed":   {forged, ReasonWrongKey},
		"an old time":          {sharedStamp(t, secret, now.Add(-sharedSkew-2*time.Second), 200), ReasonTooLate},
		"a time to come":       {sharedStamp(t, secret, now.Add(sharedSkew+time.Minute), 200), ReasonTooEarly},
		"smaller than STAMP":   {sharedStamp(t, secret, now, wire.MinDatagramBytes-1), ReasonBadSizes},
		"larger than a packet": {sharedStamp(t, secret, now, wire.MaxDatagramBytes+1), ReasonBadSizes},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := openSharedUDP(t, c)
			s := sourceOfSession(t, r.address, x.session)
			s.send(t, s.control(0))
			r.expect(t, 0, map[Reason]int{x.want: 1})
			unanswered(t, s)
			r.door.mu.Lock()
			defer r.door.mu.Unlock()
			if n := len(r.door.sessions) + len(r.door.peers); n != 0 {
				t.Errorf("%d sessions are remembered of somebody who was refused", n)
			}
		})
	}
}

func TestASharedUDPSessionIsItsFirstPeers(t *testing.T) {
	c := newClock()
	r, _ := openSharedUDP(t, c)
	session := sharedStamp(t, secret, c.now(), 200)
	first := sourceOfSession(t, r.address, session)
	first.reports(t, 0)
	second := sourceOfSession(t, r.address, session) // with everything that was overheard
	second.send(t, first.control(0))
	second.send(t, first.control(1))
	second.send(t, first.sample(0))
	r.expect(t, 1, map[Reason]int{ReasonInUse: 2, ReasonUnknownSession: 1})
	unanswered(t, second)
	// When it is over, and when it is forgotten, it is not granted again.
	refused := map[Reason]int{ReasonInUse: 2, ReasonUnknownSession: 1}
	for _, later := range []time.Duration{sharedLifetime, 24 * time.Hour} {
		c.move(later)
		r.door.mu.Lock()
		r.door.forget(r.now())
		r.door.mu.Unlock()
		second.send(t, first.control(2))
		refused[ReasonTooLate]++
		r.expect(t, 1, refused)
	}
	unanswered(t, second)
	r.door.mu.Lock()
	defer r.door.mu.Unlock()
	if n := len(r.door.sessions) + len(r.door.peers) + r.door.tracked; n != 0 {
		t.Errorf("%d are kept of a session that is over", n)
	}
}
