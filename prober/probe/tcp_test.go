package probe

import (
	"context"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestATCPRunMeasuresEverySample(t *testing.T) {
	const count, warmup, held = 20, 3, 10 * time.Millisecond
	var requests atomic.Int64
	address := target(t, func(conn *net.TCPConn) {
		serveRequests(t, conn, 300, func(sequence uint64) bool {
			if n := requests.Add(1) - 1; sequence != uint64(n) {
				t.Errorf("request %d has sequence number %d", n, sequence)
			}
			time.Sleep(held)
			return respond(conn, 100, sequence)
		})
	})
	req := tcpRequest(address, count)
	req.Spec.Warmup, req.Spec.RequestBytes, req.Spec.ResponseBytes, req.Spec.Interval = warmup, 300, 100, 15*time.Millisecond
	run := newTestProber().Make(t.Context(), req)
	valid(t, run)
	if run.Failure != "" || run.Counts.Received != count || run.Counts.Sent != count || run.Counts.Warmup != warmup || run.Samples.Len() != count {
		t.Fatalf("failure %q (%s), counts %+v", run.Failure, run.Detail, run.Counts)
	}
	for i, rtt := range run.Samples.RTTNS {
		if rtt < int64(held) {
			t.Errorf("sample %d took %s, less than the %s that the target slept", i, time.Duration(rtt), held)
		}
		if server := run.Samples.ServerNS[i]; server != 1 {
			t.Errorf("sample %d: the target said that it held the request 1 ns, recorded is %d", i, server)
		}
		if run.Samples.SentNS[i] < run.Samples.DueNS[i] {
			t.Errorf("sample %d left at %d, before it was due at %d", i, run.Samples.SentNS[i], run.Samples.DueNS[i])
		}
	}
	if n := requests.Load(); n != count+warmup {
		t.Errorf("the target saw %d requests, want %d", n, count+warmup)
	}
	if run.Start == nil || run.End == nil || run.End.Sub(*run.Start) < (count+warmup-1)*req.Spec.Interval {
		t.Errorf("the run lasted from %v to %v", run.Start, run.End)
	}
	if info := run.TCPInfo; (info != nil) != (runtime.GOOS == "linux") {
		t.Errorf("TCP_INFO is %v on %s", info, runtime.GOOS)
	} else if info != nil && (info.RTTUS <= 0 || info.MSSBytes < 500 || info.CongestionControl == "" || info.CongestionWindow < 1) {
		t.Errorf("TCP_INFO %+v cannot be that of a connection in use", *info)
	}
}

func TestSendingDoesNotWaitForAnswers(t *testing.T) {
	const count, delay = 20, 150 * time.Millisecond
	address := target(t, func(conn *net.TCPConn) {
		pending := make(chan uint64, count)
		done := make(chan struct{})
		go func() { // a path of 150 ms: later requests leave before the first response is back
			defer close(done)
			for s := range pending {
				time.Sleep(delay / count) // well under the delay in all, so that answers pile up
				respond(conn, 16, s)
			}
		}()
		first := true
		serveRequests(t, conn, 64, func(s uint64) bool {
			if first {
				first = false
				time.AfterFunc(delay, func() {
					for i := range count {
						pending <- uint64(i)
					}
					close(pending)
				})
			}
			return true
		})
		<-done
	})
	run := newTestProber().Make(t.Context(), tcpRequest(address, count))
	valid(t, run)
	if run.Counts.Received != count {
		t.Fatalf("received %d of %d: %s", run.Counts.Received, count, run.Detail)
	}
	if last := time.Duration(run.Samples.SentNS[count-1]); last > delay {
		t.Errorf("the last of %d requests left after %s: sending waited for the first response, after %s", count, last, delay)
	}
	if rtt := time.Duration(run.Samples.RTTNS[0]); rtt < delay {
		t.Errorf("the first round trip is %s, want at least %s", rtt, delay)
	}
}

// answering makes a target that answers as reply says: nil means at once.
func answering(t *testing.T, reply func(conn *net.TCPConn, sequence uint64) bool) string {
	return target(t, func(conn *net.TCPConn) {
		serveRequests(t, conn, 64, func(s uint64) bool { return reply(conn, s) })
	})
}

func TestLostLateDuplicateAndReorderedReplies(t *testing.T) {
	address := answering(t, func(conn *net.TCPConn, s uint64) bool {
		switch s {
		case 2: // never
			return true
		case 4: // twice
			respond(conn, 16, s)
		case 5: // after its successor
			return true
		case 6:
			return respond(conn, 16, 6) && respond(conn, 16, 5)
		case 8: // beyond the timeout, and so are those that wait behind it on the connection
			time.Sleep(900 * time.Millisecond)
		}
		return respond(conn, 16, s)
	})
	req := tcpRequest(address, 9)
	req.Spec.Interval, req.Spec.Timeout = 10*time.Millisecond, 400*time.Millisecond
	run := newTestProber().Make(t.Context(), req)
	valid(t, run)
	c := run.Counts
	if c.Sent != 9 || c.Received != 7 || c.Lost != 2 || c.Duplicate != 1 || c.Reordered != 1 {
		t.Errorf("counts %+v, want sent 9, received 7, lost 2, duplicate 1, reordered 1", c)
	}
	for i, f := range run.Samples.Failure {
		want := wire.Failure("")
		if i == 2 || i == 8 {
			want = wire.FailureTimeout
		}
		if f != want {
			t.Errorf("sample %d: failure %q, want %q", i, f, want)
		}
	}
}

func TestALateReplyIsCountedWhileTheRunLasts(t *testing.T) {
	address := answering(t, func(conn *net.TCPConn, s uint64) bool {
		if s == 0 {
			time.Sleep(250 * time.Millisecond)
		}
		return respond(conn, 16, s)
	})
	req := tcpRequest(address, 3)
	req.Spec.Interval, req.Spec.Timeout = 200*time.Millisecond, 150*time.Millisecond
	run := newTestProber().Make(t.Context(), req)
	valid(t, run)
	if c := run.Counts; c.Late != 1 || c.Lost != 1 || c.Received != 2 || run.Samples.RTTNS[0] != wire.Null {
		t.Errorf("counts %+v, round trips %v; want the first late and so lost, the others received", c, run.Samples.RTTNS)
	}
}

func TestATargetThatDoesNotProveTheKeyGetsNothingMore(t *testing.T) {
	rest := func(t *testing.T, conn net.Conn) {
		t.Helper()
		if more, err := io.ReadAll(conn); len(more) > 0 || err != nil {
			t.Errorf("after a wrong answer the prober sent %d bytes more (%v)", len(more), err)
		}
	}
	for name, script := range map[string]func(t *testing.T, conn *net.TCPConn){
		"another key": func(t *testing.T, conn *net.TCPConn) {
			welcome(t, conn, wire.Key{9})
			rest(t, conn)
		},
		"an answer to another nonce": func(t *testing.T, conn *net.TCPConn) {
			_, _ = io.ReadFull(conn, make([]byte, wire.ClientHelloBytes))
			answer := wire.ReflectorHello(testKey, wire.KindTCP, testSession, wire.NewNonce(), wire.NewNonce())
			_, _ = conn.Write(answer[:])
			rest(t, conn)
		},
		"an echo": func(t *testing.T, conn *net.TCPConn) {
			hello := make([]byte, wire.ClientHelloBytes)
			_, _ = io.ReadFull(conn, hello)
			_, _ = conn.Write(hello[:wire.ReflectorHelloBytes])
			rest(t, conn)
		},
		"closed without a byte": func(_ *testing.T, conn *net.TCPConn) {
			_, _ = io.ReadFull(conn, make([]byte, wire.ClientHelloBytes))
		},
		"reset": func(_ *testing.T, conn *net.TCPConn) {
			_, _ = io.ReadFull(conn, make([]byte, wire.ClientHelloBytes))
			_ = conn.SetLinger(0)
		},
		"closed within the answer": func(_ *testing.T, conn *net.TCPConn) {
			_, _ = io.ReadFull(conn, make([]byte, wire.ClientHelloBytes))
			_, _ = conn.Write(make([]byte, 20))
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := target(t, func(conn *net.TCPConn) { script(t, conn) })
			run := newTestProber().Make(t.Context(), tcpRequest(address, 5))
			valid(t, run)
			if run.Failure != wire.FailureUnauthorized || run.Counts.Sent != 0 || run.Samples.Len() != 5 {
				t.Errorf("failure %q (%s), counts %+v of %d samples; want unauthorized, nothing sent of 5", run.Failure, run.Detail, run.Counts, run.Samples.Len())
			}
			if run.Start == nil {
				t.Error("the run was made, and has no start")
			}
		})
	}
}

