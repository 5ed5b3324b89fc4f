package probe

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/reflect"
	"isochrone/prober/wire"
)

// uncounted is a reflector's observer that nobody asks.
type uncounted struct{}

func (uncounted) SessionAdmitted()              {}
func (uncounted) SessionRefused(reflect.Reason) {}

var bulkSecret = []byte("a secret of the tests, long enough")

// bulkReflector starts a real reflector with a shared secret, and returns its address and a function that
// stops it.
func bulkReflector(t *testing.T) (address string, stop func()) {
	t.Helper()
	listener, err := reflect.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	r := reflect.New(reflect.Config{
		Observer: uncounted{}, Now: time.Now, Uptime: func() time.Duration { return time.Since(begun) },
		Log: slog.New(slog.DiscardHandler), Secret: bulkSecret,
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, listener) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

// bulkRequest is a run with the reflector's secret, within a minute.
func bulkRequest(t *testing.T, address string, spec wire.Spec) Request {
	t.Helper()
	now := time.Now()
	id, key, err := wire.SharedSession(bulkSecret, now, spec.RequestBytes, spec.ResponseBytes)
	if err != nil {
		t.Fatal(err)
	}
	return Request{
		Target: "northeurope", Path: "public", Address: address, Session: id, Key: key, Spec: spec,
		PlannedStart: now, First: now, Deadline: now.Add(time.Minute),
		LatestStart: now.Add(10 * time.Second), // until the session before is over, there
	}
}

func saturateSpec(size, readPercent, outstanding int, duration time.Duration) wire.Spec {
	return wire.Spec{
		Kind: wire.KindSaturate, RequestBytes: size, Timeout: 10 * time.Second,
		Bulk: wire.Bulk{MaxBytes: 10e9, Duration: duration, ReadPercent: readPercent, Outstanding: outstanding},
	}
}

// validBulk holds a run to what a document may hold.
func validBulk(t *testing.T, run wire.Run) {
	t.Helper()
	valid(t, run)
	if run.Bulk == nil {
		t.Fatalf("no result: %s: %s", run.Failure, run.Detail)
	}
}

func TestASaturateRunClimbsAndItsBandsAddUp(t *testing.T) {
	address, _ := bulkReflector(t)
	const size = 4096
	for _, percent := range []int{0, 100, 30} {
		req := bulkRequest(t, address, saturateSpec(size, percent, 6, 200*time.Millisecond))
		told := make(chan Progress, 1000)
		req.Progress = func(p Progress) { told <- p }
		run := newTestProber().Make(t.Context(), req)
		validBulk(t, run)
		if run.Failure != "" || run.Detail != "" || run.Bulk.BudgetReached || len(run.Bulk.Levels) == 0 {
			t.Fatalf("%d %% read: %+v", percent, run)
		}
		counted := 0
		for i, l := range run.Bulk.Levels {
			if want := []int{1, 2, 4, 6}[i]; l.Outstanding != want {
				t.Errorf("level %d has %d outstanding, want %d", i, l.Outstanding, want)
			}
			sum := 0
			for _, n := range l.Bands {
				sum += n
			}
			if sum != l.Requests || l.Requests == 0 || l.Bytes != int64(l.Requests)*size {
				t.Errorf("level %d: %d requests of %d bytes, %d in the bands", i, l.Requests, l.Bytes, sum)
			}
			if l.MinNS <= 0 || l.MinNS > l.P50NS || l.P50NS > l.P99NS || l.P99NS > l.MaxNS || l.MeanNS < l.MinNS || l.MeanNS > l.MaxNS {
				t.Errorf("level %d: times out of order: %+v", i, l)
			}
			if l.CountedNS != int64(200*time.Millisecond) || l.BPS != float64(l.Bytes)*8e9/float64(l.CountedNS) {
				t.Errorf("level %d: %v bit/s of %d bytes in %d ns", i, l.BPS, l.Bytes, l.CountedNS)
			}
			// By Little's law the requests under way are those that the clients had: what a request took,
			// times how many there were, is the lanes' time, less the moments between two of them.
			if busy := float64(l.MeanNS) * float64(l.Requests) / float64(l.CountedNS); busy > float64(l.Outstanding)*1.01 {
				t.Errorf("level %d: %.2f requests were under way at a time, of at most %d", i, busy, l.Outstanding)
			}
			counted += l.Requests
		}
		if knee, bent := wire.Knee(run.Bulk.Levels); !bent && len(run.Bulk.Levels) != 4 || bent && knee != len(run.Bulk.Levels)-2 {
			t.Errorf("stopped at level %d, and the knee is %d (%v)", len(run.Bulk.Levels), knee, bent)
		}
		// What was under way at a level's end is answered, and not counted in it.
		under := run.Counts.Received - counted
		if run.Counts.Lost != 0 || under < 0 || under > 1+2+4+6 || run.Bulk.Bytes != int64(run.Counts.Received)*size {
			t.Errorf("counts %+v, of which %d in levels; %d bytes", run.Counts, counted, run.Bulk.Bytes)
		}
		close(told)
		for p := range told {
			if p.UpBytes+p.DownBytes != int64(p.Requests)*size || percent == 0 && p.DownBytes > 0 || percent == 100 && p.UpBytes > 0 {
				t.Errorf("%d %% read: told of %+v", percent, p)
			}
		}
	}
}

// scripted plays a reflector of a bulk kind: control serves the first connection, payload the others.
func scripted(t *testing.T, control, payload func(*net.TCPConn)) (address string) {
	t.Helper()
	l := listenTest(t)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close() // the script has checked what it wanted
				_ = c.SetDeadline(time.Now().Add(30 * time.Second))
				if o, ok := accept(t, c); ok && o.Role == wire.RoleControl {
					control(c.(*net.TCPConn))
				} else if ok {
					payload(c.(*net.TCPConn))
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// accept does the reflector's part until the connection is accepted.
func accept(t *testing.T, c net.Conn) (o wire.Opening, ok bool) {
	var hello [wire.ClientHelloBytes]byte
	if _, err := io.ReadFull(c, hello[:]); err != nil {
		return o, false
	}
	id, nonce := wire.ReadClientHello(hello)
	s, err := wire.ReadSharedSession(id, bulkSecret)
	if err != nil {
		t.Error(err)
	}
	for _, kind := range wire.BulkKinds() {
		if wire.VerifyClientHello(hello, s.Key, kind) {
			answer := wire.ReflectorHello(s.Key, kind, id, nonce, wire.NewNonce())
			if _, err := c.Write(answer[:]); err != nil || wire.ReadFrame(c, &o) != nil || wire.WriteFrame(c, wire.Accepted{}) != nil {
				return o, false
			}
			return o, true
		}
	}
	t.Error("the first message was not made with the session's key")
	return o, false
}

// hold keeps a control connection open until the peer closes it.
func hold(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }

// answering requests as they come, telling of each, until answer says no.
func answerTransfers(c *net.TCPConn, size int, answer func(sequence uint64, read bool) bool) {
	header, out := make([]byte, wire.TransferHeaderBytes), make([]byte, size)
	for {
		if _, err := io.ReadFull(c, header); err != nil {
			return
		}
		sequence, read, _ := wire.Transfer(header)
		incoming, outgoing := size, wire.TransferHeaderBytes
		if read {
			incoming, outgoing = outgoing, incoming
		}
		if _, err := io.CopyN(io.Discard, c, int64(incoming-len(header))); err != nil {
			return
		}
		if !answer(sequence, read) {
			return
		}
		wire.PutResponse(out, sequence, 0)
		if _, err := c.Write(out[:outgoing]); err != nil {
			return
		}
	}
}

func TestTheMixOfReadsAndWritesIsExact(t *testing.T) {
	const size, percent = 512, 37
	var mu sync.Mutex
	seen := map[uint64]bool{}
	address := scripted(t, hold, func(c *net.TCPConn) {
		answerTransfers(c, size, func(sequence uint64, read bool) bool {
			mu.Lock()
			defer mu.Unlock()
			if _, twice := seen[sequence]; twice {
				t.Errorf("request %d came twice", sequence)
			}
			seen[sequence] = read
			return true
		})
	})
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, saturateSpec(size, percent, 4, 150*time.Millisecond)))
	validBulk(t, run)
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != run.Counts.Sent || len(seen) < 200 {
		t.Fatalf("%d requests came, %d were sent", len(seen), run.Counts.Sent)
	}
	for from := 0; from+100 <= len(seen); from++ {
		reads := 0
		for i := range 100 {
			if seen[uint64(from+i)] {
				reads++
			}
		}
		if reads != percent {
			t.Fatalf("requests %d to %d: %d reads, want %d", from, from+99, reads, percent)
		}
	}
}

func TestTheRunStopsWhereP99Doubles(t *testing.T) {
	const size = 64
	// Two at a time are served in 5 ms, and more than two in 150: far more than what a busy machine adds.
	var under atomic.Int32
	address := scripted(t, hold, func(c *net.TCPConn) {
		answerTransfers(c, size, func(uint64, bool) bool {
			takes := 5 * time.Millisecond
			if under.Add(1) > 2 {
				takes = 150 * time.Millisecond
			}
			time.Sleep(takes)
			under.Add(-1)
			return true
		})
	})
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, saturateSpec(size, 0, 64, 400*time.Millisecond)))
	validBulk(t, run)
	levels := run.Bulk.Levels
	knee, bent := wire.Knee(levels)
	if !bent || len(levels) > 3 || knee != len(levels)-2 {
		t.Errorf("%d levels, knee at %d (%v); want it where four are under way, or before", len(levels), knee, bent)
	}
}

