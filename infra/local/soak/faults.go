package main

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// fault is what the proxy does to a request.
type fault int

const (
	none       fault = iota
	busy             // 503 before storage sees it
	throttled        // 429 before storage sees it
	cutBefore        // the connection ends before storage sees it
	cutAfter         // storage does it, and the connection ends without an answer
	failAfter        // storage does it, and the answer is 500
	cutWithin        // storage does it, and the answer breaks off
	slow             // it takes longer
	faultKinds       // how many there are
)

var faultNames = [faultKinds]string{"", "503", "429", "cut before", "cut after", "500 after", "cut within", "slow"}

// weather says how many of the requests meet a fault.
type weather struct {
	rate atomic.Uint64 // of a million

	mu     sync.Mutex
	random *rand.Rand
	counts [faultKinds]int
	all    int // requests
}

func newWeather(seed uint64) *weather { return &weather{random: rand.New(rand.NewPCG(seed, 2))} }

// become sets the part of the requests that meet a fault.
func (w *weather) become(part float64) { w.rate.Store(uint64(part * 1e6)) }

// next decides on a request.
func (w *weather) next() (fault, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all++
	if w.random.Uint64N(1e6) >= w.rate.Load() {
		return none, 0
	}
	f := fault(1 + w.random.IntN(int(faultKinds)-1))
	w.counts[f]++
	return f, time.Duration(1+w.random.IntN(40)) * time.Millisecond
}

// told are the requests and the faults so far.
func (w *weather) told() (requests, faults int, counts [faultKinds]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.counts {
		faults += n
	}
	return w.all, faults, w.counts
}
