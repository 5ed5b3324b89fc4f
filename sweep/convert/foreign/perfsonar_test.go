package foreign

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

func TestPerfsonarSamples(t *testing.T) { testSamples(t, perfsonar) }

func FuzzPerfsonar(f *testing.F) {
	fuzz(f, perfsonar, 20, "[", `{"participants":[],"result-merged":null}`, `{"test":{"type":"rtt","spec":{}},"result":{"roundtrips":[{"rtt":"PT1H"}]}}`,
		`{"test":{"type":"latency","spec":{"dest":"a","bucket-width":1e9}},"result":{"histogram-latency":{"1e300":1},"max-clock-error":1}}`, "{\n\n{\n{}{")
}

func perfsonarSample(t *testing.T, name string) *Document {
	t.Helper()
	return mustConvert(t, perfsonar, readSample(t, filepath.Join("testdata", "perfsonar", name)))
}

// perfsonarOne is the only finding.
func perfsonarOne(t *testing.T, d *Document) *Finding {
	t.Helper()
	if len(d.Findings) != 1 {
		t.Fatalf("%d findings, want one; left out: %v", len(d.Findings), d.Left)
	}
	return &d.Findings[0]
}

// perfsonarIs holds a figure that may be null against what it should be.
func perfsonarIs(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || !within(*got, want, 1e-9) {
		if got == nil {
			t.Errorf("%s is null, want %v", what, want)
			return
		}
		t.Errorf("%s is %v, want %v", what, *got, want)
	}
}

func TestPerfsonarRoundTripsAreDurationsOfISO8601(t *testing.T) {
	f := perfsonarOne(t, perfsonarSample(t, "rtt-ping-archived.json"))
	if want := []int64{8_960_000, 9_160_000, 9_780_000, 8_790_000, 8_610_000}; !slices.Equal(f.RTT, want) {
		t.Errorf("round trips %v, want %v", f.RTT, want)
	}
	if f.From != "host-a" || f.To != "192.0.2.1" || f.Run.Kind != wire.KindICMP || f.Run.Address != "192.0.2.1" || f.Variant != "rtt-ping" {
		t.Errorf("%s → %s (%s) %s %s", f.From, f.To, f.Run.Address, f.Run.Kind, f.Variant)
	}
	if want := time.Date(2026, 7, 27, 5, 45, 23, 0, time.UTC); !f.Run.Start.Equal(want) || !f.Run.End.Equal(want.Add(4*time.Second)) {
		t.Errorf("from %v to %v", f.Run.Start, f.Run.End)
	}
	if c := f.Run.Counts; c.Sent != 5 || c.Received != 5 || c.Lost != 0 || !f.Counted.Lost {
		t.Errorf("%+v", c)
	}
}

func TestPerfsonarDurations(t *testing.T) {
	for text, want := range map[string]float64{"PT0.0123S": 12.3e6, "PT0S": 0, "P0D": 0, "PT1M0.5S": 60.5e9, "PT1H": 3600e9, "PT0,5S": 5e8, "P1D": 86400e9, "PT0.000012S": 12e3} {
		got, err := perfsonarDuration(Quantity{Text: text})
		if err != nil || got == nil || *got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"P", "PT", "0.0123", "-PT1S", "PT-1S", "PT1S1S", "P1Y", "P1M", "P2D", "PT9999H", "PT1e3S", "PTS"} {
		if got, err := perfsonarDuration(Quantity{Text: text}); err == nil && text != "PT" && text != "P" {
			t.Errorf("%s is read as %v", text, *got)
		}
	}
}

func TestPerfsonarRepliesAreSortedAndFurtherOnesLeftOut(t *testing.T) {
	f := perfsonarOne(t, perfsonarSample(t, "rtt-disorder.json"))
	if want := []int64{20e6, 100e6, 80e6}; !slices.Equal(f.RTT, want) {
		t.Errorf("round trips %v, want %v", f.RTT, want)
	}
	if c := f.Run.Counts; c.Sent != 5 || c.Received != 3 || c.Lost != 2 || c.Duplicate != 1 || c.Reordered != 1 {
		t.Errorf("%+v", c)
	}
	if want := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC); !f.Run.Start.Equal(want) {
		t.Errorf("the start, 01:30+01:00, is %v", f.Run.Start)
	}
}

