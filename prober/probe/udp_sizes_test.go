package probe

import (
	"net"
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// Of the smallest sizes, some are too short for the TLV that pads the packet.
func TestUDPMeasuresAtEverySize(t *testing.T) {
	for _, size := range []int{112, 113, 115, 116, 151, 152, 153, 155, 156, 191, 192, 193, wire.MaxDatagramBytes} {
		r := startStampTarget(t, nil, testStampSession(size, 13))
		req := udpRequest(r.address, 10)
		req.Spec.RequestBytes = size
		run := stampProber().Make(t.Context(), req)
		valid(t, run)
		if run.Failure != "" || run.Counts.Received != 10 || run.Counts.LostForward == nil {
			t.Errorf("%d octets: failure %q (%s), %d of 10 received", size, run.Failure, run.Detail, run.Counts.Received)
		}
		r.stop()
	}
}

func TestUDPMeasuresOverIPv6(t *testing.T) {
	r := startStampTargetAt(t, "[::1]:0", nil, testStampSession(192, 53))
	run := stampProber().Make(t.Context(), udpRequest(r.address, 50))
	valid(t, run)
	aside := 0
	for _, c := range run.Samples.ClientNS {
		if c == wire.Null {
			aside++
		}
	}
	if run.Failure != "" || run.Counts.Received != 50 || run.Timestamps != udpStamps() || aside > 5 {
		t.Errorf("failure %q (%s), %d of 50 received, time stamps %q, %d without", run.Failure, run.Detail, run.Counts.Received, run.Timestamps, aside)
	}
}

// A reflector that listens on all addresses of both families is asked at one of IPv4's.
func TestUDPMeasuresAReflectorOfBothFamilies(t *testing.T) {
	r := startStampTargetAt(t, ":0", nil, testStampSession(192, 53))
	_, port, err := net.SplitHostPort(r.address)
	if err != nil {
		t.Fatal(err)
	}
	run := stampProber().Make(t.Context(), udpRequest("127.0.0.7:"+port, 50))
	valid(t, run)
	if run.Failure != "" || run.Counts.Received != 50 || run.Timestamps != udpStamps() {
		t.Errorf("failure %q (%s), %d of 50 received, time stamps %q", run.Failure, run.Detail, run.Counts.Received, run.Timestamps)
	}
}

func TestUDPManyRunsShareAReflector(t *testing.T) {
	const runs, n = 30, 40
	sessions := make([]wire.Session, runs)
	for i := range sessions {
		sessions[i] = testStampSession(192, n+3)
		sessions[i].ID = wire.SessionID{1, byte(i / 2), byte(i)} // pairs of one SSID
	}
	r := startStampTarget(t, nil, sessions...)
	p := stampProber()
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			req := udpRequest(r.address, n)
			req.Session, req.Spec.Interval = sessions[i].ID, 10*time.Millisecond
			run := p.Make(t.Context(), req)
			valid(t, run)
			sameCounts(t, run, wire.Counts{
				Warmup: 3, Sent: n, Received: n,
				LostForward: count(0), LostReverse: count(0), DuplicateForward: count(0), DuplicateReverse: count(0),
				ReorderedForward: count(0), ReorderedReverse: count(0),
			})
		})
	}
	all.Wait()
	if admitted, refused := r.snapshot(); admitted != runs {
		t.Errorf("admitted %d, refused %v; want %d", admitted, refused, runs)
	}
}
