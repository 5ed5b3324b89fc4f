package reflect

import (
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestASlowLorisIsCutOffAfterTheTimeForTheWholeMessage(t *testing.T) {
	s := session()
	r, _ := open(t, Limits{Hello: 700 * time.Millisecond}, s)
	conn := dial(t, r.address)
	hello := wire.ClientHello(s.Key, wire.KindTCP, s.ID, wire.NewNonce())
	began := time.Now()
	done := make(chan struct{})
	go func() { // a byte every 100 ms is never silent, and would take 6.4 s
		defer close(done)
		for i := range hello {
			if _, err := conn.Write(hello[i : i+1]); err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	silence(t, conn)
	if took := time.Since(began); took < 600*time.Millisecond || took > 5*time.Second {
		t.Errorf("cut off after %s, want 700 ms", took)
	}
	_ = conn.Close()
	<-done
	r.expect(t, 0, map[Reason]int{ReasonHelloTimeout: 1})
}

func TestTenThousandHalfOpenConnectionsAreBoundedAndHarmless(t *testing.T) {
	const attackers, perSource = 10_000, 50
	s := session()
	r, _ := open(t, Limits{PendingPerSource: perSource, Hello: time.Minute}, s)
	before := heap()
	held := make([]net.Conn, 0, perSource)
	defer func() {
		for _, conn := range held {
			_ = conn.Close()
		}
	}()
	// Each says half of a message and no more. The first fifty stay; the others are closed by
	// the reflector, and by us so that the test does not need as many descriptors.
	half := make([]byte, wire.ClientHelloBytes/2)
	for i := range attackers {
		conn, err := net.DialTimeout("tcp", r.address, 10*time.Second)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		_, _ = conn.Write(half) // fails where the reflector has closed already
		if i < perSource {
			held = append(held, conn)
			continue
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		silence(t, conn)
		_ = conn.Close()
	}
	r.expect(t, 0, map[Reason]int{ReasonSourceLimit: attackers - perSource})
	// A goroutine and its 64 bytes cost some kilobytes; fifty of them, not ten thousand.
	if grown := int64(heap()) - int64(before); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	r.pending.mu.Lock()
	if n := r.pending.waiting.Len(); n != perSource || len(r.pending.sources) != 1 {
		t.Errorf("%d connections of %d sources are pending, want %d of 1", n, len(r.pending.sources), perSource)
	}
	r.pending.mu.Unlock()

	// Meanwhile another source gets its session.
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: 10 * time.Second}
	other, err := dialer.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() // a test's end
	_ = other.SetDeadline(time.Now().Add(20 * time.Second))
	if !greet(t, other, s, wire.NewNonce()) {
		t.Fatal("another source was refused its session")
	}
	if _, err := ask(t, other, s, 1); err != nil {
		t.Error(err)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

func TestPendingConnectionsOfAllSourcesAreBounded(t *testing.T) {
	r := start(t, Limits{Pending: 3, Hello: time.Minute})
	oldest := dialFrom(t, r.address, 10) // each from an address of its own
	for i := range 3 {
		dialFrom(t, r.address, byte(11+i))
	}
	silence(t, oldest)
	r.expect(t, 0, map[Reason]int{ReasonPendingLimit: 1})
}

func TestConnectionsInAllAreBounded(t *testing.T) {
	a := session()
	r, _ := open(t, Limits{Connections: 1}, a)
	conn := dial(t, r.address)
	if !greet(t, conn, a, wire.NewNonce()) {
		t.Fatal("refused")
	}
	silence(t, dial(t, r.address))
	r.expect(t, 1, map[Reason]int{ReasonConnectionLimit: 1})
	// The place is free again afterwards.
	_ = conn.Close()
	for range 500 {
		again := dial(t, r.address)
		if greet(t, again, a, wire.NewNonce()) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a place that became free is not given again")
}

func dialFrom(t *testing.T, address string, last byte) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, last)}, Timeout: 10 * time.Second}
	conn, err := dialer.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

func TestSessionsThatWouldMakeAnAmplifierAreNotAdmitted(t *testing.T) {
	now := time.Now()
	for name, spoil := range map[string]func(s *wire.Session){
		"a response larger than the request": func(s *wire.Session) { s.ResponseBytes = s.RequestBytes + 1 },
		"a request too small for its header": func(s *wire.Session) { s.RequestBytes, s.ResponseBytes = 15, 15 },
		"a request beyond the limit":         func(s *wire.Session) { s.RequestBytes = wire.MaxMessageBytes + 1 },
		"requests without end":               func(s *wire.Session) { s.MaxRequests = 2*wire.MaxSamples + 1 },
		"no request":                         func(s *wire.Session) { s.MaxRequests = 0 },
		"no key":                             func(s *wire.Session) { s.Key = wire.Key{} },
		"no id":                              func(s *wire.Session) { s.ID = wire.SessionID{} },
		"days":                               func(s *wire.Session) { s.Deadline = s.NotBefore.Add(maxLifetime + 1) },
	} {
		s, good := session(), session()
		s.ID = wire.SessionID{9}
		spoil(&s)
		d := newDoor(moment{wall: now})
		skipped := d.replace([]wire.Session{s, good}, moment{wall: now})
		if len(skipped) != 1 || d.sessions[s.ID] != nil {
			t.Errorf("%s: faults %v; want one, and no such session", name, skipped)
		}
		if d.sessions[good.ID] == nil {
			t.Errorf("%s: another session was left out with it", name)
		}
	}
}

func TestTheTableOfSessionsIsBoundedAndForgetsWhatIsOver(t *testing.T) {
	now := moment{wall: time.Now()}
	d := newDoor(now)
	many := make([]wire.Session, maxSessions+7)
	for i := range many {
		many[i] = session()
		many[i].ID = wire.SessionID{byte(i), byte(i >> 8), byte(i >> 16), 1}
	}
	if skipped := d.replace(many, now); len(skipped) != 7 || len(d.sessions) != maxSessions {
		t.Errorf("%d faults, %d sessions; want 7 and %d", len(skipped), len(d.sessions), maxSessions)
	}
	if skipped := d.replace(nil, moment{wall: now.wall.Add(time.Hour), uptime: time.Hour}); skipped != nil || len(d.sessions) != 0 {
		t.Errorf("an hour after their deadline %d sessions are remembered (%v)", len(d.sessions), skipped)
	}
}

func TestNoncesOfASessionAreBounded(t *testing.T) {
	now := moment{wall: time.Now()}
	s := session()
	d := newDoor(now)
	d.replace([]wire.Session{s}, now)
	in := moment{wall: now.wall.Add(3 * time.Second), uptime: 3 * time.Second}
	for i := range maxNonces + 1 {
		g, reason := d.enter(wire.ClientHello(s.Key, s.Kind, s.ID, wire.NewNonce()), in)
		if (g == nil) == (reason == "") {
			t.Fatalf("opening %d: grant %v and reason %q", i, g, reason)
		}
		if want := i < maxNonces; (g != nil) != want {
			t.Fatalf("opening %d: admitted is %v (%q), want %v", i, g != nil, reason, want)
		}
		if g != nil {
			d.leave(g)
		}
	}
}

func TestSourcesAreTheUnitsThatOnePeerCanFill(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7":            "192.0.2.7/32",
		"::ffff:192.0.2.7":     "192.0.2.7/32", // the same peer through a dual-stack socket
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"fe80::1%lo":           "fe80::/64",
	} {
		if got := sourceOf(netip.MustParseAddr(address)).String(); got != want {
			t.Errorf("%s: source %s, want %s", address, got, want)
		}
	}
}