func TestPerfsonarWithoutReplyIsATimeoutAndNotZero(t *testing.T) {
	f := perfsonarOne(t, perfsonarSample(t, "rtt-lost.json"))
	if f.Run.Failure != wire.FailureTimeout || f.Summary.Min != nil || f.Summary.Mean != nil || len(f.RTT) != 0 || f.Run.Counts.Lost != 5 {
		t.Errorf("%q: %+v %v", f.Run.Failure, f.Run.Counts, f.RTT)
	}
}

// ping's reader writes a loss of 100.0, a percentage, where the schema has a part of 1.
func TestPerfsonarLossOfAHundredIsNoRatio(t *testing.T) {
	d := mustConvert(t, perfsonar, []byte(`{"succeeded":true,"roundtrips":[],"loss":100.0}`))
	if f := perfsonarOne(t, d); f.Run.Failure != wire.FailureTimeout || f.Summary.LossRatio != nil {
		t.Errorf("%q, a loss of %v", f.Run.Failure, f.Summary.LossRatio)
	}
	d = mustConvert(t, perfsonar, []byte(`{"succeeded":true,"roundtrips":[{"rtt":"PT0.01S","seq":1}],"loss":0.25}`))
	perfsonarIs(t, "the loss", perfsonarOne(t, d).Summary.LossRatio, 0.25)
}

func TestPerfsonarOneWayDelaysAreNoRoundTrips(t *testing.T) {
	f := perfsonarOne(t, perfsonarSample(t, "latency-owping.json"))
	if s := f.Summary; s.Min != nil || s.Mean != nil || s.P50.Value != nil || len(f.RTT)+len(f.Bins) != 0 {
		t.Errorf("round trips: %+v", s)
	}
	o := f.Summary.OneWay
	if o == nil || o.Method != summary.OneWayClocks || o.ReverseMin != nil || o.ForwardPDV95 != nil {
		t.Fatalf("%+v", o)
	}
	perfsonarIs(t, "the smallest delay", o.ForwardMin, 2.51e6)
	perfsonarIs(t, "the median delay", o.ForwardP50, 2.55e6)
	perfsonarIs(t, "the bound, 0.27 ms and what was rounded", o.Bound, 0.28e6)
	if c := f.Run.Counts; c.Sent != 103 || c.Lost != 3 || c.LostForward == nil || *c.LostForward != 3 || *c.ReorderedForward != 1 {
		t.Errorf("%+v", c)
	}
}

func TestPerfsonarClockErrorOfZeroIsNoneThatIsKnown(t *testing.T) {
	f := perfsonarOne(t, perfsonarSample(t, "latency-unsynchronised.json"))
	if f.Summary.OneWay != nil || !slices.Equal(f.Summary.Noise.Degraded, []summary.Reason{summary.ReasonUnsynchronised}) {
		t.Errorf("%+v, degraded %v", f.Summary.OneWay, f.Summary.Noise.Degraded)
	}
	if c := f.Run.Counts; f.Run.Failure != "" || c.Received != 60 || c.LostForward != nil {
		t.Errorf("%q %+v: of twping nobody knows which way a packet was lost", f.Run.Failure, c)
	}
}

func TestPerfsonarDelaysThatDisproveTheClocks(t *testing.T) {
	text := strings.Replace(string(readSample(t, "testdata/perfsonar/latency-owping.json")), `"2.51": 4`, `"-3.51": 4`, 3)
	f := perfsonarOne(t, mustConvert(t, perfsonar, []byte(text)))
	if f.Summary.OneWay != nil || len(f.Summary.Noise.Degraded) != 1 {
		t.Errorf("with clocks good to 0.27 ms a packet arrives 3.51 ms before it was sent: %+v", f.Summary.OneWay)
	}
}

