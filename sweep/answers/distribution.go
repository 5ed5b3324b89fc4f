package answers

// Distribution is how the round trips of a series are spread, from merged histograms.
type Distribution struct {
	History
	Quantiles Quantiles
	Bins      []Bin // ascending, without gaps
}

// Bin counts round trips of FromUS <= RTT < ToUS; the last bin holds the largest, too.
type Bin struct {
	FromUS, ToUS float64
	Count        int64
}
