package reflect

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// counts is an Observer for tests.
type counts struct {
	mu       sync.Mutex
	admitted int
	refused  map[Reason]int
}

func (c *counts) SessionAdmitted() { c.mu.Lock(); defer c.mu.Unlock(); c.admitted++ }
func (c *counts) SessionRefused(r Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = map[Reason]int{}
	}
	c.refused[r]++
}

func (c *counts) snapshot() (int, map[Reason]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.admitted, maps.Clone(c.refused)
}

// running is a reflector on a real socket, with the counts of what it decided.
type running struct {
	*Reflector
	counts  *counts
	address string
}

func start(t *testing.T, limits Limits) *running {
	t.Helper()
	return startAt(t, limits, newClock())
}

func startAt(t *testing.T, limits Limits, c *clock) *running {
	t.Helper()
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{counts: &counts{}, address: listener.Addr().String()}
	r.Reflector = New(Config{Limits: limits, Observer: r.counts, Now: c.now, Uptime: c.uptime, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, listener) }()
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
	return r
}

// expect waits until exactly these were refused and that many admitted.
func (r *running) expect(t *testing.T, admitted int, refused map[Reason]int) {
	t.Helper()
	var gotAdmitted int
	var got map[Reason]int
	for range 1000 {
		if gotAdmitted, got = r.counts.snapshot(); gotAdmitted == admitted && maps.Equal(got, refused) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("admitted %d, refused %v; want %d, %v", gotAdmitted, got, admitted, refused)
}

// session is one that begins in two seconds, and so after any reflector that has been started;
// tests that open it move the reflector's clock.
func session() wire.Session {
	now := time.Now()
	return wire.Session{
		ID: wire.SessionID{1, 2}, Key: wire.Key{3, 4}, Source: "westeurope", Path: "public", Probe: "tcp-64", Kind: wire.KindTCP,
		RequestBytes: 64, ResponseBytes: 16, MaxRequests: 100,
		NotBefore: now.Add(2 * time.Second), Deadline: now.Add(time.Minute),
	}
}

// clock is a wall clock and a monotonic one. Time can be moved, for both, and the wall clock set.
type clock struct {
	began time.Time

	mu           sync.Mutex
	moved, wrong time.Duration
}

func newClock() *clock { return &clock{began: time.Now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.moved + c.wrong)
}

func (c *clock) uptime() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.began) + c.moved
}

// move lets time pass.
func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}

// set makes the wall clock wrong by d.
func (c *clock) set(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = d
}

// open starts a reflector that admits the sessions, with its clock moved into their time.
func open(t *testing.T, limits Limits, sessions ...wire.Session) (*running, *clock) {
	t.Helper()
	c := newClock()
	r := startAt(t, limits, c)
	r.Admit(sessions)
	c.move(3 * time.Second)
	return r, c
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn.(*net.TCPConn)
}

func write(t *testing.T, conn net.Conn, b []byte) {
	t.Helper()
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
}

// silence fails the test unless the peer closes without having sent a byte.
func silence(t *testing.T, conn net.Conn) {
	t.Helper()
	b, err := io.ReadAll(conn)
	if len(b) > 0 {
		t.Errorf("the reflector sent %d bytes: % x", len(b), b)
	}
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the reflector did not close: %v", err)
	}
}

// greet opens a session as its source does, and returns whether the reflector proved the key.
func greet(t *testing.T, conn net.Conn, s wire.Session, nonce wire.Nonce) bool {
	t.Helper()
	hello := wire.ClientHello(s.Key, wire.KindTCP, s.ID, nonce)
	write(t, conn, hello[:])
	var answer [wire.ReflectorHelloBytes]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return false
	}
	if !wire.VerifyReflectorHello(answer, s.Key, wire.KindTCP, s.ID, nonce) {
		t.Error("the reflector answered, and did not prove the key")
	}
	return true
}

// ask sends one request and reads its response.
func ask(t *testing.T, conn net.Conn, s wire.Session, sequence uint64) (held time.Duration, err error) {
	t.Helper()
	request := make([]byte, s.RequestBytes)
	wire.PutRequest(request, sequence)
	if _, err := conn.Write(request); err != nil {
		return 0, err
	}
	response := make([]byte, s.ResponseBytes)
	if _, err := io.ReadFull(conn, response); err != nil {
		return 0, err
	}
	got, held := wire.Response(response)
	if got != sequence {
		t.Errorf("response to %d, want %d", got, sequence)
	}
	return held, nil
}