func TestATargetThatNeverAnswersTheHandshakeIsATimeout(t *testing.T) {
	address := target(t, func(conn *net.TCPConn) { _, _ = io.Copy(io.Discard, conn) })
	p := newTestProber()
	p.setup = 100 * time.Millisecond
	run := p.Make(t.Context(), tcpRequest(address, 5))
	valid(t, run)
	if run.Failure != wire.FailureTimeout || run.Counts.Sent != 0 {
		t.Errorf("failure %q (%s), counts %+v", run.Failure, run.Detail, run.Counts)
	}
}

func TestNothingListening(t *testing.T) {
	l := listenTest(t)
	address := l.Addr().String()
	_ = l.Close()
	for _, req := range []Request{tcpRequest(address, 4), connectRequest(address, 4)} {
		run := newTestProber().Make(t.Context(), req)
		valid(t, run)
		if run.Failure != wire.FailureRefused || !strings.Contains(run.Detail, "refused") {
			t.Errorf("%s: failure %q (%s), want refused", req.Spec.Kind, run.Failure, run.Detail)
		}
		if want := map[wire.Kind]int{wire.KindConnect: 4}[req.Spec.Kind]; run.Counts.Sent != want {
			t.Errorf("%s: %d samples sent, want %d", req.Spec.Kind, run.Counts.Sent, want)
		}
	}
}

