package probe

import (
	"runtime"
	"testing"
	"time"
)

// The whole program's allocations, both ends', while many messages are sent. The questions on the control
// connection cost some, so both runs take as long.
func TestAStreamAllocatesNothingPerMessage(t *testing.T) {
	address, _ := bulkReflector(t)
	cost := func(messages, rate int) (mallocs uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run := newTestProber().Make(t.Context(), bulkRequest(t, address, streamSpec(64, messages, rate, 1, 0)))
		runtime.ReadMemStats(&after)
		if run.Bulk == nil || run.Bulk.Stream.Messages != messages {
			t.Fatalf("%+v", run)
		}
		return after.Mallocs - before.Mallocs
	}
	cost(10, 10)
	few, many := cost(20, 20), cost(10_020, 10_020)
	if extra := int64(many) - int64(few); extra > 2000 {
		t.Errorf("20 messages cost %d allocations, 10,020 in the same time %d", few, many)
	}
}

func TestWritingAMessageAllocatesNothing(t *testing.T) {
	address := target(t, hold)
	conn, err := dialTest(address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // a test's end
	w := newMessageWriter(conn, streamSpec(64, 1_000_000, 1000, 8, 0))
	n := 0
	if got := testing.AllocsPerRun(1000, func() {
		wrote, err := w.write(n, 8)
		if n += wrote; err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("%v allocations a batch", got)
	}
	if n != 8*1001 {
		t.Errorf("%d messages were written", n)
	}
}

func TestCountingARequestAllocatesNothing(t *testing.T) {
	l := newLevel(1, 0, time.Hour)
	at := int64(0)
	if got := testing.AllocsPerRun(1000, func() {
		at += 100_000
		l.count(at, at)
	}); got != 0 {
		t.Errorf("%v allocations a request", got)
	}
	if l.requests != 1001 {
		t.Errorf("%d requests were counted", l.requests)
	}
}
