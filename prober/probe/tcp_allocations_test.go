package probe

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestATCPRunAllocatesNothingPerSample(t *testing.T) {
	for _, alone := range []bool{true, false} {
		for _, interval := range []time.Duration{0, time.Millisecond} {
			t.Run(fmt.Sprintf("alone %v, interval %s", alone, interval), func(t *testing.T) {
				few, many := mallocs(t, alone, interval, 20), mallocs(t, alone, interval, 520)
				// 500 samples more; the runtime itself may allocate a little.
				if extra := int64(many) - int64(few); extra > 25 {
					t.Errorf("20 samples cost %d allocations, 520 cost %d", few, many)
				}
			})
		}
	}
}

// mallocs counts the allocations of the whole program while a run's samples are taken.
func mallocs(t *testing.T, alone bool, interval time.Duration, count int) uint64 {
	t.Helper()
	address := target(t, func(conn *net.TCPConn) { // an echo without allocations of its own
		if !welcome(t, conn, testKey) {
			return
		}
		in, out := make([]byte, 64), make([]byte, 16)
		for {
			if _, err := io.ReadFull(conn, in); err != nil {
				return
			}
			wire.PutResponse(out, wire.RequestSequence(in), 0)
			if _, err := conn.Write(out); err != nil {
				return
			}
		}
	})
	req := tcpRequest(address, count)
	req.Spec.Interval = interval
	conn, err := openSession(t.Context(), time.Minute, req, mustAddress(t, address))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // a test's end
	x, pacer := newExchange(req, conn, time.Now()), newTestProber().pacer
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ok := false
	if alone {
		_, _, ok = x.alone(t.Context(), conn, pacer, req.Deadline)
	}
	if !ok {
		x.shared(t.Context(), conn, pacer, req.Deadline)
	}
	runtime.ReadMemStats(&after)
	if ok != (alone && runtime.GOOS == "linux") || x.received.Load() != int64(count) {
		t.Fatalf("received %d of %d, on a thread of its own: %v, %v", x.received.Load(), count, ok, errors.Join(x.readErr, x.writeErr))
	}
	return after.Mallocs - before.Mallocs
}
