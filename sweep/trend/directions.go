package trend

import (
	"maps"
	"math"
	"slices"
)

// Asymmetry is by what part the round trip that one side began is longer than the one that the other
// began: (there − back) ÷ the shorter; 0.1 says that there takes a tenth longer, −0.1 that back does. Both
// go the same way twice, so it should be near 0; what remains is in the ends, or in routes that depend on
// who begins. It is not a one-way delay. NaN unless both are above 0 and finite.
func Asymmetry(there, back float64) float64 {
	if !(there > 0) || !(back > 0) || !isFinite(there) || !isFinite(back) {
		return math.NaN()
	}
	return (there - back) / min(there, back)
}

// Detour is a way over a third place that is shorter than the direct one.
type Detour struct {
	Via    string
	Saving float64 // direct − (to Via + on from it), in the unit of the values
}

// Detours are, of each pair of places whose direct value is greater than the sum of the two over some third
// place, the best such place: a triangle that is longer on one side than on the two others (Savage et al.,
// The End-to-End Effects of Internet Path Selection, SIGCOMM 1999). Of equally good ones it is the first by
// name. Values that are not above 0 and finite do not count, nor do pairs of a place with itself.
func Detours(direct map[[2]string]float64) map[[2]string]Detour {
	of := map[string]int{}
	for pair := range direct {
		of[pair[0]], of[pair[1]] = 0, 0
	}
	names := slices.Sorted(maps.Keys(of))
	for i, name := range names {
		of[name] = i
	}
	n := len(names)
	value := make([]float64, n*n)
	for i := range value {
		value[i] = math.Inf(1)
	}
	for pair, v := range direct {
		if v > 0 && pair[0] != pair[1] { // not a number is not above 0
			value[of[pair[0]]*n+of[pair[1]]] = v
		}
	}
	out := map[[2]string]Detour{}
	for a := range n {
		for b := range n {
			straight := value[a*n+b]
			if math.IsInf(straight, 1) {
				continue
			}
			best, via := straight, -1
			for c := range n {
				if around := value[a*n+c] + value[c*n+b]; around < best {
					best, via = around, c
				}
			}
			if via >= 0 {
				out[[2]string{names[a], names[b]}] = Detour{names[via], straight - best}
			}
		}
	}
	return out
}
