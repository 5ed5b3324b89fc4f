package wire

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
)

// maxSum bounds how many values a sum counts: up to there a double, which is how readers take it, is
// exact.
const maxSum = 1 << 53

// HistogramSum adds up histograms of the project's range, as EncodeHistogram writes them. The zero
// value is empty. It is as the library's Merge, but looks at no bucket that is not used: there are 33,000,
// and a run's histogram uses some dozens.
type HistogramSum struct {
	counts    []int64 // by bucket
	total     int64
	low, high int // the buckets in use are low <= i < high

	parts    []bucketCount
	packed   []byte
	inflater io.ReadCloser
	payload  bytes.Buffer
}

type bucketCount struct {
	index int
	n     int64
}

// Add adds a histogram. One that cannot be read, or is of another range, changes nothing.
func (s *HistogramSum) Add(encoded string) error {
	total, err := s.read(encoded)
	if err != nil {
		return fmt.Errorf("reading a histogram of %d characters: %w", len(encoded), err)
	}
	if total > maxSum-s.total {
		return fmt.Errorf("adding a histogram of %d values to one of %d: want at most %d together", total, s.total, int64(maxSum))
	}
	if len(s.parts) == 0 {
		return nil
	}
	if s.counts == nil {
		s.counts = make([]int64, bucketsOfHistogram())
	}
	first, last := s.parts[0].index, s.parts[len(s.parts)-1].index+1
	if s.total == 0 {
		s.low, s.high = first, last
	} else {
		s.low, s.high = min(s.low, first), max(s.high, last)
	}
	for _, p := range s.parts {
		s.counts[p.index] += p.n
	}
	s.total += total
	return nil
}

// read fills parts with the buckets of a histogram in ascending order, and counts its values.
func (s *HistogramSum) read(encoded string) (total int64, err error) {
	s.parts = s.parts[:0]
	if err := s.unpack(encoded); err != nil {
		return 0, err
	}
	b := s.payload.Bytes()
	if len(b) < 40 {
		return 0, errors.New("it has no header")
	}
	big := binary.BigEndian
	if int32(big.Uint32(b)) != encodingCookie || big.Uint32(b[12:]) != HistogramDigits ||
		big.Uint64(b[16:]) != uint64(HistogramLowest) || big.Uint64(b[24:]) != uint64(HistogramHighest) {
		return 0, errors.New("it is of another range")
	}
	if int(int32(big.Uint32(b[4:]))) != len(b)-40 {
		return 0, errors.New("it is cut short")
	}
	index := 0
	for b = b[40:]; len(b) > 0; {
		n, size := binary.Varint(b)
		if size <= 0 || size > 8 { // of nine bytes the format reads the last otherwise, and no count needs them
			return 0, errors.New("a count cannot be read")
		}
		b = b[size:]
		room := int64(bucketsOfHistogram() - index)
		switch {
		case n < 0: // so many empty buckets
			if n < -room {
				return 0, errors.New("it has too many buckets")
			}
			index += int(-n)
			continue
		case room == 0:
			return 0, errors.New("it has too many buckets")
		case n > maxSum-total:
			return 0, errors.New("it has too many values")
		case n > 0:
			s.parts = append(s.parts, bucketCount{index, n})
			total += n
		}
		index++
	}
	return total, nil
}

// unpack fills payload with what the text holds.
func (s *HistogramSum) unpack(encoded string) (err error) {
	s.packed = slices.Grow(s.packed[:0], base64.StdEncoding.DecodedLen(len(encoded)))
	if s.packed, err = base64.StdEncoding.AppendDecode(s.packed, []byte(encoded)); err != nil {
		return err
	}
	if len(s.packed) < 8 || int32(binary.BigEndian.Uint32(s.packed)) != compressedCookie || int64(binary.BigEndian.Uint32(s.packed[4:])) != int64(len(s.packed)-8) {
		return errors.New("it is no compressed HdrHistogram V2")
	}
	in := bytes.NewReader(s.packed[8:])
	if s.inflater == nil {
		s.inflater, err = zlib.NewReader(in)
	} else {
		err = s.inflater.(zlib.Resetter).Reset(in, nil)
	}
	if err != nil {
		return err
	}
	s.payload.Reset()
	most := int64(40 + binary.MaxVarintLen64*bucketsOfHistogram())
	if n, err := io.Copy(&s.payload, io.LimitReader(s.inflater, most+1)); err != nil {
		return err
	} else if n > most {
		return errors.New("it has too many buckets")
	}
	return nil
}

// Total is how many values were added.
func (s *HistogramSum) Total() int64 { return s.total }

// AtRank is the value of a rank from 1 to Total, in nanoseconds: the largest of those that its bucket
// cannot tell from it, as other readers of HdrHistograms have it. It needs a value.
func (s *HistogramSum) AtRank(rank int64) int64 {
	for i := s.low; i < s.high; i++ {
		if rank -= s.counts[i]; rank <= 0 {
			low, width := bucketAt(i)
			return low + width - 1
		}
	}
	low, width := bucketAt(s.high - 1)
	return low + width - 1
}

// Quantile is the quantile p by nearest rank, or nil where fewer than ten values lie above it:
// n(1 − p) < 10.
func (s *HistogramSum) Quantile(p float64) *float64 {
	const slack = 1e-9 // 1000 × (1 − 0.99) is a little under 10 in floating point
	n := float64(s.total)
	if n*(1-p) < 10-slack {
		return nil
	}
	v := float64(s.AtRank(max(int64(math.Ceil(n*p-slack)), 1)))
	return &v
}

// Bucket is so many values of Low and more, but less than Low + Width, nanoseconds.
type Bucket struct{ Low, Width, N int64 }

// Buckets are those from the first in use to the last, ascending and without gaps: some may be empty.
func (s *HistogramSum) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		if s.total == 0 {
			return
		}
		for i := s.low; i < s.high; i++ {
			low, width := bucketAt(i)
			if !yield(Bucket{low, width, s.counts[i]}) {
				return
			}
		}
	}
}

// Encode writes the sum as EncodeHistogram writes values; empty for none.
func (s *HistogramSum) Encode() (string, error) {
	if s.total == 0 {
		return "", nil
	}
	var values, counts []int64
	for i := s.low; i < s.high; i++ {
		if n := s.counts[i]; n != 0 {
			low, _ := bucketAt(i)
			values, counts = append(values, low), append(counts, n)
		}
	}
	return EncodeCounts(values, counts)
}

// Reset empties the sum.
func (s *HistogramSum) Reset() {
	if s.total > 0 {
		clear(s.counts[s.low:s.high])
	}
	s.total, s.low, s.high = 0, 0, 0
}

// bucketAt is the smallest value of a bucket, and how many values it holds: the inverse of bucketOf.
func bucketAt(index int) (low, width int64) {
	power, sub := index>>halfMagnitude-1, int64(index&(halfBuckets-1)+halfBuckets)
	if power < 0 {
		power, sub = 0, sub-halfBuckets
	}
	return sub << (power + unitMagnitude), 1 << (power + unitMagnitude)
}
