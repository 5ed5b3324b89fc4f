package trend_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"isochrone/sweep/trend"
)

func TestAsymmetryIsOfTheShorterOne(t *testing.T) {
	for _, c := range [][3]float64{{110, 100, 0.1}, {100, 110, -0.1}, {80, 80, 0}, {300, 100, 2}} {
		if got := trend.Asymmetry(c[0], c[1]); math.Abs(got-c[2]) > 1e-12 || math.Abs(trend.Asymmetry(1000*c[0], 1000*c[1])-got) > 1e-12 {
			t.Errorf("%g and %g: %g, want %g", c[0], c[1], got, c[2])
		}
	}
	for _, c := range [][2]float64{{0, 1}, {1, 0}, {-1, 1}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		if got := trend.Asymmetry(c[0], c[1]); !math.IsNaN(got) {
			t.Errorf("%v: %g", c, got)
		}
	}
}

func TestADetourIsTheShortestWayOverOneOther(t *testing.T) {
	got := trend.Detours(map[[2]string]float64{
		{"a", "b"}: 100, {"a", "c"}: 30, {"c", "b"}: 40, {"a", "d"}: 20, {"d", "b"}: 50, // both save 30
		{"b", "a"}: 100, {"b", "c"}: 60, {"c", "a"}: 40, // 100 is not less than 100
		{"e", "f"}: 10, {"e", "g"}: math.NaN(), {"g", "f"}: 1, {"e", "h"}: 0, {"h", "f"}: 1, {"e", "i"}: math.Inf(1), {"i", "f"}: 1, {"e", "e"}: 1,
	})
	if d := got[[2]string{"a", "b"}]; len(got) != 1 || d != (trend.Detour{Via: "c", Saving: 30}) {
		t.Errorf("%v", got)
	}
	if got := trend.Detours(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// Points on a line have no detours; a single side made longer has, by as much as it was made longer, if a
// place lies between.
func TestDistancesHaveNoDetours(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 62))
	places := map[string][2]float64{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		places[name] = [2]float64{rnd.Float64(), rnd.Float64()}
	}
	direct := map[[2]string]float64{}
	for a, p := range places {
		for b, q := range places {
			direct[[2]string{a, b}] = math.Hypot(p[0]-q[0], p[1]-q[1])
		}
	}
	if got := trend.Detours(direct); len(got) != 0 {
		t.Errorf("in the plane: %v", got)
	}
	pair := [2]string{"a", "b"}
	direct[pair] += 10
	want := math.Inf(1)
	for c := range places {
		if c != "a" && c != "b" {
			want = min(want, direct[[2]string{"a", c}]+direct[[2]string{c, "b"}])
		}
	}
	got := trend.Detours(direct)
	if d := got[pair]; math.Abs(d.Saving-(direct[pair]-want)) > 1e-12 || len(got) != 1 {
		t.Errorf("%v, want a saving of %g", got, direct[pair]-want)
	}
}

func TestHoursWithoutDataAreMasked(t *testing.T) {
	since := newYear
	points := []trend.Point{
		{Time: since.Add(-time.Hour), Value: 1}, {Time: since, Value: 1}, {Time: since.Add(90 * time.Minute), Value: 1},
		{Time: since.Add(100 * time.Minute), Value: 1}, {Time: since.Add(2 * time.Hour), Value: math.NaN()}, {Time: since.Add(4 * time.Hour), Value: 1},
	}
	mask, known := trend.KnownHours(points, since, since.Add(3*time.Hour+30*time.Minute))
	if known != 2 || !slices.Equal(mask, []bool{true, true, false, false}) {
		t.Errorf("%v, %d", mask, known)
	}
	if mask, known := trend.KnownHours(points, since, since); mask != nil || known != 0 {
		t.Errorf("of no time: %v, %d", mask, known)
	}
}
