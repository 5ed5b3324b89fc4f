package alerts_test

import (
	"math/rand/v2"
	"testing"
	"time"
)

// noisy is a series with noise around what is usual, from four hours after hour0 on another by so much in the median and in the
// smallest round trip.
func noisy(t *testing.T, rnd *rand.Rand, hours int, p50, least float64) (*memory, *person) {
	t.Helper()
	m := newMemory(environment)
	p := &person{rows: m, from: m, search: true}
	for h := -28*24 - 5; h < hours; h++ {
		at := hour0.Add(time.Duration(h) * time.Hour)
		median, floor := usual(at)+0.2*rnd.NormFloat64(), 79+0.02*rnd.NormFloat64()
		if h >= 4 {
			median, floor = median+p50, floor+least
		}
		hour := hourOf(is, at, median, floor)
		m.put(hour)
		if h >= 0 {
			must(t, p.hear(t.Context(), hour))
		}
	}
	return m, p
}

// With the search as it is: what moved is told, within some hours of when it did.
func TestTheSearchFindsWhatMoved(t *testing.T) {
	for name, c := range map[string]struct {
		p50, least float64
		kind       string
	}{"rerouted": {6, 6, "rerouted"}, "congestion": {6, 0, "congestion"}, "a shorter way": {-6, -6, "rerouted"}} {
		t.Run(name, func(t *testing.T) {
			m, _ := noisy(t, rand.New(rand.NewPCG(3, 4)), 40, c.p50, c.least)
			n := 0
			for _, a := range m.alerts {
				if a.Kind != "change" {
					continue
				}
				n++
				// The levels are medians of what there is: of the new one a few hours of the day.
				if off := a.Since.Sub(hour0.Add(4 * time.Hour)).Abs(); off > 6*time.Hour || a.Change != c.kind || *a.AfterUS-*a.BeforeUS < 1000*c.p50-2500 || *a.AfterUS-*a.BeforeUS > 1000*c.p50+2500 {
					t.Errorf("%s since %s: %s", a.Change, a.Since, a.Message)
				}
				t.Logf("raised %s after it, %s", a.Raised.Sub(hour0.Add(4*time.Hour)), a.Message)
			}
			if n != 1 {
				t.Errorf("%d changes were told", n)
			}
		})
	}
}

func TestNoiseIsNotTold(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 12 {
		if _, p := noisy(t, rnd, 60, 0, 0); len(p.lines(t)) > 0 {
			t.Errorf("lines are %q", p.lines(t))
		}
	}
}
