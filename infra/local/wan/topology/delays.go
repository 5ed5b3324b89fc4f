package topology

import (
	"time"

	"isochrone/sweep/catalog"
)

// MedianStretch is the median of published round trips over light speed in fibre, for regions
// more than 500 km apart: what a distance is stretched by where nothing better is known.
const MedianStretch = 1.84

// leastRoundTrip is between two probers at one place: catalog coordinates cannot tell them apart.
const leastRoundTrip = 500 * time.Microsecond

// published is the one-way delay between two regions: half the mean of the round trips that
// Microsoft publishes for the two directions; of the one that there is; or, where neither is
// published, the one that the distance gives.
func published(a, b catalog.Region, stretch float64) time.Duration {
	there, ok := catalog.PublishedP95(a.Name, b.Name)
	back, okBack := catalog.PublishedP95(b.Name, a.Name)
	switch {
	case ok && okBack:
		return milliseconds((there + back) / 4)
	case ok:
		return milliseconds(there / 2)
	case okBack:
		return milliseconds(back / 2)
	}
	return byDistance(a, b, stretch)
}

// byDistance is the one-way delay of light in fibre over the great circle, times stretch.
func byDistance(a, b catalog.Region, stretch float64) time.Duration {
	roundTrip := time.Duration(float64(catalog.Floor(catalog.Distance(a, b))) * stretch)
	return max(roundTrip, leastRoundTrip) / 2
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
