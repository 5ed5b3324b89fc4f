package convert

import (
	"testing"

	"isochrone/prober/wire"
)

// largest is a document with as many samples as one may hold.
func largest() *wire.Document {
	d := sample()
	s := &d.Runs[0].Samples
	*s = wire.Samples{}
	for i := range int64(wire.MaxSamples) {
		s.Sequence = append(s.Sequence, i)
		s.DueNS = append(s.DueNS, i*800_000)
		s.SentNS = append(s.SentNS, i*800_000+1234)
		s.RTTNS = append(s.RTTNS, 150_123_456+i%977)
		s.ServerNS = append(s.ServerNS, 10_000+i%31)
		s.Failure = append(s.Failure, "")
	}
	d.Runs[0].Counts = wire.Counts{Sent: wire.MaxSamples, Received: wire.MaxSamples}
	return d
}

func BenchmarkDocument(b *testing.B) {
	d := largest()
	for name, body := range map[string][]byte{"json": encodeJSON(b, d), "xml": encodeXML(b, d), "json.gz": pack(b, encodeJSON(b, d))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Document(body); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(wire.MaxSamples)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

func BenchmarkResults(b *testing.B) {
	d := largest()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Results(d, identity); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(wire.MaxSamples)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}
