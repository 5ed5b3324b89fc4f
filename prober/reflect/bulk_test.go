package reflect

import (
	"io"
	"math"
	"net"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func throughputSpec() wire.Spec {
	return wire.Spec{
		Kind: wire.KindThroughput, RequestBytes: 4096, Timeout: 5 * time.Second,
		Bulk: wire.Bulk{MaxBytes: 1e9, Duration: time.Second, Direction: wire.DirectionUp, Streams: 2},
	}
}

// listedBulk is a session that an app lists, as session is.
func listedBulk(id byte) wire.Session {
	s := session()
	s.ID, s.Kind, s.Spec, s.MaxRequests = wire.SessionID{7, id}, wire.KindThroughput, throughputSpec(), 0
	s.RequestBytes, s.ResponseBytes = s.Spec.RequestBytes, 0
	return s
}

// greetBulk shakes hands for a connection of a bulk session; nil: it was closed without a byte.
func greetBulk(t *testing.T, r *running, s wire.Session, nonce wire.Nonce) *net.TCPConn {
	t.Helper()
	conn := dial(t, r.address)
	hello := wire.ClientHello(s.Key, s.Kind, s.ID, nonce)
	write(t, conn, hello[:])
	var answer [wire.ReflectorHelloBytes]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return nil
	}
	if !wire.VerifyReflectorHello(answer, s.Key, s.Kind, s.ID, nonce) {
		t.Error("the reflector answered, and did not prove the key")
	}
	return conn
}

// introduce opens a connection and returns what the reflector said to it.
func introduce(t *testing.T, r *running, s wire.Session, o wire.Opening) (*net.TCPConn, wire.Accepted) {
	t.Helper()
	conn := greetBulk(t, r, s, wire.NewNonce())
	if conn == nil {
		t.Fatal("closed without a byte")
	}
	if err := wire.WriteFrame(conn, o); err != nil {
		t.Fatal(err)
	}
	var said wire.Accepted
	if err := wire.ReadFrame(conn, &said); err != nil {
		t.Fatal(err)
	}
	return conn, said
}

func control(s wire.Session) wire.Opening {
	return wire.Opening{Role: wire.RoleControl, Spec: s.Spec}
}

func TestABulkSessionHasTheConnectionsOfItsSpec(t *testing.T) {
	s := listedBulk(1)
	r, _ := open(t, Limits{}, s)
	early := wire.Opening{Role: wire.RoleUp, Spec: s.Spec}
	if _, said := introduce(t, r, s, early); said.Failure != wire.FailureProtocol {
		t.Errorf("without a control connection: %+v", said)
	}
	if _, said := introduce(t, r, s, control(s)); said.Failure != "" {
		t.Fatalf("the control connection: %+v", said)
	}
	other := s.Spec
	other.Bulk.Streams = 1
	for _, c := range []struct {
		name string
		o    wire.Opening
		want wire.Failure
	}{
		{"a second control connection", control(s), wire.FailureProtocol},
		{"the first stream", wire.Opening{Role: wire.RoleUp, Spec: s.Spec}, ""},
		{"the first stream again", wire.Opening{Role: wire.RoleUp, Spec: s.Spec}, wire.FailureProtocol},
		{"the second", wire.Opening{Role: wire.RoleUp, Index: 1, Spec: s.Spec}, ""},
		{"a third", wire.Opening{Role: wire.RoleUp, Index: 2, Spec: s.Spec}, wire.FailureUnsupported},
		{"one before the first", wire.Opening{Role: wire.RoleUp, Index: -1, Spec: s.Spec}, wire.FailureUnsupported},
		{"the other direction", wire.Opening{Role: wire.RoleDown, Spec: s.Spec}, wire.FailureUnsupported},
		{"another kind's role", wire.Opening{Role: wire.RoleRequest, Spec: s.Spec}, wire.FailureUnsupported},
		{"no role", wire.Opening{Spec: s.Spec}, wire.FailureUnsupported},
		{"another spec", wire.Opening{Role: wire.RoleUp, Index: 1, Spec: other}, wire.FailureUnsupported},
	} {
		if _, said := introduce(t, r, s, c.o); said.Failure != c.want || (c.want != "") != (said.Detail != "") {
			t.Errorf("%s: %+v, want %q", c.name, said, c.want)
		}
	}
	r.expect(t, 1, map[Reason]int{ReasonInUse: 2, ReasonBulkRefused: 7})
} // serving is told to end while they are open: see startAt

func TestOnlyWhatWasPlannedIsServed(t *testing.T) {
	s := listedBulk(1)
	r, _ := open(t, Limits{}, s)
	for name, spoil := range map[string]func(*wire.Spec){
		"more bytes":   func(p *wire.Spec) { p.Bulk.MaxBytes++ },
		"longer":       func(p *wire.Spec) { p.Bulk.Duration += time.Second },
		"another kind": func(p *wire.Spec) { *p = wire.Spec{Kind: wire.KindConnect, Count: 1, Timeout: time.Second} },
		"endless":      func(p *wire.Spec) { p.Kind, p.Bulk.Outstanding = wire.KindSaturate, math.MaxInt },
		"not valid":    func(p *wire.Spec) { p.Bulk.Streams = wire.MaxStreams + 1 },
	} {
		o := control(s)
		spoil(&o.Spec)
		if _, said := introduce(t, r, s, o); said.Failure != wire.FailureUnsupported {
			t.Errorf("%s: %+v", name, said)
		}
	}
	r.expect(t, 0, map[Reason]int{ReasonBulkRefused: 5})
}

