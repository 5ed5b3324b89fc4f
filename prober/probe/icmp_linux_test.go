package probe

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isochrone/prober/wire"
)

// targets are the machine's loopback addresses.
func targets(t *testing.T) []string {
	t.Helper()
	out := []string{"127.0.0.1"}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if strings.HasPrefix(a.String(), "::1/") {
			out = append(out, "::1")
		}
	}
	return out
}

func echoed(t *testing.T, run wire.Run, n int) {
	t.Helper()
	valid(t, run)
	if run.Failure != "" || run.Counts.Sent != n || run.Counts.Received != n || run.Counts.Duplicate != 0 || run.Counts.Reordered != 0 {
		t.Fatalf("failure %q (%s), counts %+v; want %d received", run.Failure, run.Detail, run.Counts, n)
	}
	if run.Timestamps != wire.TimestampsKernel || run.ClockSteps == nil || *run.ClockSteps > n/4 {
		t.Fatalf("time stamps %q, %v set aside; want the kernel's", run.Timestamps, run.ClockSteps)
	}
	known := 0
	for i, rtt := range run.Samples.RTTNS {
		if rtt <= 0 || rtt > int64(time.Second) {
			t.Errorf("echo %d on loopback took %s", i, time.Duration(rtt))
		}
		if c := run.Samples.ClientNS[i]; c != wire.Null {
			known++
		}
	}
	if known+*run.ClockSteps+*run.Unstamped != n {
		t.Errorf("%d shares of the client are known and %d + %d set aside, of %d", known, *run.ClockSteps, *run.Unstamped, n)
	}
}

func TestEchoOnLoopbackIsMeasuredByKernelStamps(t *testing.T) {
	for _, address := range targets(t) {
		t.Run(address, func(t *testing.T) {
			req := icmpRequest(address, 40)
			req.Spec.Warmup = 3
			run := newTestProber().Make(t.Context(), req)
			echoed(t, run, 40)
			if run.Counts.Warmup != 3 || run.Address != address {
				t.Errorf("%d warm-up samples to %q, want 3 to %q", run.Counts.Warmup, run.Address, address)
			}
		})
	}
}

func TestEchoInAClosedLoopTakesTurns(t *testing.T) {
	for _, address := range targets(t) {
		req := icmpRequest(address, 200)
		req.Spec.Interval, req.Spec.RequestBytes = 0, 1452
		run := newTestProber().Make(t.Context(), req)
		echoed(t, run, 200)
		if run.Counts.PacingViolations != 0 {
			t.Errorf("%d pacing violations of a closed loop", run.Counts.PacingViolations)
		}
	}
}

// The sequence number of ICMP begins anew after 65,536 samples; the payload's does not.
func TestMoreEchoesThanSequenceNumbers(t *testing.T) {
	req := icmpRequest("127.0.0.1", 66_000)
	req.Spec.Interval, req.Spec.Warmup = 0, 10
	echoed(t, newTestProber().Make(t.Context(), req), 66_000)
}

// Both kinds of socket measure, whichever the machine permits this program.
func TestEachKindOfICMPSocketMeasures(t *testing.T) {
	apart(t, func() {
		if err := os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte("0 2147483647"), 0); err != nil {
			t.Error(err)
		}
		for _, address := range targets(t) {
			for kind, name := range map[int]string{unix.SOCK_DGRAM: "datagram", unix.SOCK_RAW: "raw"} {
				conn, err := openEchoType(netip.MustParseAddr(address), kind)
				if err != nil {
					t.Errorf("%s to %s: %v", name, address, err)
					continue
				}
				req := icmpRequest(address, 20)
				e := newEchoes(req, conn, newEchoMessage(56, address == "::1", conn.id), time.Now())
				received := make(chan struct{})
				go func() {
					defer close(received)
					e.receive()
				}()
				e.sentAll(e.sendAll(t.Context(), NewPacer(1)))
				drain(t.Context(), time.Now().Add(req.Spec.Timeout), req.Deadline, e.complete)
				_ = conn.SetReadDeadline(time.Unix(1, 0))
				<-received
				echoed(t, e.run(req, ending{at: time.Now()}), 20)
				_ = conn.Close()
			}
		}
	})
}

// apart runs f in a network namespace of its own, whose loopback device is up.
func apart(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock it: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Errorf("making a network namespace, which needs root: %v", err)
			return
		}
		up, err := unix.NewIfreq("lo")
		if err != nil {
			t.Error(err)
			return
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(fd)
		up.SetUint16(unix.IFF_UP)
		if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, up); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}

func TestATargetWithoutARouteIsUnreachable(t *testing.T) {
	for _, address := range []string{"192.0.2.7", "2001:db8::7"} {
		apart(t, func() {
			run := newTestProber().Make(t.Context(), icmpRequest(address, 5))
			valid(t, run)
			if run.Failure != wire.FailureUnreachable || run.Counts.Received != 0 {
				t.Errorf("%s: failure %q (%s), counts %+v; want unreachable", address, run.Failure, run.Detail, run.Counts)
			}
		})
	}
}

