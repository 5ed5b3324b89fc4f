package trend

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"
	"time"
)

type changeCase struct {
	A     []float64 `json:"a"`
	B     []float64 `json:"b"`
	Floor float64   `json:"floor"`
}

// The t-test is scipy's, down to p-values that hardly a double holds, and the energy distance is the
// sum over all pairs that it is defined as. make deps installs Debian's scipy.
func TestChangesAgreeWithScipy(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	var cases []changeCase
	for _, n := range [][2]int{{2, 2}, {2, 3}, {3, 7}, {12, 5}, {25, 25}, {40, 20}, {300, 4}, {2000, 3000}} {
		for _, apart := range []float64{0, 0.3, 1, 4, 30} {
			c := changeCase{Floor: 2.5}
			for range n[0] {
				c.A = append(c.A, 80+rnd.NormFloat64())
			}
			for range n[1] {
				c.B = append(c.B, 80+apart+rnd.NormFloat64())
			}
			cases = append(cases, c)
		}
	}
	body, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", "testdata/crosscheck_changes.py")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(body), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("asking scipy (make deps installs it): %v\n%s", err, stderr.String())
	}
	var theirs []struct {
		P, Floored float64
		Energy     []float64
	}
	if err := json.Unmarshal(out, &theirs); err != nil || len(theirs) != len(cases) {
		t.Fatalf("%d answers of %d, %v", len(theirs), len(cases), err)
	}
	smallest := 1.0
	for i, c := range cases {
		a, b := momentsOf(c.A), momentsOf(c.B)
		for _, p := range [][2]float64{{tTest{}.p(a, b), theirs[i].P}, {tTest{c.Floor}.p(a, b), theirs[i].Floored}} {
			if math.Abs(p[0]-p[1]) > 1e-8*p[1] {
				t.Errorf("%d and %d values: p %v, scipy's %v", len(c.A), len(c.B), p[0], p[1])
			}
			if p[0] > 0 {
				smallest = min(smallest, p[0])
			}
		}
		joined := slices.Concat(c.A, c.B)
		if both := a.and(b); math.Abs(both.mean-momentsOf(joined).mean) > 1e-9 || math.Abs(both.squares/momentsOf(joined).squares-1) > 1e-9 {
			t.Errorf("%d and %d values: together %+v, want %+v", len(c.A), len(c.B), both, momentsOf(joined))
		}
		if len(theirs[i].Energy) == 0 {
			continue
		}
		largest, at := 0.0, 0
		for k, e := range theirs[i].Energy {
			if e > largest {
				largest, at = e, k+1
			}
		}
		if got := energySplit(joined); got != at {
			t.Errorf("%d and %d values: split at %d, want %d of %v", len(c.A), len(c.B), got, at, theirs[i].Energy)
		}
	}
	if smallest > 1e-100 {
		t.Errorf("the smallest p is %v: the cases are too easy", smallest)
	}
}
