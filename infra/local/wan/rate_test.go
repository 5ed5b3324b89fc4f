package wan_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

func TestRateIsKept(t *testing.T) {
	const n, length, rate = 400, 1250, 4_000_000 // 2.5 ms a packet, one second in all
	w := start(t, line(2, topology.Link{Rate: rate, Queue: n * length, Delay: 5 * time.Millisecond}))
	seen, f := flood(t, w, n, length-28, 0)
	if len(seen) != n || f.QueueDropped != 0 {
		t.Fatalf("%d datagrams arrived of %d: %+v", len(seen), n, f.Counters)
	}
	p := packets(t, w, relay.Query{From: "a", Protocol: "udp"})
	// A packet may leave late when the machine is busy, so the median of many spans is taken.
	var rates []float64
	for i := range n / 2 {
		took := time.Duration(p[i+n/2].Left.Mono - p[i].Left.Mono)
		rates = append(rates, float64(n/2*length*8)/took.Seconds())
	}
	slices.Sort(rates)
	got := rates[len(rates)/2]
	t.Logf("%.0f bits/s", got)
	if math.Abs(got/rate-1) > 0.03 {
		t.Errorf("%.0f bits/s, want %d within 3 %%", got, rate)
	}
}

func TestFullQueueDropsTheTail(t *testing.T) {
	const n, length = 200, 1000
	// While 200 packets are sent, at 1 Mbit/s next to none leaves.
	w := start(t, line(2, topology.Link{Rate: 1_000_000, Queue: 20 * length}))
	seen, f := flood(t, w, n, length-28, 0)
	if f.QueueDropped == 0 || f.QueueDropped+f.Delivered != n || f.Lost != 0 {
		t.Errorf("%+v, want some of %d dropped by the queue, the others delivered", f.Counters, n)
	}
	for i := range 20 {
		if seen[i] != uint64(i) {
			t.Fatalf("%d arrived as number %d: the queue holds the first 20", seen[i], i)
		}
	}
	dropped := 0
	for _, p := range packets(t, w, relay.Query{From: "a", Protocol: "udp"}) {
		if p.Verdict == relay.QueueDropped {
			dropped++
		}
	}
	if uint64(dropped) != f.QueueDropped {
		t.Errorf("%d records of dropped packets, %d counted", dropped, f.QueueDropped)
	}
}