func TestASharedSessionIsHeldToTheReflectorsBudget(t *testing.T) {
	r, _ := openShared(t, newClock())
	s := shared(t, secret, time.Now(), 4096, 0)
	s.Kind, s.Spec = wire.KindThroughput, throughputSpec()
	s.Spec.Bulk.MaxBytes = DefaultBulkBytes + 1
	if _, said := introduce(t, r, s, control(s)); said.Failure != wire.FailureBudget {
		t.Errorf("more than the limit: %+v", said)
	}
	s.Spec.Bulk.MaxBytes = DefaultBulkBytes
	s.Spec.RequestBytes++
	if _, said := introduce(t, r, s, control(s)); said.Failure != wire.FailureUnsupported {
		t.Errorf("other sizes than the id's: %+v", said)
	}
	s.Spec.RequestBytes--
	if _, said := introduce(t, r, s, control(s)); said.Failure != "" {
		t.Errorf("the limit itself: %+v", said)
	}
	r.expect(t, 1, map[Reason]int{ReasonBulkRefused: 2})
}

func TestOneBulkSessionIsServedAtATime(t *testing.T) {
	one, two, three := listedBulk(1), listedBulk(2), listedBulk(3)
	r, _ := open(t, Limits{BulkSessions: 2}, one, two, three)
	first, said := introduce(t, r, one, control(one))
	if said.Failure != "" {
		t.Fatal(said)
	}
	if _, said := introduce(t, r, two, control(two)); said.Failure != "" {
		t.Fatal(said)
	}
	if _, said := introduce(t, r, three, control(three)); said.Failure != wire.FailureTargetBusy {
		t.Fatalf("with as many as there may be: %+v", said)
	}
	stream, said := introduce(t, r, one, wire.Opening{Role: wire.RoleUp, Spec: one.Spec})
	if said.Failure != "" {
		t.Fatal(said)
	}
	if err := first.Close(); err != nil { // the session ends with its control connection
		t.Fatal(err)
	}
	silence(t, stream)
	admitted := false
	for range 500 {
		if _, said = introduce(t, r, three, control(three)); said.Failure == "" {
			admitted = true
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !admitted {
		t.Errorf("after one has ended: %+v", said)
	}
}

func TestABulkHelloIsGoodOnce(t *testing.T) {
	s := listedBulk(1)
	r, _ := open(t, Limits{}, s)
	nonce := wire.NewNonce()
	if greetBulk(t, r, s, nonce) == nil {
		t.Fatal("not admitted")
	}
	if greetBulk(t, r, s, nonce) != nil {
		t.Error("a hello was accepted twice")
	}
	r.expect(t, 0, map[Reason]int{ReasonReplayed: 1})
}

func TestABulkSessionsHellosAreBounded(t *testing.T) {
	s := listedBulk(1)
	now := newClock()
	at := moment{wall: now.now(), uptime: now.uptime()}
	d := newDoor(at)
	if skipped := d.replace([]wire.Session{s}, at); len(skipped) > 0 {
		t.Fatal(skipped)
	}
	at.wall, at.uptime = at.wall.Add(3*time.Second), at.uptime+3*time.Second
	for i := range maxBulkNonces + 1 {
		g, reason := d.enter(wire.ClientHello(s.Key, s.Kind, s.ID, wire.NewNonce()), at)
		switch {
		case i < maxBulkNonces && g == nil:
			t.Fatalf("hello %d: %s", i, reason)
		case i == maxBulkNonces && reason != ReasonExhausted:
			t.Errorf("one more than %d: %q", maxBulkNonces, reason)
		}
	}
}

func TestWhoDoesNotSayWhatForIsClosed(t *testing.T) {
	s := listedBulk(1)
	r, _ := open(t, Limits{Hello: time.Second}, s)
	for name, say := range map[string][]byte{
		"nothing": nil, "half a length": {0, 0}, "a claim": {0, 0, 16, 0, '{'}, "more than an opening holds": {0, 0, 16, 1},
	} {
		conn := greetBulk(t, r, s, wire.NewNonce())
		if conn == nil {
			t.Fatal("not admitted")
		}
		write(t, conn, say)
		if name != "more than an opening holds" {
			silence(t, conn)
			continue
		}
		var told wire.Accepted
		if err := wire.ReadFrame(conn, &told); err != nil || told.Failure != wire.FailureUnsupported {
			t.Errorf("%s: told %+v, %v", name, told, err)
		}
	}
	r.expect(t, 0, nil)
}

// A peer that goes without a word keeps nobody waiting beyond the session's deadline.
func TestAHalfOpenBulkSessionEndsAtItsDeadline(t *testing.T) {
	s := listedBulk(1)
	s.Deadline = s.NotBefore.Add(4 * time.Second)
	r, _ := open(t, Limits{}, s) // three seconds are left
	began := time.Now()
	conn, said := introduce(t, r, s, control(s))
	if said.Failure != "" {
		t.Fatal(said)
	}
	silence(t, conn)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("closed after %s, with three seconds left", took)
	}
	r.bulk.mu.Lock()
	defer r.bulk.mu.Unlock()
	for range 100 {
		if len(r.bulk.live) == 0 {
			return
		}
		r.bulk.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		r.bulk.mu.Lock()
	}
	t.Errorf("%d sessions are held", len(r.bulk.live))
}
