package probe

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// The kernel's stamps on the two sides of a step of the clock have nothing to do with each other.
func TestUDPSetsTheKernelsStampsAsideWhenTheClockIsSet(t *testing.T) {
	if !socket.Stamps {
		return // nothing to set aside: TestUDPMeasuresEverySample sees to that
	}
	const delay, step = 100 * time.Millisecond, 40 * time.Millisecond
	r := startStampTarget(t, nil, testStampSession(192, 203))
	p := stampProber()
	var wrong atomic.Int64
	p.clocks = func() socket.Clocks {
		c := socket.ReadClocks()
		c.Realtime += wrong.Load()
		return c
	}
	through := proxy{all: treatment{delay: delay}}
	req := udpRequest(through.start(t, r.address), 120)
	req.Observe = func(r Reply) {
		if r.Sequence == 50 {
			wrong.Store(int64(step))
		}
	}
	run := p.Make(t.Context(), req)
	valid(t, run)
	if run.Counts.Received != 120 || run.Timestamps != wire.TimestampsKernel || run.ClockSteps == nil || run.Unstamped == nil {
		t.Fatalf("received %d, time stamps %q, clock steps %v", run.Counts.Received, run.Timestamps, run.ClockSteps)
	}
	s, aside := run.Samples, 0
	for i := range s.Len() {
		if s.ClientNS[i] == wire.Null {
			if aside++; i <= 40 && i > 1 || i > 110 {
				t.Errorf("sample %d was set aside, and was not on its way at the step", i)
			}
			if i > 50 && (s.ForwardNS[i] != wire.Null || s.ReverseNS[i] != wire.Null) {
				t.Errorf("sample %d has one-way delays over the step: %d, %d", i, s.ForwardNS[i], s.ReverseNS[i])
			}
		}
		if rtt := time.Duration(s.RTTNS[i]); rtt < delay || rtt > delay+time.Second {
			t.Errorf("sample %d took %s, want %s", i, rtt, delay)
		}
	}
	if *run.ClockSteps+*run.Unstamped != aside || *run.ClockSteps < 5 {
		t.Errorf("%d samples are counted as set aside, %d as unstamped, of %d; want those on their way, 20 or so", *run.ClockSteps, *run.Unstamped, aside)
	}
}

// Random datagrams, as fast as a stranger may send them, neither disturb nor accumulate.
func TestUDPMeasuresBesideAFlood(t *testing.T) {
	r := startStampTarget(t, nil, testStampSession(192, 403))
	stop := make(chan struct{})
	flooded := make(chan int)
	stranger := sender(t, r.address)
	go func() {
		sent, random := 0, uint32(1)
		b := make([]byte, 1452)
		defer func() { flooded <- sent }()
		for tick := time.NewTicker(2 * time.Millisecond); ; <-tick.C {
			select {
			case <-stop:
				tick.Stop()
				return
			default:
			}
			for range 20 { // 10,000 a second
				for k := range b[:200] {
					random = random*1664525 + 1013904223
					b[k] = byte(random >> 24)
				}
				_, _ = stranger.Write(b[:random>>8%1453])
				sent++
			}
		}
	}()
	before := heapInUse()
	run := stampProber().Make(t.Context(), udpRequest(r.address, 400))
	close(stop)
	sent := <-flooded
	valid(t, run)
	// The flood fills the socket's buffer where the machine is too busy, and samples are lost for it.
	if run.Failure != "" || run.Counts.Received < 200 {
		t.Errorf("failure %q (%s), %d of 400 received beside %d random datagrams", run.Failure, run.Detail, run.Counts.Received, sent)
	}
	if grown := int64(heapInUse()) - int64(before); grown > 8<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	admitted, refused := r.snapshot()
	counted := 0
	for _, n := range refused {
		counted += n
	}
	if admitted != 1 || counted < sent/2 {
		t.Errorf("admitted %d, refused %v, of %d sent; want 1, nearly all", admitted, refused, sent)
	}
	_ = stranger.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := stranger.Read(make([]byte, 2000)); err == nil {
		t.Errorf("the stranger got %d octets", n)
	}
	t.Logf("%d datagrams beside the run; refused %v", sent, refused)
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
