package wire

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A run has two histograms, of some dozens to some thousands of values. The library keeps an array of
// all 33,000 buckets for each and makes a compressor for each, which took most of the time of storing a
// run. Here only the buckets that are used are kept, and compressors are used again; the bytes are the
// library's own, to which a test holds them.

// The geometry of NewHistogram: the unit is the power of two below the lowest value, 2,048 buckets
// tell three digits apart, and each power of two above has half as many.
const (
	unitMagnitude    = 6 // of 64 ns
	halfMagnitude    = 10
	halfBuckets      = 1 << halfMagnitude
	firstBucketsMask = (2*halfBuckets - 1) << unitMagnitude
	encodingCookie   = hdrhistogram.V2EncodingCookieBase | 0x10
	compressedCookie = hdrhistogram.V2CompressedEncodingCookieBase | 0x10
)

// bucketOf is the index of the bucket of a value of 0 or more.
func bucketOf(v int64) int {
	power := 64 - bits.LeadingZeros64(uint64(v|firstBucketsMask)) - unitMagnitude - (halfMagnitude + 1)
	return (power+1)<<halfMagnitude + int(v>>(power+unitMagnitude)) - halfBuckets
}

// bucketsOfHistogram is how many buckets a histogram has: values beyond the last are out of range.
var bucketsOfHistogram = sync.OnceValue(func() int {
	last := int64(HistogramHighest)
	h := NewHistogram()
	for v := last; h.RecordValue(v) == nil; v *= 2 { // the range is rounded up to a whole power of two
		last = v
	}
	return (bucketOf(last)>>halfMagnitude + 1) << halfMagnitude
})

var compressors = sync.Pool{New: func() any {
	w, _ := zlib.NewWriterLevel(nil, zlib.BestCompression) // fails for unknown levels alone
	return w
}}

// encodeBuckets encodes the buckets of values, of which each stands there so many times, and says how
// many values are out of range. counts may be nil: once each.
func encodeBuckets(values, counts []int64) (encoded string, overflow int, err error) {
	type bucket struct {
		index int
		n     int64
	}
	all := make([]bucket, 0, len(values))
	for i, v := range values {
		n := int64(1)
		if counts != nil {
			n = counts[i]
		}
		if index := bucketOf(max(v, 0)); v < 0 || index >= bucketsOfHistogram() {
			overflow += int(n)
		} else {
			all = append(all, bucket{index, n})
		}
	}
	slices.SortFunc(all, func(a, b bucket) int { return a.index - b.index })
	payload := make([]byte, 40, 40+4*len(all)) // the header's room
	next := 0
	for i := 0; i < len(all); {
		n, at := int64(0), all[i].index
		for ; i < len(all) && all[i].index == at; i++ {
			n += all[i].n
		}
		switch zeros := int64(at - next); {
		case zeros == 1:
			payload = binary.AppendVarint(payload, 0)
		case zeros > 1:
			payload = binary.AppendVarint(payload, -zeros)
		}
		payload = binary.AppendVarint(payload, n)
		next = at + 1
	}
	if len(all) == 0 {
		payload = binary.AppendVarint(payload, 0)
	}
	header := binary.BigEndian.AppendUint32(payload[:0], uint32(encodingCookie))
	header = binary.BigEndian.AppendUint32(header, uint32(len(payload)-40))
	header = binary.BigEndian.AppendUint32(header, 0) // no offset
	header = binary.BigEndian.AppendUint32(header, HistogramDigits)
	header = binary.BigEndian.AppendUint64(header, uint64(HistogramLowest))
	header = binary.BigEndian.AppendUint64(header, uint64(HistogramHighest))
	binary.BigEndian.AppendUint64(header, 0x3ff0000000000000) // a ratio of 1.0
	encoded, err = compress(payload)
	return encoded, overflow, err
}

// compress packs a payload as the compressed form of the format, in base64.
func compress(payload []byte) (string, error) {
	var packed bytes.Buffer
	packed.Write(make([]byte, 8))
	w := compressors.Get().(*zlib.Writer)
	defer compressors.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(payload); err != nil {
		return "", fmt.Errorf("compressing a histogram: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("compressing a histogram: %w", err)
	}
	out := packed.Bytes()
	binary.BigEndian.PutUint32(out, uint32(compressedCookie))
	binary.BigEndian.PutUint32(out[4:], uint32(len(out)-8))
	return base64.StdEncoding.EncodeToString(out), nil
}
