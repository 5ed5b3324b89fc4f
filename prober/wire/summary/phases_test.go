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
	if got.BelowRTT == nil || *got.BelowRTT != 0 {
		t.Errorf("%v below the round trip, want 0", got.BelowRTT)
	}
	if Of(good(wire.KindTCP, 20), &wire.Provenance{}).HTTP != nil {
		t.Error("tcp has phases")
	}
}

// A network part cannot be shorter than a round trip; figures that the server rounded up may make it
// so by one unit of their last decimal place.
func TestANetworkPartBelowTheRoundTrip(t *testing.T) {
	const microsecond = millisecond / 1000
	for _, c := range []struct {
		what    string
		info    *wire.TCPInfo
		before  *int64 // connect phase of the warm-up
		connect int64
		network int64
		below   int
	}{
		{"whole milliseconds, rounded", nil, nil, 10 * millisecond, 9 * millisecond, 0},
		{"whole milliseconds, wrong", nil, nil, 10 * millisecond, 8 * millisecond, 3},
		{"tenths of a millisecond, rounded", nil, nil, 10 * millisecond, 9900 * microsecond, 0},
		{"tenths of a millisecond, wrong", nil, nil, 10 * millisecond, 9800 * microsecond, 3},
		{"microseconds, wrong", nil, nil, 10 * millisecond, 9997 * microsecond, 3},
		{"whole milliseconds, and a short round trip", nil, nil, 400 * microsecond, 0, 3},
		{"negative", nil, nil, 10 * millisecond, -5 * millisecond, 3},
		{"the kernel's is smaller", &wire.TCPInfo{MinRTTUS: 5000}, nil, 10 * millisecond, 7 * millisecond, 0},
		{"the kernel's alone", &wire.TCPInfo{MinRTTUS: 10_000}, nil, wire.Null, 7 * millisecond, 3},
		{"the kernel's not known", &wire.TCPInfo{}, nil, 10 * millisecond, 7 * millisecond, 3},
		{"the warm-up's alone", nil, new(int64(10 * millisecond)), wire.Null, 7 * millisecond, 3},
		{"none known, and positive", nil, nil, wire.Null, microsecond, 0},
		{"none known, and negative", nil, nil, wire.Null, -microsecond, 3},
	} {
		r := good(wire.KindHTTP, 40)
		r.TCPInfo, r.LeastConnectNS = c.info, c.before
		r.Samples.RTTNS, r.Samples.ServerNS, r.Samples.ConnectNS = column(40, 30*millisecond), column(40, wire.Null), column(40, wire.Null)
		r.Samples.ConnectNS[0] = c.connect
		for i := range 3 {
			r.Samples.ServerNS[i] = 30*millisecond - c.network
		}
		got := Of(r, &wire.Provenance{})
		if got.HTTP.BelowRTT == nil || *got.HTTP.BelowRTT != c.below {
			t.Errorf("%s: %v below the round trip, want %d", c.what, got.HTTP.BelowRTT, c.below)
		}
		if flagged := len(got.Noise.Degraded) == 1 && got.Noise.Degraded[0] == ReasonSplitBelowRTT; flagged != (c.below > 0) {
			t.Errorf("%s: degraded by %q", c.what, got.Noise.Degraded)
		}
	}
}

func TestTheSlackIsTheLastDecimalPlaceOfTheServersFigures(t *testing.T) {
	for _, c := range []struct {
		server      []int64
		least, want int64
	}{
		{nil, 0, 0},
		{[]int64{0, 20 * millisecond}, 10 * millisecond, millisecond},
		{[]int64{20 * millisecond, 53_200_000}, 10 * millisecond, 100_000},
		{[]int64{20 * millisecond, 53_201_000}, 10 * millisecond, 1000},
		{[]int64{20 * millisecond, 53_201_001}, 10 * millisecond, 1},
		{[]int64{20 * millisecond}, 400_000, 200_000}, // half of a short round trip
		{[]int64{20 * millisecond}, 0, 0},             // none is known
	} {
		if got := belowRTTSlack(c.server, c.least); got != c.want {
			t.Errorf("figures %v beside a round trip of %d: slack %d ns, want %d", c.server, c.least, got, c.want)
		}
	}
}

// What no server said is not known to be right.
func TestWithoutServerTimingNothingIsKnownToBeBelow(t *testing.T) {
	r := good(wire.KindHTTP, 40)
	r.Samples.ServerNS, r.Samples.ConnectNS = column(40, wire.Null), column(40, 10*millisecond)
	if got := Of(r, &wire.Provenance{}); got.HTTP.BelowRTT != nil || len(got.Noise.Degraded) > 0 {
		t.Errorf("%d below the round trip, degraded by %q; want unknown", *got.HTTP.BelowRTT, got.Noise.Degraded)
	}
}