func TestPerfsonarBucketsHaveTheWidthOfTheTest(t *testing.T) {
	f := perfsonarOne(t, perfsonarSample(t, "latencybg-powstream.json"))
	perfsonarIs(t, "101.00 buckets of 0.1 ms", f.Summary.OneWay.ForwardMin, 10.1e6)
	perfsonarIs(t, "the median", f.Summary.OneWay.ForwardP50, 10.25e6)
	if f.Variant != "latencybg-powstream" || f.From != "host-a" || f.To != "host-b" {
		t.Errorf("%s from %s to %s", f.Variant, f.From, f.To)
	}
	d := mustConvert(t, perfsonar, []byte(`{"succeeded":true,"packets-sent":10,"packets-received":10,"packets-lost":0,"max-clock-error":0.1,"histogram-latency":{"2.5":10}}`))
	if f := perfsonarOne(t, d); f.Summary.OneWay != nil || d.LeftCount != 1 || !strings.Contains(d.Left[0].Reason, "width") {
		t.Errorf("a result alone, which does not tell the width: %+v, left out %v", f.Summary.OneWay, d.Left)
	}
}

// halfping halves round trips and calls them delays.
func TestPerfsonarHalvedRoundTripsAreNoDelays(t *testing.T) {
	text := strings.ReplaceAll(string(readSample(t, "testdata/perfsonar/latency-owping.json")), "owping", "halfping")
	f := perfsonarOne(t, mustConvert(t, perfsonar, []byte(text)))
	if f.Summary.OneWay != nil || f.Run.Counts.LostForward != nil || f.Run.Counts.Lost != 3 {
		t.Errorf("%+v %+v", f.Summary.OneWay, f.Run.Counts)
	}
}

func TestPerfsonarRateIsTheReceivers(t *testing.T) {
	f := perfsonarOne(t, perfsonarSample(t, "throughput-tcp.json"))
	b := f.Summary.Bulk
	perfsonarIs(t, "the rate", b.Throughput.UpBPS, 939_753_602.196996)
	if b.MovedBytes != 1_178_468_352 || *b.Throughput.Streams != 1 || *b.Throughput.UpRetransmits != 7 || b.Throughput.Direction != wire.DirectionUp {
		t.Errorf("%+v", b)
	}
}

// The rtt of iperf3's streams is µs, of nuttcp's nobody knows.
func TestPerfsonarRoundTripOfTheKernel(t *testing.T) {
	f := perfsonarOne(t, perfsonarSample(t, "throughput-tcp.json"))
	if i := f.Run.TCPInfo; i == nil || i.RTTUS != 6656 || i.MinRTTUS != 0 || i.Retransmits != Unknown {
		t.Errorf("%+v, want the 6656 µs of the last interval", i)
	}
	text := strings.ReplaceAll(string(readSample(t, "testdata/perfsonar/throughput-tcp.json")), "iperf3", "nuttcp")
	if f := perfsonarOne(t, mustConvert(t, perfsonar, []byte(text))); f.Run.TCPInfo != nil {
		t.Errorf("of nuttcp: %+v", f.Run.TCPInfo)
	}
}

// The schema calls throughput-bytes a rate; iperf3's reader fills it with the bytes of the whole test.
func TestPerfsonarBytesThatAreARateAreNotMoved(t *testing.T) {
	f := perfsonarOne(t, perfsonarSample(t, "throughput-reverse.json"))
	th := f.Summary.Bulk.Throughput
	perfsonarIs(t, "the rate", th.DownBPS, 1e9)
	perfsonarIs(t, "what is left out", th.RampNS, 5e9)
	if f.Summary.Bulk.MovedBytes != 0 || th.UpBPS != nil || *th.Streams != 4 || *th.DownRetransmits != 31 || th.Direction != wire.DirectionDown {
		t.Errorf("%+v", f.Summary.Bulk)
	}
}

func TestPerfsonarRateOfASenderThatLosesIsNotTold(t *testing.T) {
	f := perfsonarOne(t, perfsonarSample(t, "throughput-udp.json"))
	if c := f.Run.Counts; f.Summary.Bulk.Throughput.UpBPS != nil || c.Sent != 862 || c.Lost != 17 || c.Received != 845 || f.Summary.Jitter != nil || f.Run.Failure != "" {
		t.Errorf("%+v %+v", c, f.Summary.Bulk)
	}
}

