package summary

import (
	"testing"

	"isochrone/prober/wire"
)

func TestThePhasesOfAnHTTPRun(t *testing.T) {
	r := good(wire.KindHTTP, 1000)
	s := &r.Samples
	s.RTTNS, s.ServerNS = column(1000, 30*millisecond), column(1000, 8*millisecond)
	s.ConnectNS, s.TLSNS, s.FirstByteNS = column(1000, 10*millisecond), column(1000, 11*millisecond), column(1000, 19*millisecond)
	s.DNSNS = column(1000, wire.Null)
	for i := range 19 {
		s.DNSNS[i] = 1 * millisecond // too few for a median
	}
	for i := range 11 {
		s.ServerNS[i] = 2 * millisecond
	}
	s.ServerNS[500] = wire.Null
	s.RTTNS[501], s.Failure[501] = wire.Null, wire.FailureTimeout
	got := Of(r, &wire.Provenance{}).HTTP
	if got == nil {
		t.Fatal("no phases")
	}
	null(t, "DNS", got.DNSP50)
	near(t, "connect", got.ConnectP50, 10*millisecond)
	near(t, "TLS", got.TLSP50, 11*millisecond)
	near(t, "first byte", got.FirstByteP50, 19*millisecond)
	near(t, "network", got.NetworkP50, 22*millisecond)
	null(t, "p99 of 998", got.NetworkP99)
	s.ServerNS[500], s.RTTNS[501], s.Failure[501] = 8*millisecond, 30*millisecond, ""
	got = Of(r, &wire.Provenance{}).HTTP
	near(t, "p99 of the network part", got.NetworkP99, 28*millisecond)
	if got.BelowRTT != 0 {
		t.Errorf("%d below the round trip", got.BelowRTT)
	}
	if Of(good(wire.KindTCP, 20), &wire.Provenance{}).HTTP != nil {
		t.Error("tcp has phases")
	}
}

// A network part cannot be shorter than a round trip; whole milliseconds, rounded up, may make it
// so by one.
func TestANetworkPartBelowTheRoundTrip(t *testing.T) {
	for _, c := range []struct {
		what    string
		info    *wire.TCPInfo
		connect int64
		network int64
		below   int
	}{
		{"rounded", nil, 10 * millisecond, 9 * millisecond, 0},
		{"wrong", nil, 10 * millisecond, 9*millisecond - 1, 3},
		{"negative", nil, 10 * millisecond, -5 * millisecond, 3},
		{"the kernel's is smaller", &wire.TCPInfo{MinRTTUS: 5000}, 10 * millisecond, 7 * millisecond, 0},
		{"the kernel's alone", &wire.TCPInfo{MinRTTUS: 10_000}, wire.Null, 7 * millisecond, 3},
		{"the kernel's not known", &wire.TCPInfo{}, 10 * millisecond, 7 * millisecond, 3},
		{"none known", nil, wire.Null, -5 * millisecond, 0},
	} {
		r := good(wire.KindHTTP, 40)
		r.TCPInfo = c.info
		r.Samples.RTTNS, r.Samples.ServerNS, r.Samples.ConnectNS = column(40, 30*millisecond), column(40, wire.Null), column(40, wire.Null)
		r.Samples.ConnectNS[0] = c.connect
		for i := range 3 {
			r.Samples.ServerNS[i] = 30*millisecond - c.network
		}
		got := Of(r, &wire.Provenance{})
		if got.HTTP.BelowRTT != c.below {
			t.Errorf("%s: %d below the round trip, want %d", c.what, got.HTTP.BelowRTT, c.below)
		}
		if flagged := len(got.Noise.Degraded) == 1 && got.Noise.Degraded[0] == ReasonSplitBelowRTT; flagged != (c.below > 0) {
			t.Errorf("%s: degraded by %q", c.what, got.Noise.Degraded)
		}
	}
}
