package probe

import (
	"runtime"
	"testing"
	"time"
)

// Neither end allocates for a sample, whichever way it is counted and whoever wakes the source.
func TestUDPSamplesAllocateNothing(t *testing.T) {
	const n, each, rounds = 3000, 100, 25
	for name, carry := range map[string]func(f *flight) traffic{"alone": (*flight).alone, "shared": (*flight).shared} {
		t.Run(name, func(t *testing.T) {
			r := startStampTarget(t, nil, testStampSession(192, n+3))
			p := stampProber()
			req := udpRequest(r.address, n)
			req.Spec.Interval = 0
			steps := make(chan struct{}, n/each)
			req.Observe = func(r Reply) {
				if r.Sequence%each == each-1 {
					steps <- struct{}{}
				}
			}
			link, err := dialStamp(t.Context(), req, mustAddrPort(r.address))
			if err != nil {
				t.Fatal(err)
			}
			defer link.conn.Close()
			if err := p.open(t.Context(), link, req); err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			f := newFlight(link, newRecord(req, now, columnSet{server: true, client: true, oneWay: true}), p.clocks, p.clocks().Monotonic)
			way := carry(f)
			if way == nil {
				return // there is one way only
			}
			sent := make(chan int, 1)
			go func() { sent <- way.sendUntilStopped(t.Context(), now.Add(time.Minute)) }()
			minute := time.NewTimer(time.Minute)
			defer minute.Stop()
			runtime.GC()
			if allocated := testing.AllocsPerRun(rounds, func() {
				select {
				case <-steps:
				case <-minute.C:
					t.Fatal("no replies within a minute")
				}
			}); allocated != 0 {
				t.Errorf("%v allocations for %d samples, at the source and the reflector together; want none", allocated, each)
			}
			if s := <-sent; s != n+3 {
				t.Errorf("%d samples sent, want %d", s, n+3)
			}
			way.end()
		})
	}
}