func TestPerfsonarTracesThatReachTheirTarget(t *testing.T) {
	if f := perfsonarOne(t, perfsonarSample(t, "trace.json")); !slices.Equal(f.RTT, []int64{10_100_000}) || f.Run.Counts.Sent != 1 {
		t.Errorf("%v %+v", f.RTT, f.Run.Counts)
	}
	if f := perfsonarOne(t, perfsonarSample(t, "trace-stuck.json")); f.Run.Failure != wire.FailureTimeout || len(f.RTT) != 0 {
		t.Errorf("a trace that ends at a router: %q %v", f.Run.Failure, f.RTT)
	}
}

func TestPerfsonarRunsThatBroughtNothing(t *testing.T) {
	d := perfsonarSample(t, "runs.ndjson")
	if len(d.Findings) != 4 || d.LeftCount != 2 {
		t.Fatalf("%d findings, left out %v", len(d.Findings), d.Left)
	}
	refused, missed, untested, point := d.Findings[0], d.Findings[1], d.Findings[2], d.Findings[3]
	if refused.Run.Failure != wire.FailureRefused || refused.Run.Kind != wire.KindThroughput || !strings.Contains(refused.Run.Detail, "Connection refused") || refused.Summary.Bulk != nil {
		t.Errorf("%q: %q", refused.Run.Failure, refused.Run.Detail)
	}
	if missed.Run.Failure != wire.FailureCanceled || !strings.Contains(missed.Run.Detail, "never started") {
		t.Errorf("%q: %q", missed.Run.Failure, missed.Run.Detail)
	}
	if untested.Run.Kind != wire.KindConnect || untested.To != "host-b" || len(untested.RTT) != 2 {
		t.Errorf("a run whose test stands in its task only: %+v", untested)
	}
	if !point.Run.Start.Equal(time.Unix(1785197000, 0)) || !slices.Equal(point.RTT, []int64{21e6, 22e6}) || point.Run.Kind != "rtt" {
		t.Errorf("a point of an archive: %+v", point)
	}
	if !strings.Contains(d.Left[0].Reason, "running") || d.Left[0].Line != 3 || !strings.Contains(d.Left[1].Reason, "http") || d.Left[1].Line != 4 {
		t.Errorf("left out: %v", d.Left)
	}
}

func TestPerfsonarCutOff(t *testing.T) {
	d := perfsonarSample(t, "cut.ndjson")
	if len(d.Findings) != 2 || d.LeftCount != 1 || !slices.Equal(d.Findings[1].RTT, []int64{20e6, 21e6, 22e6}) || d.Left[0].Line != 2 {
		t.Errorf("the run of the second line is whole, and its task is missing: %d findings, left out %v", len(d.Findings), d.Left)
	}
	text := readSample(t, "testdata/perfsonar/rtt-ping-archived.json")
	at := bytes.Index(text, []byte(`"roundtrips"`)) + 100
	if _, err := perfsonar.Read(bytes.NewReader(text[:at])); err == nil || !strings.Contains(err.Error(), "not told to its end") {
		t.Errorf("cut inside its round trips: %v", err)
	}
}

func TestPerfsonarDamagedLineTakesNoOtherWithIt(t *testing.T) {
	good := string(readSample(t, "testdata/perfsonar/rtt-result.json"))
	d := mustConvert(t, perfsonar, []byte(good+"\n{\"succeeded\": tru!\n"+good+"\n"))
	if len(d.Findings) != 2 || d.LeftCount != 2 || d.Left[1].Line != 2 {
		t.Errorf("%d findings, left out %v", len(d.Findings), d.Left)
	}
}

func TestPerfsonarCountsThatStandTwice(t *testing.T) {
	_, err := convert(t, perfsonar, []byte(`{"succeeded":true,"roundtrips":[{"rtt":"PT0.01S"}],"loss":0,"sent":1,"sent":2}`))
	if err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("%v", err)
	}
}
