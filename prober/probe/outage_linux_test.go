package probe

import (
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"isochrone/prober/wire"
)

// leaving gives the loopback device of the calling thread's namespace an address that has a route
// until the returned function takes it away.
func leaving(t *testing.T) (address string, leave func()) {
	t.Helper()
	h, err := netlink.NewHandle() // of this namespace, whoever uses it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	lo, err := h.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	a, err := netlink.ParseAddr("192.0.2.1/32")
	if err == nil {
		err = h.AddrAdd(lo, a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "192.0.2.1", sync.OnceFunc(func() {
		if err := h.AddrDel(lo, a); err != nil {
			t.Errorf("taking the address away: %v", err)
		}
	})
}

// What is sent without a route is an outage, of either kind and by either schedule: sent, lost and
// unreachable. In a closed loop nobody waits for it.
func TestARouteThatGoesAwayShowsAsLoss(t *testing.T) {
	const n, until = 60, 20
	for _, interval := range []time.Duration{5 * time.Millisecond, 0} {
		for _, kind := range []wire.Kind{wire.KindUDP, wire.KindICMP} {
			t.Run(string(kind)+" every "+interval.String(), func(t *testing.T) {
				apart(t, func() {
					address, leave := leaving(t)
					req := icmpRequest(address, n)
					if kind == wire.KindUDP {
						req = udpRequest(startStampTargetAt(t, address+":0", nil, testStampSession(192, 203)).address, n)
					}
					req.Spec.Interval, req.Spec.Timeout = interval, 2*time.Second
					req.Deadline = time.Now().Add(20 * time.Second)
					req.Observe = func(r Reply) {
						if r.Sequence == until {
							leave()
						}
					}
					began := time.Now()
					run := stampProber().Make(t.Context(), req)
					valid(t, run)
					c := run.Counts
					if c.Sent != n || c.Received <= until || c.Lost < n/3 || run.Detail == "" {
						t.Errorf("counts %+v (%s); want all sent, and lost from %d on", c, run.Detail, until)
					}
					if f := run.Samples.Failure[n-1]; f != wire.FailureUnreachable {
						t.Errorf("the last sample's failure is %q, want unreachable", f)
					}
					if took := time.Since(began); took > 15*time.Second {
						t.Errorf("it took %s: what could not be sent was waited for", took)
					}
				})
			})
		}
	}
}

// What this machine itself refuses was not sent.
func TestWhatThisMachineRefusesWasNotSent(t *testing.T) {
	for err, want := range map[error]wire.Failure{unix.ENETUNREACH: wire.FailureUnreachable, unix.EHOSTUNREACH: wire.FailureUnreachable, unix.ENOBUFS: wire.FailureLocal, unix.EPERM: wire.FailureLocal} {
		s := new(sample)
		s.sent.Store(7)
		s.notSent(err)
		if sent := s.sent.Load() != notYet; s.failure != want || sent != (want == wire.FailureUnreachable) {
			t.Errorf("%v: failure %q, sent %t; want %q", err, s.failure, sent, want)
		}
	}
}
