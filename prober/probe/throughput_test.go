package probe

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"isochrone/prober/reflect"
	"isochrone/prober/wire"
)

var throughputSecret = []byte("a secret of more than sixteen bytes")

type unwatched struct{}

func (unwatched) SessionAdmitted()              {}
func (unwatched) SessionRefused(reflect.Reason) {}

// throughputTarget is a real reflector with a shared secret, on loopback.
func throughputTarget(t *testing.T, limits reflect.Limits) string {
	t.Helper()
	listener, err := reflect.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	r := reflect.New(reflect.Config{
		Limits: limits, Observer: unwatched{}, Now: time.Now, Uptime: func() time.Duration { return time.Since(begun) },
		Log: slog.New(slog.DiscardHandler), Secret: throughputSecret,
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	return listener.Addr().String()
}

// throughputRequest is a run of 600 ms after 200 ms of ramp, on two streams.
func throughputRequest(t *testing.T, address string, direction wire.Direction) Request {
	t.Helper()
	now := time.Now()
	req := Request{
		Target: "northeurope", Path: "public", Address: address, PlannedStart: now, First: now, Deadline: now.Add(time.Minute),
		Spec: wire.Spec{
			Kind: wire.KindThroughput, RequestBytes: wire.DefaultChunkBytes, Timeout: 10 * time.Second,
			Bulk: wire.Bulk{MaxBytes: 1 << 40, Duration: 600 * time.Millisecond, Ramp: 200 * time.Millisecond, Direction: direction, Streams: 2},
		},
	}
	var err error
	if req.Session, req.Key, err = wire.SharedSession(throughputSecret, now, req.Spec.RequestBytes, req.Spec.ResponseBytes); err != nil {
		t.Fatal(err)
	}
	return req
}

// agrees checks that a run's sums are those of its intervals.
func agrees(t *testing.T, run wire.Run, flows int) {
	t.Helper()
	valid(t, run)
	if run.Failure != "" || run.Bulk == nil || len(run.Bulk.Flows) != flows {
		t.Fatalf("failure %q (%s), %+v", run.Failure, run.Detail, run.Bulk)
	}
	for _, f := range run.Bulk.Flows {
		bytes, lasted := int64(0), int64(0)
		for i, n := range f.Intervals.Bytes {
			bytes += n
			lasted += f.Intervals.ForNS[i]
		}
		if bytes != f.Bytes+f.RampBytes || lasted != f.CountedNS+f.RampNS {
			t.Errorf("%s: intervals of %d bytes in %d ns; ramp and count have %d in %d", f.Direction, bytes, lasted, f.Bytes+f.RampBytes, f.CountedNS+f.RampNS)
		}
	}
}

func TestThroughputIsCountedByItsReceiver(t *testing.T) {
	address := throughputTarget(t, reflect.Limits{BulkBytes: 1 << 40})
	for direction, flows := range map[wire.Direction]int{wire.DirectionUp: 1, wire.DirectionDown: 1, wire.DirectionBoth: 2} {
		t.Run(string(direction), func(t *testing.T) {
			req := throughputRequest(t, address, direction)
			var mu sync.Mutex
			var last Progress
			req.Progress = func(p Progress) { mu.Lock(); defer mu.Unlock(); last = p }
			run := newTestProber().Make(t.Context(), req)
			agrees(t, run, flows)
			for _, f := range run.Bulk.Flows {
				if f.BPS < 1e6 || f.Streams != 2 || f.CountedNS < int64(600*time.Millisecond) || f.RampNS < int64(200*time.Millisecond) {
					t.Errorf("%+v", f)
				}
				if runtime.GOOS == "linux" && (f.Retransmits == nil || f.CongestionControl == "" || f.WindowLimitedRatio == nil || len(f.Intervals.RTTNS) != len(f.Intervals.AtNS)) {
					t.Errorf("the sender's kernel said nothing: %+v", f)
				}
				t.Logf("%s %.3g bit/s cc %s retrans %d limited %.2f in %d intervals", f.Direction, f.BPS, f.CongestionControl, *f.Retransmits, *f.WindowLimitedRatio, len(f.Intervals.AtNS))
			}
			if run.Bulk.BudgetReached || run.Detail != "" {
				t.Errorf("budget reached: %v; %s", run.Bulk.BudgetReached, run.Detail)
			}
			mu.Lock()
			defer mu.Unlock()
			if last.Of != 800*time.Millisecond || last.Elapsed <= 0 || last.UpBytes+last.DownBytes <= 0 {
				t.Errorf("progress %+v", last)
			}
		})
	}
}

// What was sent and what was counted are the same, to the byte, when the budget ends it.
func TestABudgetEndsARunInMidStream(t *testing.T) {
	address := throughputTarget(t, reflect.Limits{BulkBytes: 1 << 40})
	for _, direction := range []wire.Direction{wire.DirectionUp, wire.DirectionDown} {
		t.Run(string(direction), func(t *testing.T) {
			req := throughputRequest(t, address, direction)
			req.Spec.Bulk.MaxBytes, req.Spec.Bulk.RateBPS = 10_000_001, 160_000_000 // half a second
			req.Spec.Bulk.Duration = 20 * time.Second
			run := newTestProber().Make(t.Context(), req)
			agrees(t, run, 1)
			f := run.Bulk.Flows[0]
			if !run.Bulk.BudgetReached || run.Bulk.Bytes != 10_000_001 || f.Bytes+f.RampBytes != 10_000_001 || f.Bytes == 0 {
				t.Errorf("budget reached: %v; moved %d bytes, counted %d and %d: want 10,000,001", run.Bulk.BudgetReached, run.Bulk.Bytes, f.RampBytes, f.Bytes)
			}
			if lasted := f.CountedNS + f.RampNS; lasted > int64(15*time.Second) {
				t.Errorf("it went on for %s", time.Duration(lasted))
			}
		})
	}
	t.Run("both", func(t *testing.T) {
		req := throughputRequest(t, address, wire.DirectionBoth)
		req.Spec.Bulk.MaxBytes, req.Spec.Bulk.RateBPS = 10_000_001, 160_000_000
		req.Spec.Bulk.Duration = 20 * time.Second
		run := newTestProber().Make(t.Context(), req)
		agrees(t, run, 2)
		counted := int64(0)
		for _, f := range run.Bulk.Flows {
			counted += f.Bytes + f.RampBytes
		}
		if !run.Bulk.BudgetReached || run.Bulk.Bytes > 10_000_001 || counted > 10_000_001 || counted < 5_000_000 {
			t.Errorf("budget reached: %v; moved %d bytes, counted %d: want at most 10,000,001", run.Bulk.BudgetReached, run.Bulk.Bytes, counted)
		}
	})
}

func TestARateIsKept(t *testing.T) {
	address := throughputTarget(t, reflect.Limits{BulkBytes: 1 << 40})
	req := throughputRequest(t, address, wire.DirectionBoth)
	req.Spec.Bulk.RateBPS, req.Spec.Bulk.Duration = 20_000_000, 2*time.Second
	run := newTestProber().Make(t.Context(), req)
	agrees(t, run, 2)
	for _, f := range run.Bulk.Flows { // a machine that is busy may send less, never more
		if f.BPS > 21_500_000 || f.BPS < 5_000_000 {
			t.Errorf("%s: %.0f bit/s, want 20,000,000", f.Direction, f.BPS)
		}
	}
}
