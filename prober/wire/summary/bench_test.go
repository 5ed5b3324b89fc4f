package summary

import (
	"testing"

	"isochrone/prober/wire"
)

// BenchmarkOf is what every row of the tables costs.
func BenchmarkOf(b *testing.B) {
	s, c := samplesOf(make([]int64, 100)...)
	for i := range s.RTTNS {
		s.RTTNS[i] = 80_000_000 + int64(7919*i%1009)*1000
	}
	for i := range s.RTTNS { // as a tcp run has them
		s.DueNS, s.SentNS = append(s.DueNS, int64(i)*20_000_000), append(s.SentNS, int64(i)*20_000_000+int64(7919*i%1009)*100)
	}
	s.ServerNS, s.ClientNS = column(100, 20_000), column(100, 100_000)
	r := &wire.Run{Kind: wire.KindTCP, Samples: s, Counts: c}
	for b.Loop() {
		Of(r, &wire.Provenance{})
	}
}

// BenchmarkOfDirections is the same of a udp run, which has the most to compute.
func BenchmarkOfDirections(b *testing.B) {
	r := directed(100, 7_000_000_000)
	r.Samples.ServerNS, r.Samples.ClientNS = column(100, 20_000), column(100, 100_000)
	for b.Loop() {
		Of(r, &wire.Provenance{})
	}
}

func BenchmarkOfALongRun(b *testing.B) {
	r := directed(100_000, 7_000_000_000)
	for b.Loop() {
		Of(r, &wire.Provenance{})
	}
}
