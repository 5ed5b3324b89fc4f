package foreign

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestEthrSamples(t *testing.T) { testSamples(t, ethr) }

func FuzzEthr(f *testing.F) {
	fuzz(f, ethr, 10, `{"Time":"2026-01-01T00:00:00Z","Title":"","Type":"INFO","Message":"  Sent = 1, Received = 2, Lost = 3"}`+"\n"+`{"Time":"2026-01-01T00:00:00Z","Type":"LatencyResult","Avg":"1h"}`,
		`{"Time":"2026-01-01T00:00:00Z","Type":"TestResult","RemoteAddr":"::1","Protocol":"TCP","BitsPerSecond":"1.2Q","ConnectionsPerSecond":""}`)
}

func ethrSample(t *testing.T, name string) *Document {
	t.Helper()
	return mustConvert(t, ethr, readSample(t, "testdata/ethr/"+name))
}

// The log has each quantile under the next one's name, and the largest under P50.
func TestEthrQuantilesStandUnderTheWrongNames(t *testing.T) {
	d := ethrSample(t, "latency.log")
	if len(d.Findings) != 3 {
		t.Fatalf("%d findings", len(d.Findings))
	}
	f := d.Findings[0]
	s := f.Summary
	for _, c := range []struct {
		got  *float64
		want float64
	}{{s.Min, 61_677}, {s.Mean, 80_712}, {s.P50.Value, 74_418}, {s.P90.Value, 107_283}, {s.P95.Value, 119_309}, {s.P99.Value, 142_100}, {s.Max, 257_014}} {
		if c.got == nil || !within(*c.got, c.want, 1e-9) {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
	if s.P999.Value != nil { // of 1,000
		t.Errorf("p99.9 of a thousand: %v", *s.P999.Value)
	}
	if f.Run.Kind != wire.KindTCP || f.Run.Address != "192.0.2.2:8888" {
		t.Errorf("%+v", f.Run)
	}
	right := mustConvert(t, ethr, []byte(`{"Time":"2022-02-08T03:52:51Z","Title":"","Type":"LatencyResult","RemoteAddr":"192.0.2.2","Protocol":"TCP","Avg":"80us","Min":"61us","P50":"74us","P90":"107us","P95":"119us","P99":"142us","P999":"216us","P9999":"250us","Max":"257us"}`))
	if s := right.Findings[0].Summary; *s.P50.Value != 74_000 || *s.P99.Value != 142_000 || *s.P999.Value != 216_000 || *s.Max != 257_000 {
		t.Errorf("as it should be: %+v", s)
	}
}

func TestEthrLettersArePowersOfAThousand(t *testing.T) {
	d := ethrSample(t, "bandwidth-twice.log")
	if b := d.Findings[0].Summary.Bulk.Throughput; !within(*b.UpBPS, (9.21e9+9.40e9+987.65e6)/3, 1e-12) || b.Direction != wire.DirectionUp || d.Findings[0].Run.Detail == "" {
		t.Errorf("%+v", b)
	}
}

func TestEthrAppendsToItsLog(t *testing.T) {
	d := ethrSample(t, "bandwidth-twice.log")
	if len(d.Findings) != 2 || !within(*d.Findings[1].Summary.Bulk.Throughput.UpBPS, 802.33e6, 1e-12) {
		t.Fatalf("%+v", d.Findings)
	}
	if r := d.Findings[1].Run; !r.Start.Equal(time.Date(2026, 11, 30, 20, 0, 10, 0, time.UTC)) || !r.End.Equal(r.Start.Add(2*time.Second)) {
		t.Errorf("from %v to %v", r.Start, r.End)
	}
}

func TestEthrConnectionsASecondAreALoad(t *testing.T) {
	if f := ethrSample(t, "connections.log").Findings[0]; f.Run.Kind != wire.KindLoad || !within(*f.Summary.Bulk.Load.RequestsPerS, (12_500+11_500+996)/3., 1e-12) {
		t.Errorf("%+v", f)
	}
}

func TestEthrPingsAreItsOwnLines(t *testing.T) {
	f := ethrSample(t, "ping.log").Findings[0] // the first, of 9.25 ms, warms up
	if !slices.Equal(f.RTT, []int64{1_250_000, 1_500_000, 980_400}) || f.Run.Kind != wire.KindConnect || f.Run.Counts.Sent != 4 || f.Run.Counts.Lost != 1 || f.Variant != "branch office" {
		t.Errorf("%+v", f)
	}
	d := ethrSample(t, "ping-cut.log")
	if f := d.Findings[0]; len(f.RTT) != 3 || f.Run.Counts.Sent != 4 || d.LeftCount == 0 {
		t.Errorf("%+v", f)
	}
}

func TestEthrSaysTCPOfEchoes(t *testing.T) {
	if f := ethrSample(t, "icmp.log").Findings[0]; f.Run.Kind != wire.KindICMP || !slices.Equal(f.RTT, []int64{10_125_000, 10_250_000}) || f.Run.Counts.Lost != 1 {
		t.Errorf("%+v", f)
	}
}

func TestEthrSaysTimedOutOfWhatWasRefused(t *testing.T) {
	if f := ethrSample(t, "lost.log").Findings[0]; f.Run.Failure != wire.FailureRefused || f.Run.Counts.Lost != 2 || f.Summary.Failures[wire.FailureRefused] != 2 {
		t.Errorf("%+v", f)
	}
	text := bytes.ReplaceAll(readSample(t, "testdata/ethr/lost.log"), []byte("connect: connection refused"), []byte("i/o timeout"))
	if f := mustConvert(t, ethr, text).Findings[0]; f.Run.Failure != wire.FailureTimeout {
		t.Errorf("%+v", f)
	}
}

func TestEthrFailure(t *testing.T) {
	if f := ethrSample(t, "refused.log").Findings[0]; f.Run.Failure != wire.FailureRefused || f.Run.Detail == "" || f.To != "server.example.net" {
		t.Errorf("%+v", f)
	}
}

func TestEthrDamagedLineIsLeftOut(t *testing.T) {
	text := bytes.Replace(readSample(t, "testdata/ethr/latency.log"), []byte(`"Avg":"79.826us"`), []byte(`"Avg":"79.8`), 1)
	if d := mustConvert(t, ethr, text); len(d.Findings) != 2 || d.LeftCount != 1 || d.Left[0].Line != 4 {
		t.Errorf("%d findings, %v", len(d.Findings), d.Left)
	}
}