func TestTheBudgetStopsASaturateRunInMidLevel(t *testing.T) {
	address, _ := bulkReflector(t)
	for _, c := range []struct {
		budget   int64
		requests int
	}{{50*1000 + 999, 50}, {2000, 2}, {999, 0}} {
		spec := saturateSpec(1000, 50, 8, time.Second)
		spec.Bulk.MaxBytes = c.budget
		began := time.Now()
		run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
		validBulk(t, run)
		if !run.Bulk.BudgetReached || run.Counts.Sent != c.requests || run.Counts.Received != c.requests || run.Bulk.Bytes != int64(c.requests)*1000 {
			t.Errorf("budget %d: counts %+v, %d bytes, reached %v: %s", c.budget, run.Counts, run.Bulk.Bytes, run.Bulk.BudgetReached, run.Detail)
		}
		if (run.Failure == wire.FailureBudget) != (c.requests == 0) {
			t.Errorf("budget %d: failure %q", c.budget, run.Failure)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("budget %d: it took %s", c.budget, took)
		}
	}
}

func TestASaturateRunEndsWhenItsTargetGoes(t *testing.T) {
	address, stop := bulkReflector(t)
	time.AfterFunc(300*time.Millisecond, stop)
	began := time.Now()
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, saturateSpec(1000, 50, 1024, 10*time.Second)))
	validBulk(t, run)
	if took := time.Since(began); took > 10*time.Second || run.Counts.Received == 0 || !strings.Contains(run.Detail, "the session broke at level") {
		t.Errorf("after %s: %+v: %s", took, run.Counts, run.Detail)
	}
}

