package trend

import (
	"math"
	"math/rand/v2"
	"testing"
)

type scipyCase struct {
	A      []float64 `json:"a"`
	B      []float64 `json:"b"`
	Shifts []float64 `json:"shifts"`

	ours Estimate
}

// An interval holds the shifts that its test does not reject: a little inside its ends scipy's p-value
// is over 5 %, a little outside it is not. make deps installs Debian's scipy.
func TestScipyAgrees(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	var cases []scipyCase
	add := func(c scipyCase, e Estimate) {
		const little = 1e-9
		c.ours, c.Shifts = e, []float64{*e.Low - little, *e.Low + little, *e.High - little, *e.High + little}
		cases = append(cases, c)
	}
	draw := func(n int, around float64) (v []float64) {
		for range n {
			v = append(v, around+rnd.ExpFloat64()-rnd.ExpFloat64()*2) // skewed, and without ties
		}
		return v
	}
	for _, n := range []int{6, 7, 11, 20, 37, 50, 120, 400} {
		a := draw(n, 13.1)
		e, _ := Paired(a)
		add(scipyCase{A: a}, e)
	}
	for _, n := range [][2]int{{4, 4}, {3, 9}, {9, 3}, {12, 17}, {40, 40}, {60, 70}, {300, 20}} {
		a, b := draw(n[0], 4.4), draw(n[1], 13.1)
		e, _ := Shift(a, b)
		add(scipyCase{A: a, B: b}, e)
	}
	var theirs []struct {
		Estimate float64
		P        []float64
	}
	askScipy(t, "testdata/crosscheck.py", cases, &theirs)
	if len(theirs) != len(cases) {
		t.Fatalf("%d answers of %d", len(theirs), len(cases))
	}
	for i, c := range cases {
		got := theirs[i]
		if math.Abs(got.Estimate-c.ours.Value) > 1e-12 {
			t.Errorf("%d and %d values: estimate %v, scipy's %v", c.ours.N, c.ours.M, c.ours.Value, got.Estimate)
		}
		if got.P[0] > 0.05 || got.P[1] <= 0.05 || got.P[2] <= 0.05 || got.P[3] > 0.05 {
			t.Errorf("%d and %d values, %v to %v: p outside, inside, inside, outside %v", c.ours.N, c.ours.M, *c.ours.Low, *c.ours.High, got.P)
		}
	}
}