func TestAnAdmittedSessionIsAnsweredInItsSizes(t *testing.T) {
	for _, size := range []struct{ request, response int }{
		{16, 16}, {64, 16}, {1000, 1000}, {chunk, chunk}, {chunk + 1, 17}, {wire.MaxMessageBytes, wire.MaxMessageBytes},
	} {
		s := session()
		s.RequestBytes, s.ResponseBytes = size.request, size.response
		r, _ := open(t, Limits{}, s)
		conn := dial(t, r.address)
		if !greet(t, conn, s, wire.NewNonce()) {
			t.Fatalf("requests of %d bytes: not admitted", size.request)
		}
		for i := range uint64(5) {
			if _, err := ask(t, conn, s, i*i); err != nil {
				t.Fatalf("requests of %d bytes, responses of %d: %v", size.request, size.response, err)
			}
		}
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		silence(t, conn) // no byte more than the responses
		r.expect(t, 1, nil)
	}
}

func TestDwellBeginsWhenTheWholeRequestIsThere(t *testing.T) {
	s := session()
	r, _ := open(t, Limits{}, s)
	conn := dial(t, r.address)
	greet(t, conn, s, wire.NewNonce())
	request := make([]byte, s.RequestBytes)
	wire.PutRequest(request, 7)
	write(t, conn, request[:40])
	const pause = 300 * time.Millisecond
	time.Sleep(pause)
	write(t, conn, request[40:])
	response := make([]byte, s.ResponseBytes)
	if _, err := io.ReadFull(conn, response); err != nil {
		t.Fatal(err)
	}
	if _, held := wire.Response(response); held < 0 || held > pause/2 {
		t.Errorf("the reflector says that it held the request for %s; its last byte came %s after the first", held, pause)
	}
}

func TestABareHandshakeIsNoRefusal(t *testing.T) {
	r := start(t, Limits{})
	for range 20 {
		conn := dial(t, r.address)
		_ = conn.Close()
	}
	conn := dial(t, r.address) // something to wait for, after the others
	write(t, conn, make([]byte, wire.ClientHelloBytes))
	silence(t, conn)
	r.expect(t, 0, map[Reason]int{ReasonUnknownSession: 1})
}

func TestNobodyElseGetsAByte(t *testing.T) {
	s := session()
	wrongKey, otherKind := s, s
	wrongKey.Key = wire.Key{9}
	otherKind.ID, otherKind.Kind, otherKind.RequestBytes = wire.SessionID{7}, "udp", 112
	unknown := s
	unknown.ID = wire.SessionID{8}
	hello := func(s wire.Session, kind wire.Kind) []byte {
		h := wire.ClientHello(s.Key, kind, s.ID, wire.NewNonce())
		return h[:]
	}
	for _, c := range []struct {
		name   string
		bytes  []byte
		move   time.Duration // the reflector's clock, from within the session
		reason Reason
	}{
		{"unknown session", hello(unknown, wire.KindTCP), 0, ReasonUnknownSession},
		{"wrong key", hello(wrongKey, wire.KindTCP), 0, ReasonWrongKey},
		{"made for another kind", hello(s, wire.KindConnect), 0, ReasonWrongKey},
		{"a kind that is not served", hello(otherKind, "udp"), 0, ReasonUnsupportedKind},
		{"before its time", hello(s, wire.KindTCP), -3 * time.Second, ReasonTooEarly},
		{"after its deadline", hello(s, wire.KindTCP), time.Minute, ReasonTooLate},
		{"garbage", []byte("GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: a scanner that says a lot\r\n\r\n"), 0, ReasonUnknownSession},
		{"zeros", make([]byte, 4096), 0, ReasonUnknownSession},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, clock := open(t, Limits{}, s, otherKind)
			clock.move(c.move)
			conn := dial(t, r.address)
			write(t, conn, c.bytes)
			silence(t, conn)
			r.expect(t, 0, map[Reason]int{c.reason: 1})
		})
	}
}

func TestAMessageCutShortIsCounted(t *testing.T) {
	r := start(t, Limits{})
	conn := dial(t, r.address)
	write(t, conn, make([]byte, wire.ClientHelloBytes-1))
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	silence(t, conn)
	r.expect(t, 0, map[Reason]int{ReasonShortHello: 1})
}

