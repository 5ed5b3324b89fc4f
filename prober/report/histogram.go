package report

import (
	"math"
	"slices"
	"sort"
)

// Bucket counts the round trips from FromUS on and below the next bucket's; the last one's end
// belongs to it.
type Bucket struct {
	FromUS Microseconds `json:"from_us" xml:"from_us,attr"`
	ToUS   Microseconds `json:"to_us" xml:"to_us,attr"`
	Count  int          `json:"count" xml:"count,attr"`
}

// Histogram is how the round trips are spread.
type Histogram struct {
	Buckets []Bucket `json:"buckets" xml:"bucket"`
}

const (
	maxBuckets = 12
	// wide is the ratio of the largest to the smallest value from which on buckets grow by a
	// factor instead of a step: equal steps would put all but a few values into the first.
	wide = 8
)

// Buckets sorts round trips, in nanoseconds, into at most twelve buckets between the smallest and
// the largest: of equal width, or of equal ratio where the values spread widely. The counts add
// up to the number of values.
func Buckets(values []int64) []Bucket {
	if len(values) == 0 {
		return nil
	}
	edges := edgesOf(slices.Min(values), slices.Max(values))
	out := make([]Bucket, len(edges)-1)
	for i := range out {
		out[i].FromUS, out[i].ToUS = Microseconds(edges[i])/1000, Microseconds(edges[i+1])/1000
	}
	for _, v := range values {
		i := sort.Search(len(edges), func(i int) bool { return edges[i] > v }) - 1
		out[min(i, len(out)-1)].Count++
	}
	return out
}

// edgesOf are whole nanoseconds that rise from least to most, both among them; one bucket where
// all values are the same.
func edgesOf(least, most int64) []int64 {
	if least == most {
		return []int64{least, most}
	}
	logarithmic := least > 0 && float64(most)/float64(least) >= wide
	edges := []int64{least}
	for i := 1; i < maxBuckets; i++ {
		part := float64(i) / maxBuckets
		edge := float64(least) + part*float64(most-least)
		if logarithmic {
			edge = float64(least) * math.Pow(float64(most)/float64(least), part)
		}
		if e := int64(math.Round(edge)); e > edges[len(edges)-1] && e < most {
			edges = append(edges, e)
		}
	}
	return append(edges, most)
}
