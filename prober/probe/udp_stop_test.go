package probe

import (
	"context"
	"testing"
	"time"

	"isochrone/prober/wire/stamp"
)

// unanswered is a run towards a target that never answers.
func unanswered(t *testing.T) *flight {
	t.Helper()
	req := udpRequest(udpAnswering(t, func([]byte) []byte { return nil }), 100)
	link, err := dialStamp(t.Context(), req, mustAddrPort(req.Address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = link.conn.Close() })
	p := stampProber()
	return newFlight(link, newRecord(req, time.Now(), columnSet{}), p.clocks, p.clocks().Monotonic)
}

func TestUDPClosingEndsSoonWhenTheRunIsStopped(t *testing.T) {
	for name, after := range map[string]time.Duration{"before": 0, "meanwhile": 200 * time.Millisecond} {
		f := unanswered(t)
		f.slowest.Store(int64(20 * time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		if after == 0 {
			cancel()
		}
		time.AfterFunc(after, cancel)
		began := time.Now()
		if report, ok := f.close(ctx, began.Add(5*time.Minute)); ok {
			t.Errorf("a report from nobody: %+v", report)
		}
		if took := time.Since(began); took < closingTime/4 || took > 10*time.Second {
			t.Errorf("stopped %s: closing took %s, want half a second", name, took)
		}
		asked := 0
		for i := range closingAttempts {
			if f.asked[byte(stamp.ClosingFrom+i&0xFF)].Load() != 0 {
				asked++
			}
		}
		if asked != closingAttempts {
			t.Errorf("stopped %s: asked %d times, want %d", name, asked, closingAttempts)
		}
	}
}
