package probe

import (
	"context"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// bothWays calls f with a prober whose tcp runs have a thread each, and with one whose runs share
// the runtime's.
func bothWays(t *testing.T, f func(t *testing.T, p *Prober)) {
	t.Helper()
	for name, threads := range map[string]int{"alone": 4, "shared": 0} {
		t.Run(name, func(t *testing.T) {
			p := newTestProber()
			p.threads = socket.NewThreads(threads)
			f(t, p)
		})
	}
}

// closedLoop makes a closed loop of the run.
func closedLoop(req Request) Request {
	req.Spec.Interval = 0
	return req
}

func TestInAClosedLoopARequestLeavesWhenTheOneBeforeIsAnswered(t *testing.T) {
	bothWays(t, func(t *testing.T, p *Prober) {
		const count, held = 30, 5 * time.Millisecond
		address := answering(t, func(conn *net.TCPConn, s uint64) bool {
			_ = conn.SetReadDeadline(time.Now().Add(held))
			if n, _ := conn.Read(make([]byte, 1)); n > 0 {
				t.Errorf("request %d came before %d was answered", s+1, s)
				return false
			}
			_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			return respond(conn, 16, s)
		})
		run := p.Make(t.Context(), closedLoop(tcpRequest(address, count)))
		valid(t, run)
		if run.Failure != "" || run.Counts.Received != count || run.Counts.PacingViolations != 0 || run.Timestamps != wire.TimestampsUser {
			t.Fatalf("failure %q (%s), counts %+v, time stamps %q", run.Failure, run.Detail, run.Counts, run.Timestamps)
		}
		if !slices.Equal(run.Samples.DueNS, run.Samples.SentNS) {
			t.Error("in a closed loop a sample is due when it leaves")
		}
		for i := 1; i < count; i++ {
			if before := run.Samples.SentNS[i-1] + run.Samples.RTTNS[i-1]; run.Samples.SentNS[i] < before {
				t.Errorf("sample %d left at %d, the reply before it came at %d", i, run.Samples.SentNS[i], before)
			}
		}
	})
}

// A reply that comes after its sample's timeout is in the stream before the next one's.
func TestInAClosedLoopALateReplyIsNotTakenForTheNext(t *testing.T) {
	bothWays(t, func(t *testing.T, p *Prober) {
		address := answering(t, func(conn *net.TCPConn, s uint64) bool {
			if s == 3 {
				time.Sleep(400 * time.Millisecond)
			}
			return respond(conn, 16, s)
		})
		req := closedLoop(tcpRequest(address, 8))
		req.Spec.Timeout = 300 * time.Millisecond
		run := p.Make(t.Context(), req)
		valid(t, run)
		if c := run.Counts; c.Sent != 8 || c.Received != 7 || c.Lost != 1 || c.Late != 1 || run.Samples.Failure[3] != wire.FailureTimeout {
			t.Errorf("counts %+v, failures %q; want the fourth of 8 late", c, run.Samples.Failure)
		}
		// The fifth leaves at the fourth's timeout, and the target gets to it 100 ms later.
		if rtt := time.Duration(run.Samples.RTTNS[4]); rtt < 80*time.Millisecond {
			t.Errorf("the fifth round trip is %s: it was given the fourth's reply", rtt)
		}
	})
}

func TestAClosedLoopGoesOnWithoutAReply(t *testing.T) {
	bothWays(t, func(t *testing.T, p *Prober) {
		address := answering(t, func(conn *net.TCPConn, s uint64) bool { return s%2 == 1 || respond(conn, 16, s) })
		req := closedLoop(tcpRequest(address, 6))
		req.Spec.Timeout = 250 * time.Millisecond
		run := p.Make(t.Context(), req)
		valid(t, run)
		if c := run.Counts; c.Sent != 6 || c.Received != 3 || c.Lost != 3 || c.Late != 0 {
			t.Errorf("counts %+v; want every other of 6 lost", c)
		}
	})
}

const stall, stalled = 2 * time.Second, 20

// stalling makes a target that stands still for a while when it has read a request.
func stalling(t *testing.T) string {
	return answering(t, func(conn *net.TCPConn, s uint64) bool {
		if s == stalled {
			time.Sleep(stall)
		}
		return respond(conn, 16, s)
	})
}

// The point of an open loop: what was due while the target stood still waited for the rest of it.
func TestAStallShowsInEverySampleThatWasDueInIt(t *testing.T) {
	bothWays(t, func(t *testing.T, p *Prober) {
		const count = 200
		req := tcpRequest(stalling(t), count)
		req.Spec.Interval = 20 * time.Millisecond
		run := p.Make(t.Context(), req)
		valid(t, run)
		if run.Counts.Received != count {
			t.Fatalf("received %d of %d: %s", run.Counts.Received, count, run.Detail)
		}
		over := run.Samples.SentNS[stalled] + int64(stall)
		hit := 0
		for i := stalled; i < count && run.Samples.SentNS[i] < over; i++ {
			hit++
			if rest := over - run.Samples.SentNS[i]; run.Samples.RTTNS[i] < rest {
				t.Errorf("sample %d left %s before the stall was over, and took %s", i, time.Duration(rest), time.Duration(run.Samples.RTTNS[i]))
			}
		}
		if hit < 90 {
			t.Errorf("%d samples left within the stall, due were 100: sending waited for the target", hit)
		}
		rtts := slices.Sorted(slices.Values(run.Samples.RTTNS))
		if p99 := time.Duration(rtts[count*99/100]); p99 < stall*3/4 {
			t.Errorf("p99 is %s: the stall of %s does not show", p99, stall)
		}
	})
}

// What a closed loop cannot see, and why no sweep uses it.
func TestAStallShowsInOneSampleOfAClosedLoop(t *testing.T) {
	bothWays(t, func(t *testing.T, p *Prober) {
		run := p.Make(t.Context(), closedLoop(tcpRequest(stalling(t), 200)))
		valid(t, run)
		long := 0
		for _, rtt := range run.Samples.RTTNS {
			if rtt >= int64(stall) {
				long++
			}
		}
		if run.Counts.Received != 200 || long != 1 || run.Samples.RTTNS[stalled] < int64(stall) {
			t.Errorf("received %d, of which %d took as long as the stall; want 200 and 1", run.Counts.Received, long)
		}
	})
}

// Messages that no buffer holds, to and from a peer that reads and writes them piece by piece.
func TestLargeMessagesTravelInPieces(t *testing.T) {
	for _, size := range []int{62780, wire.MaxMessageBytes} {
		bothWays(t, func(t *testing.T, p *Prober) {
			const count = 5
			address := target(t, func(conn *net.TCPConn) {
				_ = conn.SetReadBuffer(16 << 10)
				_ = conn.SetWriteBuffer(16 << 10)
				if !welcome(t, conn, testKey) {
					return
				}
				message := make([]byte, size)
				for i := range count {
					time.Sleep(10 * time.Millisecond) // until the sender is stuck
					if _, err := io.ReadFull(conn, message); err != nil {
						t.Errorf("reading request %d: %v", i, err)
						return
					}
					sequence := wire.RequestSequence(message)
					wire.PutResponse(message, sequence, time.Nanosecond)
					for rest := message; len(rest) > 0; {
						n := min(len(rest), 100_000)
						if _, err := conn.Write(rest[:n]); err != nil {
							t.Errorf("writing response %d: %v", i, err)
							return
						}
						rest = rest[n:]
					}
				}
				_, _ = io.Copy(io.Discard, conn)
			})
			req := tcpRequest(address, count)
			req.Spec.RequestBytes, req.Spec.ResponseBytes, req.Spec.Timeout = size, size, 20*time.Second
			run := p.Make(t.Context(), req)
			valid(t, run)
			if run.Counts.Received != count || run.Detail != "" {
				t.Errorf("%d bytes: received %d of %d: %s", size, run.Counts.Received, count, run.Detail)
			}
		})
	}
}

func TestMoreRunsThanThreadsAreMade(t *testing.T) {
	p := newTestProber()
	p.threads = socket.NewThreads(2)
	var all sync.WaitGroup
	for range 12 {
		address := answering(t, func(conn *net.TCPConn, s uint64) bool { return respond(conn, 16, s) })
		all.Go(func() {
			if run := p.Make(t.Context(), tcpRequest(address, 30)); run.Counts.Received != 30 {
				t.Errorf("received %d of 30: %s", run.Counts.Received, run.Detail)
			}
		})
	}
	all.Wait()
	free := 0
	for p.threads.Take() {
		free++
	}
	if free != 2 {
		t.Errorf("the runs are over, and %d threads are free, want 2", free)
	}
}

func TestRunsAreStoppedEitherWay(t *testing.T) {
	bothWays(t, func(t *testing.T, p *Prober) {
		ctx, cancel := context.WithCancel(t.Context())
		address := answering(t, func(conn *net.TCPConn, s uint64) bool {
			if s == 3 {
				time.AfterFunc(50*time.Millisecond, cancel)
			}
			return respond(conn, 16, s)
		})
		req := tcpRequest(address, 100)
		req.Spec.Interval = 300 * time.Millisecond
		began := time.Now()
		run := p.Make(ctx, req)
		valid(t, run)
		if took := time.Since(began); run.Counts.Received < 4 || run.Counts.Received != run.Counts.Sent || took > 10*time.Second {
			t.Errorf("counts %+v after %s; want the four that were sent, soon after", run.Counts, took)
		}
	})
}

func TestASamplesOwnShareIsWhatTheTargetAndTheWayDidNotTake(t *testing.T) {
	const held = 10 * time.Millisecond
	bothWays(t, func(t *testing.T, p *Prober) {
		for _, interval := range []time.Duration{0, 15 * time.Millisecond} {
			address := answering(t, func(conn *net.TCPConn, s uint64) bool {
				time.Sleep(held)
				return respond(conn, 16, s)
			})
			req := tcpRequest(address, 20)
			req.Spec.Interval = interval
			run := p.Make(t.Context(), req)
			valid(t, run)
			if runtime.GOOS != "linux" {
				if len(run.Samples.ClientNS) > 0 {
					t.Error("who said so?")
				}
				continue
			}
			for i, own := range run.Samples.ClientNS {
				if own < 0 || own > run.Samples.RTTNS[i]-int64(held) {
					t.Errorf("sample %d: of %s the source took %s, and the target held it for %s", i, time.Duration(run.Samples.RTTNS[i]), time.Duration(own), held)
				}
			}
		}
	})
}

// The kernel's stamp is the wall clock's: if that was set since the sample left, nobody knows.
func TestAnOwnShareAcrossAStepOfTheClockIsNotKept(t *testing.T) {
	begin := time.Now().Add(-time.Second)
	for _, c := range []struct {
		name  string
		moved time.Duration // of the wall clock, between departure and arrival
		stamp time.Duration // before the arrival
		want  int64
	}{
		{"no step", 0, 30 * time.Microsecond, 30_000},
		{"slewing", 50 * time.Microsecond, 30 * time.Microsecond, 30_000},
		{"forward", time.Second, 30 * time.Microsecond, notYet},
		{"back", -time.Second, 30 * time.Microsecond, notYet},
		{"stamped after it was read", 0, -time.Microsecond, notYet},
		{"longer than the round trip", 0, 30 * time.Millisecond, notYet},
		{"no stamp", 0, 0, notYet},
	} {
		at := socket.ReadClocks()
		x := &exchange{rec: newRecord(tcpRequest("127.0.0.1:1", 1), begin, columnSet{client: true}), begin: socket.Monotonic(begin), offsets: make([]int64, 1)}
		sent := at.Monotonic - x.begin - 20*ms
		x.rec.samples[0].sent.Store(sent)
		x.rec.samples[0].rtt = 20 * ms
		x.offsets[0] = at.Offset() - int64(c.moved)
		stamp := int64(0)
		if c.stamp != 0 {
			stamp = at.Realtime - int64(c.stamp)
		}
		if x.ownShare(0, at, stamp); x.rec.samples[0].client != c.want {
			t.Errorf("%s: own share %d, want %d", c.name, x.rec.samples[0].client, c.want)
		}
	}
}
