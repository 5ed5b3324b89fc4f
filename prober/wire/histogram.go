package wire

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of every histogram: nanoseconds from 100 ns to an hour, three significant digits
// (0.05 % at the most).
const (
	HistogramLowest  = 100 * time.Nanosecond
	HistogramHighest = time.Hour
	HistogramDigits  = 3
)

// NewHistogram makes an empty histogram of the project's range.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(HistogramLowest), int64(HistogramHighest), HistogramDigits)
}

// EncodeHistogram encodes values as an HdrHistogram V2, compressed, in base64, which readers of
// every language understand. Values above the range are left out and counted. No values give
// the empty string.
func EncodeHistogram(values []int64) (encoded string, overflow int, err error) {
	if len(values) == 0 {
		return "", 0, nil
	}
	if encoded, overflow, err = encodeBuckets(values, nil); err != nil {
		return "", overflow, fmt.Errorf("encoding a histogram of %d values: %w", len(values), err)
	}
	return encoded, overflow, nil
}

// EncodeCounts is EncodeHistogram of values that stand there so many times each.
func EncodeCounts(values, counts []int64) (string, error) {
	encoded, _, err := encodeBuckets(values, counts) // above the range: left out, as above
	if err != nil {
		return "", fmt.Errorf("encoding a histogram of %d different values: %w", len(values), err)
	}
	return encoded, nil
}

// Histograms encodes the received round trips of a run, and the same less the smallest.
func Histograms(rtt Column) (whole, excess string, err error) {
	values := rtt.Values()
	if len(values) == 0 {
		return "", "", nil
	}
	if whole, _, err = EncodeHistogram(values); err != nil {
		return "", "", err
	}
	least := values[0]
	for _, v := range values {
		least = min(least, v)
	}
	for i := range values {
		values[i] -= least
	}
	excess, _, err = EncodeHistogram(values)
	return whole, excess, err
}

// Values are the column's entries that are not null, in order.
func (c Column) Values() []int64 {
	out := make([]int64, 0, len(c))
	for _, v := range c {
		if v != Null {
			out = append(out, v)
		}
	}
	return out
}
