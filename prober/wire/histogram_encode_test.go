package wire

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// byLibrary is the library's own encoding.
func byLibrary(t testing.TB, values []int64) (string, int) {
	t.Helper()
	h, overflow := NewHistogram(), 0
	for _, v := range values {
		if h.RecordValue(v) != nil {
			overflow++
		}
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), overflow
}

func TestHistogramsAreTheLibrarysByteForByte(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	cases := [][]int64{{0}, {1}, {63}, {64}, {127}, {128}, {131_071}, {131_072}, {131_135}, {262_143}, {int64(time.Hour)}, {int64(time.Hour) + 1}, {1 << 42}, {1<<42 - 1}, {1 << 41, 1 << 62}, {-1}, {-5, 100}, spread(5000)}
	for range 300 {
		values := make([]int64, 1+r.IntN(400))
		top := int64(1) << (1 + r.IntN(62))
		for i := range values {
			values[i] = r.Int64N(top)
			if r.IntN(4) == 0 {
				values[i] = values[0] + int64(i)*64
			}
		}
		cases = append(cases, values)
	}
	for _, values := range cases {
		want, wantOver := byLibrary(t, values)
		got, over, err := EncodeHistogram(values)
		if err != nil || got != want || over != wantOver {
			t.Fatalf("%d values from %d to %d: %d out of range, %v; want %d\n got %s\nwant %s", len(values), slices.Min(values), slices.Max(values), over, err, wantOver, got, want)
		}
	}
}

func TestCountedValuesGiveTheSameHistogram(t *testing.T) {
	counted, err := EncodeCounts([]int64{20_000_000, 21_000_000, 90_000_000}, []int64{3, 1, 2})
	want, _, err2 := EncodeHistogram([]int64{90_000_000, 20_000_000, 20_000_000, 21_000_000, 20_000_000, 90_000_000})
	if err != nil || err2 != nil || counted != want {
		t.Errorf("%q, %v, %v; want %q", counted, err, err2, want)
	}
}

func BenchmarkHistograms(b *testing.B) {
	for name, values := range map[string][]int64{"10": spread(10), "100": spread(100), "5000": spread(5000)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := EncodeHistogram(values); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"-library", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				byLibrary(b, values)
			}
		})
	}
}
