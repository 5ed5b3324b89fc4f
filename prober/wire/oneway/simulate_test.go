package oneway

import (
	"math"
	"math/rand/v2"
)

// A path is simulated: what a run over it measures, and the truth.
type path struct {
	n                int
	apart            float64 // ns from one sample to the next
	forward, reverse float64 // ns, the delays without queueing
	offset           int64   // ns, the target's clock less the source's at the first sample
	drift            float64 // ppm
	queue            func(random *rand.Rand) (forward, reverse float64)
}

// exponential queueing with that mean, in ns, by direction.
func exponential(forward, reverse float64) func(*rand.Rand) (float64, float64) {
	return func(random *rand.Rand) (float64, float64) {
		return random.ExpFloat64() * forward, random.ExpFloat64() * reverse
	}
}

type measured struct {
	at, forward, reverse     []int64
	trueForward, trueReverse []int64
	trueOffset               float64 // in the middle
}

func (p path) measure(random *rand.Rand) measured {
	var m measured
	for i := range p.n {
		t := float64(i) * p.apart
		qf, qr := p.queue(random)
		f, r := int64(math.Round(p.forward+qf)), int64(math.Round(p.reverse+qr))
		o := p.offset + int64(math.Round(p.drift*1e-6*t))
		m.at = append(m.at, int64(t))
		m.forward, m.reverse = append(m.forward, f+o), append(m.reverse, r-o)
		m.trueForward, m.trueReverse = append(m.trueForward, f), append(m.trueReverse, r)
	}
	m.trueOffset = float64(p.offset) + p.drift*1e-6*float64(p.n-1)*p.apart/2
	return m
}

// soft queueing seldom comes near its smallest: two exponential queues one after the other.
func soft(forward, reverse float64) func(*rand.Rand) (float64, float64) {
	return func(random *rand.Rand) (float64, float64) {
		return (random.ExpFloat64() + random.ExpFloat64()) * forward, (random.ExpFloat64() + random.ExpFloat64()) * reverse
	}
}

// wandering queueing rises and falls over hundreds of samples, on its own in each direction.
func wandering(step float64) func(*rand.Rand) (float64, float64) {
	var forward, reverse float64
	return func(random *rand.Rand) (float64, float64) {
		forward = max(0, 0.998*forward+step*random.NormFloat64())
		reverse = max(0, 0.998*reverse+step*random.NormFloat64())
		return forward + random.ExpFloat64()*step/10, reverse + random.ExpFloat64()*step/10
	}
}
