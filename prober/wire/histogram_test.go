package wire

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// spread is n values from 1 µs to a minute, by a fixed multiplicative step.
func spread(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(1000 * math.Pow(6e7, float64(i)/float64(n-1)))
	}
	return out
}

func TestTheLibraryReadsBackWhatWasPutIn(t *testing.T) {
	values := spread(5000)
	encoded, overflow, err := EncodeHistogram(values)
	if err != nil || overflow != 0 {
		t.Fatalf("overflow %d, %v", overflow, err)
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		t.Fatal(err)
	}
	if h.TotalCount() != int64(len(values)) {
		t.Errorf("%d values of %d", h.TotalCount(), len(values))
	}
	if h.LowestTrackableValue() != 100 || h.HighestTrackableValue() != 3_600_000_000_000 || h.SignificantFigures() != 3 {
		t.Errorf("range %d to %d with %d digits", h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures())
	}
	// Every value must lie within 0.05 % of a recorded one; 100 ns is the unit.
	for rank, v := range values {
		got := h.ValueAtPercentile(100 * (float64(rank) + 0.75) / float64(len(values)))
		middle := float64(got) // the library gives the top of the bucket
		width := float64(sizeOfBucket(v))
		if off := math.Abs(middle - width/2 - float64(v)); off > max(0.0005*float64(v), 100) {
			t.Fatalf("value %d of rank %d is read back as %.0f (%.4f %% off)", v, rank, middle, 100*off/float64(v))
		}
	}
}

// sizeOfBucket is how many nanoseconds share a bucket with v: the unit is 64 (the power of two
// below 100), and 2,048 steps make a bucket of each power of two.
func sizeOfBucket(v int64) int64 {
	size := int64(64)
	for v >= 2048*size {
		size *= 2
	}
	return size
}

func TestValuesBeyondTheRangeAreCounted(t *testing.T) {
	encoded, overflow, err := EncodeHistogram([]int64{1000, int64(3 * time.Hour), int64(4 * time.Hour)})
	if err != nil || overflow != 2 {
		t.Fatalf("overflow %d, %v; want 2", overflow, err)
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil || h.TotalCount() != 1 {
		t.Errorf("%d values, %v; want the one within the range", h.TotalCount(), err)
	}
}

func TestNothingReceivedIsNoHistogram(t *testing.T) {
	if encoded, _, err := EncodeHistogram(nil); encoded != "" || err != nil {
		t.Errorf("%q, %v", encoded, err)
	}
	whole, excess, err := Histograms(Column{Null, Null})
	if whole != "" || excess != "" || err != nil {
		t.Errorf("%q, %q, %v", whole, excess, err)
	}
}

func TestExcessIsWhatLiesAboveTheLeast(t *testing.T) {
	// At 80 ms three digits are 40 µs; the excess of 7 µs must not drown in that.
	rtt := Column{80_000_000, Null, 80_007_000, 80_000_000 + int64(time.Second)}
	whole, excess, err := Histograms(rtt)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		encoded string
		want    []int64
	}{
		"whole":  {whole, []int64{80_000_000, 80_007_000, 1_080_000_000}},
		"excess": {excess, []int64{0, 7_000, 1_000_000_000}},
	} {
		h, err := hdrhistogram.Decode([]byte(c.encoded))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := hdrhistogram.New(100, int64(time.Hour), 3)
		for _, v := range c.want {
			if err := want.RecordValue(v); err != nil {
				t.Fatal(err)
			}
		}
		if !h.Equals(want) {
			t.Errorf("%s: holds other values than %v", name, c.want)
		}
	}
	if !slices.Equal(rtt, Column{80_000_000, Null, 80_007_000, 1_080_000_000}) {
		t.Errorf("the column was changed to %v", rtt)
	}
}

func TestTheSameValuesGiveTheSameBytes(t *testing.T) {
	a, _, errA := EncodeHistogram(spread(300))
	backwards := spread(300)
	slices.Reverse(backwards)
	b, _, errB := EncodeHistogram(backwards)
	if errA != nil || errB != nil || a != b {
		t.Errorf("%v, %v; equal: %v", errA, errB, a == b)
	}
}
