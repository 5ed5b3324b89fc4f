package trend

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// changeSeeds are series of doubles, eight bytes each: a step, spikes, values at the ends of what a double holds.
func changeSeeds() (out [][]byte) {
	for _, values := range [][]float64{
		nil, {1}, slices.Concat(slices.Repeat([]float64{20}, 30), slices.Repeat([]float64{30}, 30)),
		slices.Concat(slices.Repeat([]float64{1, 2, 3}, 20), slices.Repeat([]float64{900}, 9), slices.Repeat([]float64{1, 2, 3}, 20)),
		slices.Concat(slices.Repeat([]float64{-math.MaxFloat64}, 9), slices.Repeat([]float64{math.MaxFloat64}, 9)),
		slices.Concat(slices.Repeat([]float64{math.SmallestNonzeroFloat64}, 9), slices.Repeat([]float64{0, math.Copysign(0, -1)}, 9)),
		slices.Repeat([]float64{math.NaN(), math.Inf(1), 5, math.Inf(-1), 7}, 12),
	} {
		var b []byte
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		out = append(out, b)
	}
	return out
}

func TestChangeSeedsAreThere(t *testing.T) {
	if n := len(changeSeeds()); n != 7 {
		t.Errorf("%d seeds, want 7", n)
	}
}

// Whatever the values: changes are in order, at values that are present, significant, and none is smaller
// than it may be.
func FuzzChanges(f *testing.F) {
	for _, b := range changeSeeds() {
		f.Add(b, 0.0, 0.0)
		f.Add(b, 0.5, -1.0)
	}
	f.Fuzz(func(t *testing.T, b []byte, least, ratio float64) {
		var values []float64
		for ; len(b) >= 8 && len(values) < 400; b = b[8:] {
			values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		before := slices.Clone(values)
		o := ChangeOptions{Least: least, Ratio: ratio}
		last := 0
		for _, c := range Changes(values, o) {
			if c.At <= last || c.At >= len(values) || math.IsNaN(values[c.At]) || math.IsInf(values[c.At], 0) {
				t.Fatalf("%+v after %d in %v", c, last, values)
			}
			last = c.At
			if !(c.P >= 0 && c.P <= 1e-6) || c.Before == c.After || math.IsNaN(c.Before) || math.IsNaN(c.After) {
				t.Fatalf("%+v in %v", c, values)
			}
			if o = o.complete(); math.Abs(c.After-c.Before) < o.Least || math.Abs(c.After-c.Before) < o.Ratio*math.Abs(c.Before) {
				t.Fatalf("%+v is too small for %+v in %v", c, o, values)
			}
		}
		for i := range values {
			if math.Float64bits(values[i]) != math.Float64bits(before[i]) {
				t.Fatalf("value %d was changed from %v to %v", i, before[i], values[i])
			}
		}
	})
}