func TestAReplayedMessageIsRefused(t *testing.T) {
	s := session()
	r, _ := open(t, Limits{}, s)
	nonce := wire.NewNonce()
	first := dial(t, r.address)
	if !greet(t, first, s, nonce) {
		t.Fatal("the first opening was refused")
	}
	replay := wire.ClientHello(s.Key, wire.KindTCP, s.ID, nonce)
	during := dial(t, r.address)
	write(t, during, replay[:])
	silence(t, during)

	_ = first.Close()
	after := dial(t, r.address)
	write(t, after, replay[:])
	silence(t, after)
	// Even when the app's list came without the session in between.
	r.Admit(nil)
	r.Admit([]wire.Session{s})
	again := dial(t, r.address)
	write(t, again, replay[:])
	silence(t, again)
	r.expect(t, 1, map[Reason]int{ReasonReplayed: 3})
}

func TestAReflectorThatRestartedAdmitsNoSessionThatBeganBefore(t *testing.T) {
	s := session()
	r, clock := open(t, Limits{}, s)
	nonce := wire.NewNonce()
	if !greet(t, dial(t, r.address), s, nonce) {
		t.Fatal("the first reflector refused")
	}
	second := startAt(t, Limits{}, clock) // has seen no nonce, and is given the same list
	second.Admit([]wire.Session{s})
	for _, n := range []wire.Nonce{nonce, wire.NewNonce()} {
		conn := dial(t, second.address)
		hello := wire.ClientHello(s.Key, wire.KindTCP, s.ID, n)
		write(t, conn, hello[:])
		silence(t, conn)
	}
	second.expect(t, 0, map[Reason]int{ReasonBeforeStart: 2})
}

func TestASessionThatIsNoLongerListedIsUnknown(t *testing.T) {
	s := session()
	r, _ := open(t, Limits{}, s)
	r.Admit(nil)
	conn := dial(t, r.address)
	hello := wire.ClientHello(s.Key, wire.KindTCP, s.ID, wire.NewNonce())
	write(t, conn, hello[:])
	silence(t, conn)
	r.expect(t, 0, map[Reason]int{ReasonUnknownSession: 1})
}

func TestASessionHasOneConnectionAtATime(t *testing.T) {
	s := session()
	r, _ := open(t, Limits{}, s)
	first := dial(t, r.address)
	if !greet(t, first, s, wire.NewNonce()) {
		t.Fatal("refused")
	}
	second := dial(t, r.address)
	hello := wire.ClientHello(s.Key, wire.KindTCP, s.ID, wire.NewNonce())
	write(t, second, hello[:])
	silence(t, second)
	r.expect(t, 1, map[Reason]int{ReasonInUse: 1})
	if _, err := ask(t, first, s, 1); err != nil {
		t.Errorf("the first connection was disturbed: %v", err)
	}
}

func TestRequestsAreCappedOverAllConnectionsOfASession(t *testing.T) {
	s := session()
	s.MaxRequests = 5
	r, _ := open(t, Limits{}, s)
	answered := 0
	for range 2 {
		conn := dial(t, r.address)
		for !greet(t, conn, s, wire.NewNonce()) { // the connection before may not have ended yet
			time.Sleep(20 * time.Millisecond)
			conn = dial(t, r.address)
		}
		for i := range uint64(4) {
			if _, err := ask(t, conn, s, i); err != nil {
				break
			}
			answered++
		}
		_ = conn.Close()
	}
	if answered != s.MaxRequests {
		t.Errorf("%d requests were answered, %d were granted", answered, s.MaxRequests)
	}
	for range 500 {
		conn := dial(t, r.address)
		hello := wire.ClientHello(s.Key, wire.KindTCP, s.ID, wire.NewNonce())
		write(t, conn, hello[:])
		silence(t, conn)
		if _, refused := r.counts.snapshot(); refused[ReasonExhausted] > 0 {
			return
		}
	}
	t.Error("a session whose requests are used up is not refused as exhausted")
}

func TestTheDeadlineClosesAnOpenSession(t *testing.T) {
	s := session()
	c := newClock()
	r := startAt(t, Limits{Hello: time.Minute}, c) // so that it is the session's deadline that closes
	s.Deadline = s.NotBefore.Add(1500 * time.Millisecond)
	r.Admit([]wire.Session{s})
	c.move(3 * time.Second) // half a second is left
	conn := dial(t, r.address)
	if !greet(t, conn, s, wire.NewNonce()) {
		t.Fatal("refused")
	}
	began := time.Now()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes, %v; want the end of the stream", n, err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("closed after %s, with half a second left", took)
	}
}
