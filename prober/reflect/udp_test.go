package reflect

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// stampOf is session() of the udp kind.
func stampOf(id byte) wire.Session {
	s := session()
	s.ID, s.Kind, s.Probe, s.RequestBytes, s.ResponseBytes = wire.SessionID{9, id}, wire.KindUDP, "udp", 200, 0
	return s
}

// openUDP starts a reflector on a UDP socket that admits the sessions, with its clock in their time.
func openUDP(t *testing.T, sessions ...wire.Session) (*running, *clock) {
	t.Helper()
	conn, err := ListenUDP(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newClock()
	r := &running{counts: &counts{}, address: conn.LocalAddr().String()}
	bound := int64(1_000_000)
	r.Reflector = New(Config{
		Observer: r.counts, Now: c.now, Uptime: c.uptime, Log: slog.New(slog.DiscardHandler),
		ClockError: func() *int64 { return &bound },
	})
	r.Admit(sessions)
	c.move(3 * time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.ServeUDP(ctx, conn) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("serving ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("serving did not end within 20 s of being told to")
		}
	})
	return r, c
}

// source is one end of a session, on a socket of its own.
type source struct {
	*net.UDPConn
	session wire.Session
	key     *stamp.Authenticator
}

func sourceOfSession(t *testing.T, address string, s wire.Session) *source {
	t.Helper()
	c, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &source{UDPConn: c.(*net.UDPConn), session: s, key: stamp.NewAuthenticator(s.Key[:])}
}

func (s *source) request(sequence uint32) stamp.Request {
	return stamp.Request{Sequence: sequence, T1: stamp.NTP(1_790_000_000_123_456_789), Estimate: stamp.UnknownError, SSID: s.session.ID.SSID()}
}

// sample is the packet of a sample.
func (s *source) sample(sequence uint32) []byte {
	b := stamp.AppendPadding(make([]byte, stamp.AuthenticatedBytes), s.session.RequestBytes-stamp.AuthenticatedBytes)
	stamp.PutRequest(b, stamp.Authenticated, s.request(sequence))
	s.key.Sign(b)
	return b
}

// control is a control packet, the attempt-th.
func (s *source) control(attempt uint32) []byte {
	b := make([]byte, stamp.ControlBytes)
	s.key.PutControl(b, s.request(stamp.ControlFrom+attempt), s.session.ID)
	return b
}

// ask sends b and returns the reply.
func (s *source) ask(t *testing.T, b []byte) []byte {
	t.Helper()
	s.send(t, b)
	reply := make([]byte, 2000)
	_ = s.SetReadDeadline(time.Now().Add(20 * time.Second))
	n, err := s.Read(reply)
	if err != nil {
		t.Fatalf("no reply: %v", err)
	}
	return reply[:n]
}

func (s *source) send(t *testing.T, b []byte) {
	t.Helper()
	if _, err := s.Write(b); err != nil {
		t.Fatal(err)
	}
}

// answered asks with a sample and checks the reply, whose number it returns.
func (s *source) answered(t *testing.T, sequence uint32) uint32 {
	t.Helper()
	before := time.Now().UnixNano()
	b := s.ask(t, s.sample(sequence))
	a, ok := stamp.ParseReply(b, stamp.Authenticated)
	if !ok || len(b) != s.session.RequestBytes || !s.key.Verify(b) || !a.Answers(s.request(sequence)) {
		t.Fatalf("sample %d was answered with %d octets: %+v", sequence, len(b), a)
	}
	_, t2, t3, ok := a.Times(before)
	if !ok || t2 < before || t3 < t2 || time.Now().UnixNano() < t3 {
		t.Errorf("T2 is %d ns after it was sent, T3 %d after T2", t2-before, t3-t2)
	}
	if bound, ok := a.Estimate.BoundNS(); !ok || !a.Estimate.Synchronized() || bound < 1_000_000 || bound > 1_020_000 {
		t.Errorf("the clock's bound is %d, want a millisecond", bound)
	}
	padding := b[stamp.AuthenticatedBytes]
	if padding != 0 {
		t.Errorf("the padding's flags are %#x, want it recognized", padding)
	}
	if socket.Stamps && a.TTL != 64 {
		t.Errorf("TTL %d, want the 64 that it was sent with", a.TTL)
	}
	return a.Sequence
}

// reports asks with a control packet and returns the report.
func (s *source) reports(t *testing.T, attempt uint32) stamp.Report {
	t.Helper()
	b := s.ask(t, s.control(attempt))
	c, ok := stamp.ParseControl(b)
	a, _ := stamp.ParseReply(b, stamp.Authenticated)
	if !ok || !s.key.VerifyControl(b) || !c.Recognized || c.Session != s.session.ID || !a.Answers(s.request(stamp.ControlFrom+attempt)) || a.Sequence != a.SenderSequence {
		t.Fatalf("a control packet was answered with %+v, %+v", a, c)
	}
	return c.Report
}

// unanswered checks that nothing came to any of the sockets. Whatever the reflector would have sent
// before this is called, it has sent before it answers another's question.
func unanswered(t *testing.T, sources ...*source) {
	t.Helper()
	for _, s := range sources {
		_ = s.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if n, err := s.Read(make([]byte, 2000)); err == nil {
			t.Errorf("a stranger got %d octets", n)
		}
	}
}