func TestASaturateRunEndsWithItsContext(t *testing.T) {
	address, _ := bulkReflector(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	began := time.Now()
	run := newTestProber().Make(ctx, bulkRequest(t, address, saturateSpec(1000, 50, 4, 10*time.Second)))
	validBulk(t, run)
	if took := time.Since(began); took > 5*time.Second || run.Failure != "" || !strings.Contains(run.Detail, "stopped") {
		t.Errorf("after %s: %q, %q", took, run.Failure, run.Detail)
	}
	if l := run.Bulk.Levels; len(l) != 1 || l[0].CountedNS >= int64(10*time.Second) || l[0].CountedNS < int64(100*time.Millisecond) {
		t.Errorf("the level that was cut: %+v", l)
	}
}

func TestATargetThatDoesNotAnswerIsWaitedForOnce(t *testing.T) {
	address := scripted(t, hold, hold)
	spec := saturateSpec(1000, 0, 4, 100*time.Millisecond)
	spec.Timeout = 200 * time.Millisecond
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
	validBulk(t, run)
	if run.Failure != wire.FailureTimeout || run.Counts.Sent != 1 || run.Counts.Lost != 1 || len(run.Bulk.Levels) != 0 {
		t.Errorf("%q, %+v: %s", run.Failure, run.Counts, run.Detail)
	}
}

func TestAnotherRequestsAnswerEndsTheRun(t *testing.T) {
	address := scripted(t, hold, func(c *net.TCPConn) {
		b := make([]byte, 64)
		for sequence := uint64(7); ; sequence++ {
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			wire.PutResponse(b, sequence, 0)
			_, _ = c.Write(b[:16])
		}
	})
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, saturateSpec(64, 0, 2, 100*time.Millisecond)))
	validBulk(t, run)
	if run.Failure != wire.FailureProtocol || !strings.Contains(run.Detail, "another request's") {
		t.Errorf("%q: %s", run.Failure, run.Detail)
	}
}

// The whole program's allocations, both ends', while many requests are made.
func TestASaturateRunAllocatesNothingPerRequest(t *testing.T) {
	address, _ := bulkReflector(t)
	for _, percent := range []int{0, 100} {
		t.Run(fmt.Sprintf("%d %% read", percent), func(t *testing.T) {
			cost := func(budget int64) (mallocs uint64, requests int) {
				spec := saturateSpec(70_000, percent, 1, time.Minute)
				spec.Bulk.MaxBytes = budget
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
				runtime.ReadMemStats(&after)
				return after.Mallocs - before.Mallocs, run.Counts.Received
			}
			few, n := cost(70_000 * 20)
			many, m := cost(70_000 * 2020)
			if n != 20 || m != 2020 {
				t.Fatalf("%d and %d requests were answered", n, m)
			}
			if extra := int64(many) - int64(few); extra > 500 { // the runtime itself may allocate a little, more so under the race detector
				t.Errorf("20 requests cost %d allocations, 2,020 cost %d", few, many)
			}
		})
	}
}
