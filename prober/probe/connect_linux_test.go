package probe

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isochrone/prober/wire"
)

// silentAddress is an address on loopback whose SYNs get no answer: a listener that never
// accepts and whose queue is full.
func silentAddress(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port)).String()
	for range 16 {
		conn, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return address // full
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Fatal("the queue of a listener with a backlog of 0 did not fill")
	return ""
}

func TestASilentTargetDoesNotHoldUpTheSchedule(t *testing.T) {
	req := connectRequest(silentAddress(t), 10)
	req.Spec.Timeout = 300 * time.Millisecond
	began := time.Now()
	run := newTestProber().Make(t.Context(), req)
	valid(t, run)
	if run.Failure != wire.FailureTimeout || run.Counts.Sent != 10 || run.Counts.Lost != 10 {
		t.Errorf("failure %q (%s), counts %+v; want ten timeouts", run.Failure, run.Detail, run.Counts)
	}
	// One after another they would take three seconds.
	if last := time.Duration(run.Samples.SentNS[9]); last > 2*time.Second {
		t.Errorf("the last handshake began after %s, due after 45 ms", last)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the run took %s", took)
	}
}

func TestAStoppedConnectRunCancelsWhatIsInFlight(t *testing.T) {
	req := connectRequest(silentAddress(t), 1000)
	req.Spec.Timeout = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	run := newTestProber().Make(ctx, req)
	valid(t, run)
	if took := time.Since(began); took < drainGrace || took > drainGrace+10*time.Second {
		t.Errorf("it ended after %s, want a little over %s", took, drainGrace)
	}
	if run.Failure != wire.FailureCanceled || run.Counts.Sent == 0 || run.Counts.Sent == 1000 {
		t.Errorf("failure %q, counts %+v; want canceled, some sent and not all", run.Failure, run.Counts)
	}
	for i, f := range run.Samples.Failure {
		if f != wire.FailureCanceled {
			t.Fatalf("sample %d: failure %q, want canceled", i, f)
		}
	}
}

// BenchmarkConnectBias compares what a connect sample says with a bare blocking connect(2) timed
// around the call, so that a change that puts work inside the clock shows.
func BenchmarkConnectBias(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close() // a benchmark's end
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	address := l.Addr().(*net.TCPAddr)
	spec := wire.Spec{Kind: wire.KindConnect, Count: 1, Interval: time.Millisecond, Timeout: time.Second}
	report := func(b *testing.B, rtts []time.Duration) {
		slices.Sort(rtts)
		b.ReportMetric(float64(rtts[len(rtts)/2].Nanoseconds()), "ns-rtt-p50")
	}
	b.Run("sample", func(b *testing.B) {
		var rtts []time.Duration
		for b.Loop() {
			rec := newRecord(Request{Spec: spec}, time.Now(), columnSet{})
			(&dialers{}).dial(context.Background(), rec, &rec.samples[0], address.String())
			rtts = append(rtts, time.Duration(rec.samples[0].rtt))
		}
		report(b, rtts)
	})
	b.Run("bare", func(b *testing.B) {
		var rtts []time.Duration
		for b.Loop() {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				b.Fatal(err)
			}
			sent := time.Now()
			err = unix.Connect(fd, &unix.SockaddrInet4{Port: address.Port, Addr: [4]byte{127, 0, 0, 1}})
			rtts = append(rtts, time.Since(sent))
			if err != nil {
				b.Fatal(err)
			}
			_ = unix.Close(fd)
		}
		report(b, rtts)
	})
}
