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
		s.ServerNS, s.ClientNS = append(s.ServerNS, 10_000+i%31), append(s.ClientNS, 20_000+i%101)
		s.ForwardNS, s.ReverseNS = append(s.ForwardNS, -1_700_000_000_123_456_789+i), append(s.ReverseNS, 1_700_000_000_123_456_789-i)
		s.DNSNS, s.ConnectNS = append(s.DNSNS, 1_234_567+i), append(s.ConnectNS, 20_123_456+i)
		s.TLSNS, s.FirstByteNS = append(s.TLSNS, 41_123_456+i), append(s.FirstByteNS, 62_123_456+i)
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
