package stamp

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestEveryNanosecondComesBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	formats := map[string]ErrorEstimate{"NTP": 0x8a10, "PTPv2": 0xca10}
	check := func(ns, near int64) {
		for name, e := range formats {
			if got, ok := e.Stamp(ns).Unix(e, near); !ok || got != ns {
				t.Fatalf("%s: %d near %d comes back as %d, %v", name, ns, near, got, ok)
			}
		}
	}
	for _, ns := range []int64{0, 1, -1, 999999999, 1000000000, -1000000000, newYear, newYear - 1, newYear + 999999999} {
		check(ns, ns)
	}
	const reach = 68 * 365 * 24 * 3600 * second // less than 2^31 s
	for range 200000 {
		ns := newYear + random.Int64N(reach) - reach/2
		check(ns, ns+random.Int64N(2*reach)-reach)
	}
}

func TestStampsDifferAsTheirInstantsAroundTheNTPEra(t *testing.T) {
	border := time.Date(2036, 2, 7, 6, 28, 16, 0, time.UTC).UnixNano()
	if got := NTP(border); got != 0 {
		t.Fatalf("the second era begins at %#x, want 0", uint64(got))
	}
	if got := NTP(border - 1); got != 0xffffffff_fffffffb {
		t.Fatalf("the first era ends at %#x, want 0xfffffffffffffffb", uint64(got))
	}
	before, after := NTP(border-3000000), NTP(border+5000000)
	for _, near := range []int64{border - second, border, border + second, border - 60*365*24*3600*second} {
		a, ok1 := before.Unix(0x8a10, near)
		b, ok2 := after.Unix(0x8a10, near)
		if !ok1 || !ok2 || a != border-3000000 || b != border+5000000 {
			t.Errorf("near %d: %d and %d, want %d and %d", near, a, b, border-3000000, border+5000000)
		}
	}
	// Parsed by itself: a reply that crosses the border, with T1 before it.
	r := Reply{T1: before, SenderEstimate: 0x8a10, T2: after, Estimate: 0x8820, T3: after}
	if t1, t2, _, ok := r.Times(border); !ok || t2-t1 != 8000000 {
		t.Errorf("forward delay %d ns, want 8000000", t2-t1)
	}
}

func TestPTPWrapsIn2106(t *testing.T) {
	border := int64(1<<32) * second
	for _, ns := range []int64{border - 1, border, border + 7} {
		if got, ok := PTP(ns).Unix(0xc001, border-second); !ok || got != ns {
			t.Errorf("%d comes back as %d, %v", ns, got, ok)
		}
	}
	if got := PTP(border); got != 0 {
		t.Errorf("the border is %#x, want 0", uint64(got))
	}
}

func TestAStampThatIsNoTimeIsSaidToBeNone(t *testing.T) {
	for stamp, want := range map[Timestamp]bool{
		0x6955b900_3b9ac9ff: true,  // 999,999,999 ns
		0x6955b900_3b9aca00: false, // 1,000,000,000 ns
		0x6955b900_ffffffff: false,
	} {
		if _, ok := stamp.Unix(0xc001, newYear); ok != want {
			t.Errorf("%#x: %v, want %v", uint64(stamp), ok, want)
		}
		if _, ok := (Reply{T3: stamp, T2: PTP(newYear), Estimate: 0xc001}).times(); ok != want {
			t.Errorf("%#x as T3: %v, want %v", uint64(stamp), ok, want)
		}
		if _, ok := stamp.Unix(0x8001, newYear); !ok {
			t.Errorf("%#x is no NTP time", uint64(stamp))
		}
	}
	// The last fraction is nearer to the next second than to the nanosecond before it.
	if got, _ := Timestamp(0xed003780_ffffffff).Unix(0x8a10, newYear); got != newYear+second {
		t.Errorf("the last fraction is %d ns after the second, want %d", got-newYear, second)
	}
}

func (r Reply) times() (int64, bool) {
	_, _, t3, ok := r.Times(newYear)
	return t3, ok
}

func TestErrorEstimatesBoundTheError(t *testing.T) {
	bounds := []int64{0, 1, 2, 59, 60, 61, 999, 3814, 1000000, 999999999, second, second + 1, math.MaxInt32 * second, 1<<31*second + 1, math.MaxInt64 - 1, math.MaxInt64}
	random := rand.New(rand.NewPCG(3, 4))
	for range 100000 {
		bounds = append(bounds, random.Int64()>>random.IntN(63))
	}
	for _, bound := range bounds {
		e := EstimateOf(&bound)
		got, ok := e.BoundNS()
		// Rounded up by less than the last of 128 steps, and by a nanosecond twice.
		if !ok || got < bound || float64(got) > float64(bound)*(1+1./128)+2 || !e.Synchronized() || e.PTP() || e.Multiplier() == 0 {
			t.Fatalf("bound %d ns: estimate %#04x means %d ns, %v", bound, uint16(e), got, ok)
		}
	}
	for bound, want := range map[int64]ErrorEstimate{
		-5: 0x8001, 0: 0x8001,
		1:      0x8005, // 4.29 × 2^-32 s
		3814:   0x8780, // 16380.1 × 2^-32 s, so 128 × 2^-25 s
		second: 0x9980,
	} {
		if e := EstimateOf(&bound); e != want {
			t.Errorf("bound %d ns: estimate %#04x, want %#04x", bound, uint16(e), uint16(want))
		}
	}
}

func TestErrorEstimatesAreReadAsRFC4656Says(t *testing.T) {
	for e, want := range map[ErrorEstimate]struct {
		synchronized, ptp, valid bool
		bound                    int64
	}{
		0x8a10: {true, false, true, 3815}, // 16 × 2^-22 s = 3.8147 µs
		0xc001: {true, true, true, 1},     // 2^-32 s
		0x0001: {false, false, true, 1},   // the fixed ones of a known sender
		0x3fff: {false, false, true, math.MaxInt64},
		0xa001: {true, false, true, second}, // scale 32: seconds
		0x8a00: {true, false, false, 0},     // a multiplier of 0 is not allowed
		0x0000: {},
	} {
		bound, valid := e.BoundNS()
		if e.Synchronized() != want.synchronized || e.PTP() != want.ptp || valid != want.valid || bound != want.bound {
			t.Errorf("%#04x: S %v, Z %v, %d ns, %v; want %+v", uint16(e), e.Synchronized(), e.PTP(), bound, valid, want)
		}
	}
	if EstimateOf(nil) != UnknownError || UnknownError.Synchronized() {
		t.Errorf("no bound: %#04x", uint16(EstimateOf(nil)))
	}
	if e := UnknownError | ptp; !e.PTP() || e.Stamp(newYear) != PTP(newYear) || UnknownError.Stamp(newYear) != NTP(newYear) {
		t.Error("the estimate does not choose the format of its stamps")
	}
}