// A child without privileges, for the system to refuse: see TestMain.
const childVariable = "ISOCHRONE_PROBE_ICMP_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	now := time.Now()
	run := New(NewPacer(1)).Make(context.Background(), Request{
		Target: "northeurope", Path: "public", Address: os.Getenv(childVariable), PlannedStart: now, First: now, Deadline: now.Add(time.Minute),
		Spec: wire.Spec{Kind: wire.KindICMP, Count: 3, Interval: 5 * time.Millisecond, Timeout: time.Second, RequestBytes: 56},
	})
	if err := json.NewEncoder(os.Stdout).Encode(run); err != nil {
		os.Exit(1)
	}
}

func TestWithoutAPrivilegeICMPIsNotPermitted(t *testing.T) {
	for _, address := range targets(t) {
		apart(t, func() { // where ping_group_range is closed, as the kernel sets it
			run := unprivileged(t, address)
			valid(t, run)
			if run.Failure != wire.FailureNotPermitted || run.Counts.Sent != 0 {
				t.Errorf("failure %q (%s), counts %+v; want not_permitted and nothing sent", run.Failure, run.Detail, run.Counts)
			}
			for _, remedy := range []string{"CAP_NET_RAW", "net.ipv4.ping_group_range", "65534"} {
				if !strings.Contains(run.Detail, remedy) {
					t.Errorf("detail %q does not name %s", run.Detail, remedy)
				}
			}
			if err := os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte("65534 65534"), 0); err != nil {
				t.Error(err)
			}
			echoed(t, unprivileged(t, address), 3)
		})
	}
}

func unprivileged(t *testing.T, address string) (run wire.Run) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env = append(os.Environ(), childVariable+"="+address)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running the child: %v", err)
	}
	if err := json.Unmarshal(out, &run); err != nil {
		t.Fatalf("the child says %q: %v", out, err)
	}
	return run
}

// Sending and receiving are counted together: the difference of two lengths of a run is theirs.
func TestEchoAllocatesNothingPerSample(t *testing.T) {
	allocations := func(n int) float64 {
		conn, err := openEcho(netip.MustParseAddr("127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		req := icmpRequest("127.0.0.1", n)
		req.Spec.Interval = time.Millisecond
		var before, after runtime.MemStats
		e := newEchoes(req, conn, newEchoMessage(56, false, conn.id), time.Now())
		received := make(chan struct{})
		go func() {
			defer close(received)
			e.receive()
		}()
		runtime.ReadMemStats(&before)
		e.sentAll(e.sendAll(t.Context(), NewPacer(1)))
		drain(t.Context(), time.Now().Add(req.Spec.Timeout), req.Deadline, e.complete)
		runtime.ReadMemStats(&after)
		_ = conn.SetReadDeadline(time.Unix(1, 0))
		<-received
		if run := e.run(req, ending{at: time.Now()}); run.Counts.Received != n {
			t.Errorf("%d of %d echoes received", run.Counts.Received, n)
		}
		return float64(after.Mallocs - before.Mallocs)
	}
	allocations(10)
	if few, many := allocations(20), allocations(520); many > few+50 { // the rest of the program may now and then
		t.Errorf("20 samples cost %v allocations, 520 cost %v: want no more", few, many)
	}
}

// What the network has no way for was sent as far as loss goes; what this machine refused was not.
func TestAnEchoThatCannotBeSentFailsAlone(t *testing.T) {
	s := &scriptedEcho{queue: make(chan []byte, 100), ended: make(chan struct{})}
	s.answer = func(b []byte) [][]byte { return [][]byte{slices.Clone(b)} }
	s.refuse = map[uint16]error{2: syscall.ENETUNREACH, 4: syscall.ENOBUFS}
	req := icmpRequest("127.0.0.1", 6)
	e := newEchoes(req, &echoConn{echoSocket: s}, newEchoMessage(56, false, 0), time.Now())
	received := make(chan struct{})
	go func() {
		defer close(received)
		e.receive()
	}()
	e.sentAll(e.sendAll(t.Context(), NewPacer(1)))
	select {
	case <-e.complete:
	case <-time.After(10 * time.Second):
		t.Error("what could not be sent is waited for")
	}
	close(s.ended)
	<-received
	end := ending{at: time.Now()}
	e.conclude(&end, false)
	run := e.run(req, end)
	valid(t, run)
	if want := (wire.FailureColumn{"", "", wire.FailureUnreachable, "", wire.FailureLocal, ""}); !slices.Equal(run.Samples.Failure, want) {
		t.Errorf("failures %q, want %q", run.Samples.Failure, want)
	}
	if run.Counts.Sent != 5 || run.Counts.Received != 4 || run.Counts.Lost != 1 || run.Samples.SentNS[4] != wire.Null || run.Detail == "" {
		t.Errorf("counts %+v, detail %q", run.Counts, run.Detail)
	}
}