func TestAUDPSessionCountsWhatItAnswers(t *testing.T) {
	r, _ := openUDP(t, stampOf(1))
	s := sourceOfSession(t, r.address, stampOf(1))
	if got := s.reports(t, 0); got != (stamp.Report{}) {
		t.Errorf("at first it reports %+v", got)
	}
	if n := s.answered(t, stamp.WarmupFrom); n != stamp.WarmupFrom {
		t.Errorf("the warm-up's reply is number %#x, want the sample's own", n)
	}
	for n, sequence := range []uint32{0, 1, 4, 3, 2, 5, 5, 0} {
		if got := s.answered(t, sequence); got != uint32(n) {
			t.Errorf("the reply to sample %d is number %d, want %d", sequence, got, n)
		}
	}
	if got, want := s.reports(t, 1), (stamp.Report{Received: 6, Duplicates: 2, Reordered: 2, Replies: 8}); got != want {
		t.Errorf("at the end it reports %+v, want %+v", got, want)
	}
	r.expect(t, 1, map[Reason]int{})
}

// Each of these gets no byte, and is counted.
func TestAUDPReflectorAnswersNoStranger(t *testing.T) {
	listed, other, early, tcp := stampOf(1), stampOf(2), stampOf(3), session()
	early.NotBefore = early.NotBefore.Add(30 * time.Second)
	wrong := listed
	wrong.Key = wire.Key{7}
	unlisted := stampOf(8)
	r, _ := openUDP(t, listed, other, early, tcp)
	own := sourceOfSession(t, r.address, listed)
	own.reports(t, 0)
	own.answered(t, 0)
	overheard := own.ask(t, own.sample(1))

	second := sourceOfSession(t, r.address, listed)
	for name, c := range map[string]struct {
		from *source
		b    []byte
		want Reason
	}{
		"a sample from a second port":      {second, own.sample(2), ReasonUnknownSession},
		"a replay from a second port":      {second, own.sample(0), ReasonUnknownSession},
		"an opening from a second port":    {second, own.control(0), ReasonInUse},
		"a sample before the opening":      {sourceOfSession(t, r.address, other), sourceOfSession(t, r.address, other).sample(0), ReasonUnknownSession},
		"an opening with another key":      {sourceOfSession(t, r.address, listed), sourceOfSession(t, r.address, wrong).control(0), ReasonWrongKey},
		"a closing with another key":       {own, sourceOfSession(t, r.address, wrong).control(1), ReasonWrongKey},
		"a sample with another key":        {own, sourceOfSession(t, r.address, wrong).sample(2), ReasonWrongKey},
		"a sample of another size":         {own, own.sample(2)[:199], ReasonWrongSize},
		"a sample of the smallest size":    {own, own.sample(2)[:112], ReasonWrongSize},
		"a sample beyond the last":         {own, own.sample(100), ReasonExhausted},
		"a warm-up beyond the last":        {own, own.sample(stamp.WarmupFrom + 100), ReasonExhausted},
		"its own reply":                    {own, overheard, ReasonOwnReply},
		"an unauthenticated packet":        {own, make([]byte, 44), ReasonMalformed},
		"an empty packet":                  {own, nil, ReasonMalformed},
		"a packet that is longer than any": {own, make([]byte, 1453), ReasonMalformed},
		"an opening that was not listed":   {sourceOfSession(t, r.address, unlisted), sourceOfSession(t, r.address, unlisted).control(0), ReasonUnknownSession},
		"an opening before its time":       {sourceOfSession(t, r.address, early), sourceOfSession(t, r.address, early).control(0), ReasonTooEarly},
		"an opening of a session of tcp's": {sourceOfSession(t, r.address, tcp), sourceOfSession(t, r.address, tcp).control(0), ReasonUnsupportedKind},
		"a control packet with a sample's number": {own, func() []byte {
			b := make([]byte, stamp.ControlBytes)
			own.key.PutControl(b, own.request(5), listed.ID)
			return b
		}(), ReasonWrongSize},
		"an opening with another SSID": {sourceOfSession(t, r.address, other), func() []byte {
			s := sourceOfSession(t, r.address, other)
			q := s.request(stamp.ControlFrom)
			q.SSID++
			b := make([]byte, stamp.ControlBytes)
			s.key.PutControl(b, q, other.ID)
			return b
		}(), ReasonMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, before := r.counts.snapshot()
			if before == nil {
				before = map[Reason]int{}
			}
			before[c.want]++
			c.from.send(t, c.b)
			r.expect(t, 1, before)
			unanswered(t, c.from)
		})
	}
	own.answered(t, 50) // and it goes on
}

func TestAUDPReplayDrawsTwoFurtherReplies(t *testing.T) {
	r, _ := openUDP(t, stampOf(1))
	s := sourceOfSession(t, r.address, stampOf(1))
	s.reports(t, 0)
	for range 3 {
		s.answered(t, 7)
		s.answered(t, stamp.WarmupFrom+1)
	}
	s.reports(t, 1)
	s.reports(t, 1)
	s.reports(t, 1)
	for range 10 {
		s.send(t, s.sample(7))
		s.send(t, s.sample(stamp.WarmupFrom+1))
		s.send(t, s.control(1))
	}
	r.expect(t, 1, map[Reason]int{ReasonReplayed: 30})
	unanswered(t, s)
	// All that may be asked with control packets.
	for i := uint32(2); i < 2+maxControl-4; i++ {
		s.reports(t, i)
	}
	s.send(t, s.control(200))
	r.expect(t, 1, map[Reason]int{ReasonReplayed: 30, ReasonExhausted: 1})
	unanswered(t, s)
}