func TestAConnectionThatBreaksKeepsWhatItMeasured(t *testing.T) {
	for name, end := range map[string]func(conn *net.TCPConn) bool{
		"reset":            func(conn *net.TCPConn) bool { _ = conn.SetLinger(0); return false },
		"closed":           func(*net.TCPConn) bool { return false },
		"cut in a message": func(conn *net.TCPConn) bool { _, _ = conn.Write(make([]byte, 9)); return false },
	} {
		t.Run(name, func(t *testing.T) {
			address := answering(t, func(conn *net.TCPConn, s uint64) bool {
				if s == 5 {
					time.Sleep(50 * time.Millisecond) // so that the five responses are read before
					return end(conn)
				}
				return respond(conn, 16, s)
			})
			req := tcpRequest(address, 200)
			began := time.Now()
			run := newTestProber().Make(t.Context(), req)
			valid(t, run)
			if run.Failure != "" || run.Counts.Received != 5 || run.Counts.Sent >= 200 {
				t.Fatalf("failure %q, counts %+v; want 5 received, and an end to sending", run.Failure, run.Counts)
			}
			if !strings.Contains(run.Detail, "after 5 responses") {
				t.Errorf("detail %q does not say when it broke", run.Detail)
			}
			for i, f := range run.Samples.Failure[5:] {
				if f != wire.FailureReset {
					t.Fatalf("sample %d: failure %q, want reset", i+5, f)
				}
			}
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("a broken connection was waited on for %s", took)
			}
		})
	}
}

func TestAResponseToNothingBreaksTheProtocol(t *testing.T) {
	for name, bogus := range map[string]uint64{"not sent yet": 190, "never to be sent": 200, "huge": 1<<64 - 1} {
		t.Run(name, func(t *testing.T) {
			address := answering(t, func(conn *net.TCPConn, s uint64) bool {
				if s == 2 {
					s = bogus
				}
				return respond(conn, 16, s)
			})
			run := newTestProber().Make(t.Context(), tcpRequest(address, 200))
			valid(t, run)
			if run.Counts.Sent >= 200 {
				t.Error("the prober went on sending")
			}
			if run.Counts.Received != 2 || run.Samples.Failure[199] != wire.FailureProtocol || run.Samples.Failure[2] != wire.FailureProtocol {
				t.Errorf("counts %+v, failures %q", run.Counts, slices.Compact(slices.Clone(run.Samples.Failure)))
			}
		})
	}
}

