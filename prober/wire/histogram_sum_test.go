package wire

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The library's own merge is the reference: the same total, the same values at every rank, and the same
// bytes.
func TestASumOfHistogramsIsTheLibrarysMerge(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 1))
	var sum HistogramSum
	for round := range 50 { // the same sum is used again
		sum.Reset()
		want := NewHistogram()
		var all []int64
		for range rnd.IntN(8) {
			values := make([]int64, rnd.IntN(300))
			for i := range values {
				values[i] = rnd.Int64N(1 << (1 + rnd.IntN(41)))
			}
			encoded, overflow, err := EncodeHistogram(values)
			if err != nil || overflow != 0 {
				t.Fatal(overflow, err)
			}
			if encoded == "" {
				continue
			}
			h, err := hdrhistogram.Decode([]byte(encoded))
			if err != nil {
				t.Fatal(err)
			}
			if dropped := want.Merge(h); dropped != 0 {
				t.Fatal(dropped)
			}
			if err := sum.Add(encoded); err != nil {
				t.Fatal(err)
			}
			all = append(all, values...)
		}
		if sum.Total() != want.TotalCount() || sum.Total() != int64(len(all)) {
			t.Fatalf("round %d: %d values, want %d", round, sum.Total(), len(all))
		}
		got, err := sum.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 0 {
			if got != "" {
				t.Errorf("nothing is encoded as %q", got)
			}
			continue
		}
		if bytes, err := want.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err != nil || got != string(bytes) {
			t.Errorf("round %d: encoded as %s, %v; want %s", round, got, err, bytes)
		}
		slices.Sort(all)
		for rank := 1; rank <= len(all); rank++ {
			exact, at := all[rank-1], sum.AtRank(int64(rank))
			if at < exact || !want.ValuesAreEquivalent(at, exact) || float64(at-exact) > max(64, float64(exact)/1000) {
				t.Fatalf("rank %d of %d is %d, exactly %d", rank, len(all), at, exact)
			}
		}
	}
}

func TestAQuantileOfASumNeedsTenValuesAbove(t *testing.T) {
	var sum HistogramSum
	for n := 1; n <= 1000; n++ {
		encoded, _, err := EncodeHistogram([]int64{int64(n) * 100_000})
		if err != nil {
			t.Fatal(err)
		}
		if err := sum.Add(encoded); err != nil {
			t.Fatal(err)
		}
		for _, q := range []struct {
			p     float64
			needs int
		}{{0.5, 20}, {0.9, 100}, {0.99, 1000}} {
			if got := sum.Quantile(q.p); (got != nil) != (n >= q.needs) {
				t.Fatalf("quantile %g of %d values: %v", q.p, n, got)
			}
		}
	}
	// Nearest rank: the 500th, 900th and 990th of 0.1 ms, 0.2 ms …; within a bucket, 0.1 % at most.
	for p, exact := range map[float64]float64{0.5: 50e6, 0.9: 90e6, 0.99: 99e6} {
		if got := *sum.Quantile(p); got < exact || got > exact*1.001 {
			t.Errorf("quantile %g is %g, want %g", p, got, exact)
		}
	}
}

// A histogram that cannot be read leaves the sum as it was.
func TestASumTakesNoHistogramThatItCannotRead(t *testing.T) {
	good, _, err := EncodeHistogram([]int64{1_000, 2_000_000})
	if err != nil {
		t.Fatal(err)
	}
	other := hdrhistogram.New(1, 1_000_000, 2)
	if err := other.RecordValue(5); err != nil {
		t.Fatal(err)
	}
	strange, err := other.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(raw)
	damaged[len(damaged)-1] ^= 0xff // the checksum
	var sum HistogramSum
	if err := sum.Add(good); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"nothing": "", "no base64": "§", "short": good[:8], "cut": good[:len(good)-8],
		"another range": string(strange), "a wrong checksum": base64.StdEncoding.EncodeToString(damaged), "long": strings.Repeat("A", 1<<16)} {
		if err := sum.Add(text); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	if got, err := sum.Encode(); err != nil || got != good || sum.Total() != 2 {
		t.Errorf("then the sum is %s of %d, %v", got, sum.Total(), err)
	}
	if err := sum.Add(good); err != nil || sum.Total() != 4 {
		t.Errorf("and cannot go on: %v", err)
	}
}

// FuzzHistogramSum holds what is read to the library.
func FuzzHistogramSum(f *testing.F) {
	for _, values := range [][]int64{{100}, {1_000, 1_000, 2_000_000}, {0, 3_600_000_000_000}} {
		encoded, _, err := EncodeHistogram(values)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, encoded string) {
		var sum HistogramSum
		if sum.Add(encoded) != nil {
			return
		}
		h, err := hdrhistogram.Decode([]byte(encoded))
		if err != nil || h.TotalCount() != sum.Total() {
			t.Errorf("%d values; the library reads %v, %v", sum.Total(), h, err)
		}
	})
}

func BenchmarkHistogramSum(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1))
	values := make([]int64, 100)
	for i := range values {
		values[i] = 80_000_000 + rnd.Int64N(2_000_000)
	}
	encoded, _, err := EncodeHistogram(values)
	if err != nil {
		b.Fatal(err)
	}
	var sum HistogramSum
	b.ReportAllocs()
	for b.Loop() {
		if err := sum.Add(encoded); err != nil {
			b.Fatal(err)
		}
	}
}
