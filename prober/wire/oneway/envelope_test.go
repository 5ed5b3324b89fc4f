package oneway

import (
	"math/rand/v2"
	"testing"
)

// The delays are 2,000·((104729·i + 313) mod 887) and 20,000,000 + 2,000·((15485863·i + 71) mod 499)
// ns at i·20 ms, i in 0 … 199, with 30 ppm of drift, rounded. The figures are scipy 1.10.1's,
// optimize.linprog (HiGHS), of the linear programs as Moon, Skelly and Towsley write them: the
// largest sum of heights of a line that lies below all samples.
func TestTheLinesAreTheLinearProgramsSolutions(t *testing.T) {
	var f, r []point
	for i := range 200 {
		at := float64(i) * 20e6
		drift := float64(i * 600)
		f = append(f, point{at, float64((104729*i+313)%887)*2000 + drift})
		r = append(r, point{at, 20e6 + float64((15485863*i+71)%499)*2000 - drift})
	}
	forward, reverse := newSide(f), newSide(r)
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if abs(got-want) > tolerance {
			t.Errorf("%s is %.9f, want %.9f", what, got, want)
		}
	}
	near("the forward slope, ppm", forward.slope()*1e6, -5.714285714, 1e-8)
	near("the reverse slope, ppm", reverse.slope()*1e6, -33.174603175, 1e-8)
	near("the forward line's height at the start", forward.under(forward.slope(), 0), 119142.857, 1e-2)
	near("the reverse line's height at the start", reverse.under(reverse.slope(), 0), 20015269.841, 1e-2)
	for _, c := range []struct{ forward, reverse, ppm float64 }{
		{1e6, 1e6, 5.862068966}, {1e6, 1.5e6, -5.714285714}, {1.5e6, 1e6, 33.174603175},
	} {
		forward.noise, reverse.noise = c.forward, c.reverse
		near("the slope of both", jointSlope(forward, reverse)*1e6, c.ppm, 1e-8)
	}
}

func TestAnEnvelopeIsBelowAllSamplesAndTouchesThem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		points := make([]point, 1+random.IntN(40))
		for i := range points {
			points[i] = point{float64(i / 2), float64(random.IntN(8))} // equal times, equal delays
		}
		e := newEnvelope(points)
		slope := random.NormFloat64() * 3
		least := points[0].delay - slope*points[0].at
		for _, p := range points {
			least = min(least, p.delay-slope*p.at)
		}
		if got := e.under(slope, 0); abs(got-least) > 1e-9 {
			t.Fatalf("below %v a line of slope %v starts at %v, want %v", points, slope, got, least)
		}
		for i := 1; i < len(e.slopes); i++ {
			if e.slopes[i] <= e.slopes[i-1] {
				t.Fatalf("the slopes below %v are %v: they are to rise", points, e.slopes)
			}
		}
	}
}