func TestARunThatIsStoppedWaitsForWhatIsInFlight(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address := answering(t, func(conn *net.TCPConn, s uint64) bool {
		if s == 5 {
			cancel()
			time.Sleep(100 * time.Millisecond)
		}
		return respond(conn, 16, s)
	})
	run := newTestProber().Make(ctx, tcpRequest(address, 500))
	valid(t, run)
	if run.Counts.Sent >= 500 || run.Counts.Sent < 6 || run.Counts.Received != run.Counts.Sent {
		t.Errorf("counts %+v: want all that were sent, and not all 500", run.Counts)
	}
	if f := run.Samples.Failure[499]; f != wire.FailureCanceled {
		t.Errorf("the last sample's failure is %q, want canceled", f)
	}
}

func TestARunThatIsStoppedWithNothingInFlightEndsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address := answering(t, func(conn *net.TCPConn, s uint64) bool {
		if s == 1 {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
		return respond(conn, 16, s)
	})
	req := tcpRequest(address, 500)
	req.Spec.Interval = 700 * time.Millisecond
	run := newTestProber().Make(ctx, req)
	valid(t, run)
	if run.Counts.Sent != 2 || run.Counts.Received != 2 {
		t.Errorf("counts %+v, want 2 sent and received", run.Counts)
	}
	// 700 ms to the second sample, 100 ms to the end; the grace would be two seconds more.
	if took := run.End.Sub(*run.Start); took > 2*time.Second {
		t.Errorf("it ended %s after its first sample was due, and waited for nothing", took)
	}
}

func TestARunThatIsStoppedDoesNotWaitForever(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address := answering(t, func(conn *net.TCPConn, s uint64) bool {
		if s == 3 {
			cancel()
		}
		return s >= 2 || respond(conn, 16, s)
	})
	req := tcpRequest(address, 500)
	req.Spec.Timeout = time.Minute
	began := time.Now()
	run := newTestProber().Make(ctx, req)
	valid(t, run)
	if took := time.Since(began); took < drainGrace || took > drainGrace+10*time.Second {
		t.Errorf("it ended after %s, want a little over %s", took, drainGrace)
	}
	if run.Counts.Received != 2 || run.Samples.Failure[2] != wire.FailureCanceled || run.Samples.Failure[499] != wire.FailureCanceled {
		t.Errorf("counts %+v; want 2 received, and the rest canceled", run.Counts)
	}
}

func TestTheDeadlineEndsARunWhoseTargetDoesNotRead(t *testing.T) {
	release := make(chan struct{})
	address := target(t, func(conn *net.TCPConn) {
		welcome(t, conn, testKey)
		<-release
	})
	defer close(release)
	req := tcpRequest(address, 100)
	req.Spec.RequestBytes = wire.MaxMessageBytes // a hundred of them fit into no buffer
	req.Spec.Timeout = time.Minute
	req.Deadline = time.Now().Add(500 * time.Millisecond)
	began := time.Now()
	run := newTestProber().Make(t.Context(), req)
	valid(t, run)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it ended after %s, with a deadline after 500 ms", took)
	}
	if run.Failure != wire.FailureCanceled || run.Counts.Received != 0 {
		t.Errorf("failure %q (%s), counts %+v; want canceled", run.Failure, run.Detail, run.Counts)
	}
}

func TestARunPastItsDeadlineIsNotMade(t *testing.T) {
	req := tcpRequest("127.0.0.1:1", 7)
	req.Deadline = time.Now().Add(-time.Second)
	run := newTestProber().Make(t.Context(), req)
	valid(t, run)
	if run.Failure != wire.FailureCanceled || run.Start != nil || run.Samples.Len() != 7 {
		t.Errorf("failure %q, start %v, %d samples", run.Failure, run.Start, run.Samples.Len())
	}
}

func TestWhatCannotBeMadeIsUnsupported(t *testing.T) {
	udp := tcpRequest("127.0.0.1:1", 7)
	udp.Spec.Kind = "udp"
	name := tcpRequest("localhost:1", 7)
	for _, req := range []Request{udp, name} {
		run := newTestProber().Make(t.Context(), req)
		valid(t, run)
		if run.Failure != wire.FailureUnsupported || run.Start != nil {
			t.Errorf("kind %q to %q: failure %q (%s), start %v", req.Spec.Kind, req.Address, run.Failure, run.Detail, run.Start)
		}
	}
}
