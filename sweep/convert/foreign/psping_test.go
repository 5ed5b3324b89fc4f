package foreign

import (
	"fmt"
	"strings"
	"testing"
)

func TestPsPingSamples(t *testing.T) { testSamples(t, psping) }

func FuzzPsPing(f *testing.F) {
	fuzz(f, psping, 11, pspingTwoLines, "UDP bandwidth test connecting to [2001:db8::2]:80: Connected\nUDP receiver bandwidth statistics:\n  Sent = 1, Size = 1, Total Bytes: 1,\n  Minimum = 1 MB/s, Maximum = 1 MB/s, Average = 1 GB/s\n",
		"TCP connect to a:1:\n1 iterations (warmup 1) ping test:\nConnecting to a:1: from 0.0.0.0:0:\nThe remote computer refused the network connection.\nConnecting to a:1: 0.00ms\n")
}

// pspingTwoLines is an error on the line behind its connect.
const pspingTwoLines = `TCP connect to 192.0.2.7:443:
3 iterations (warmup 1) ping test:
Connecting to 192.0.2.7:443 (warmup): from 0.0.0.0:50001:
The remote computer refused the network connection.
Connecting to 192.0.2.7:443: from 0.0.0.0:50002:
The remote computer refused the network connection.
Connecting to 192.0.2.7:443: from 192.0.2.1:50003: 5.20ms

TCP connect statistics for 192.0.2.7:443:
  Sent = 2, Received = 1, Lost = 1 (50% loss),
  Minimum = 5.20ms, Maximum = 5.20ms, Average = 5.20ms
`

func pspingFile(t *testing.T, name string) *Finding {
	t.Helper()
	d := mustConvert(t, psping, readSample(t, "testdata/psping/"+name))
	if len(d.Findings) != 1 || d.LeftCount != 0 {
		t.Fatalf("%s: %d findings, left out %v", name, len(d.Findings), d.Left)
	}
	return &d.Findings[0]
}

func TestPsPingConnects(t *testing.T) {
	f := pspingFile(t, "connect.txt")
	if len(f.RTT) != 10 || f.RTT[0] != 43_910_000 || f.RTT[9] != 41_260_000 {
		t.Fatalf("%v", f.RTT)
	}
	s := figuresOf(t, f)
	exactly(t, "min", s.Min, 38_300_000)
	exactly(t, "max", s.Max, 43_910_000)
	exactly(t, "mean", s.Mean, 41_422_000)
	c := f.Run.Counts
	if c.Warmup != 2 || c.Sent != 10 || c.Received != 10 || c.Lost != 0 || f.Run.Kind != "connect" || f.From != "192.0.2.222" || f.To != "198.51.100.65" || f.Run.Address != "198.51.100.65:443" || f.Tool != "PsPing 2.10" {
		t.Errorf("%q to %q by %q: %+v", f.From, f.To, f.Tool, f.Run)
	}
}

// The first echoes are the warm-up, though they look like the others.
func TestPsPingEchoesOfTheWarmUpDoNotCount(t *testing.T) {
	f := pspingFile(t, "icmp.txt")
	if len(f.RTT) != 10 || f.RTT[0] != 41_600_000 || f.Run.Kind != "icmp" {
		t.Fatalf("%v", f.RTT)
	}
	exactly(t, "mean", figuresOf(t, f).Mean, 41_777_000) // printed as 41.78
}

func TestPsPingSpellsMaximumInTwoWays(t *testing.T) {
	text := string(readSample(t, "testdata/psping/latency.txt"))
	for _, text := range []string{text, strings.ReplaceAll(text, "Maxiumum", "Maximum")} {
		f := &mustConvert(t, psping, []byte(text)).Findings[0]
		exactly(t, "min", f.Summary.Min, 190_000)
		exactly(t, "max", f.Summary.Max, 580_000)
		exactly(t, "mean", f.Summary.Mean, 270_000)
		if f.Run.Kind != "tcp" || f.Run.Counts.Sent != 10 || f.Counted.Received || f.Run.Counts.Warmup != 5 || f.Run.Failure != "" {
			t.Errorf("%+v, %+v", f.Run, f.Counted)
		}
	}
}

func TestPsPingZerosOfNoReplyAreNoTimes(t *testing.T) {
	f := pspingFile(t, "connect-all-lost.txt")
	unknown(t, "min", f.Summary.Min)
	unknown(t, "mean", f.Summary.Mean)
	if c := f.Run.Counts; f.Run.Failure != "timeout" || c.Sent != 3 || c.Lost != 3 || c.Received != 0 || f.Run.Detail != "This operation returned because the timeout period expired." {
		t.Errorf("%+v", f.Run)
	}
}

// Ctrl+Break prints statistics of all so far, again and again.
func TestPsPingTheLastStatisticsCount(t *testing.T) {
	f := pspingFile(t, "connect-endless.txt")
	if len(f.RTT) != 3 || f.Run.Counts.Sent != 3 {
		t.Errorf("%v, %+v", f.RTT, f.Run.Counts)
	}
}

// A KB is 1024 bytes: the histogram beside it, in bytes a second, shows it.
func TestPsPingKilobytesAreBinary(t *testing.T) {
	f := pspingFile(t, "bandwidth.txt")
	b := f.Summary.Bulk
	exactly(t, "rate", b.Throughput.UpBPS, 564.13*1024*8)
	if b.MovedBytes != 472_500 || b.Throughput.Direction != "up" || f.Counted.Sent || f.Run.Kind != "throughput" {
		t.Errorf("%+v, %+v", b, f.Counted)
	}
	down := strings.ReplaceAll(string(readSample(t, "testdata/psping/bandwidth.txt")), "sender", "receiver")
	b = mustConvert(t, psping, []byte(down)).Findings[0].Summary.Bulk
	exactly(t, "rate", b.Throughput.DownBPS, 564.13*1024*8)
	udp := strings.ReplaceAll(string(readSample(t, "testdata/psping/bandwidth.txt")), "TCP", "UDP")
	if _, err := convert(t, psping, []byte(udp)); err == nil || !strings.Contains(err.Error(), "nobody says what arrived") {
		t.Error(err)
	}
}

// The bins of -h are few, and only their lower edges are told.
func TestPsPingHistogramIsNoDistribution(t *testing.T) {
	f := pspingFile(t, "connect-quiet.txt")
	if len(f.Bins) != 0 || f.Summary.P50.Value != nil || f.Tool != "PsPing" {
		t.Errorf("%+v", f)
	}
	exactly(t, "mean", f.Summary.Mean, 8_300_000)
}

func TestPsPingErrorsOnTheNextLine(t *testing.T) {
	f := &mustConvert(t, psping, []byte(pspingTwoLines)).Findings[0]
	if fmt.Sprint(f.RTT) != "[5200000]" || f.From != "192.0.2.1" || f.Run.Failure != "" {
		t.Errorf("%v, %q, %+v", f.RTT, f.From, f.Run)
	}
}

func TestPsPingFailures(t *testing.T) {
	for text, want := range map[string]string{
		"TCP connect to 192.0.2.7:443:\n2 iterations (warmup 1) ping test:\nConnecting to 192.0.2.7:443 (warmup): from 0.0.0.0:0:\nThe remote computer refused the network connection.\n" +
			"Connecting to 192.0.2.7:443: from 0.0.0.0:0:\nThe remote computer refused the network connection.\n\n  Sent = 1, Received = 0, Lost = 1 (100% loss),\n  Minimum = 0.00ms, Maximum = 0.00ms, Average = 0.00ms\n": "refused of 1",
		"PsPing v2.12 - x\nTCP latency test connecting to 192.0.2.7:443:\nThe network location cannot be reached.\n": "unreachable of 0",
		"Pinging 192.0.2.7 with 32 bytes of data:\n3 iterations (warmup 1) ping test:\nRequest timed out.\nRequest timed out.\nRequest timed out.\n\nPing statistics for 192.0.2.7:\n" +
			"  Sent = 2, Received = 0, Lost = 2 (100% loss),\n  Minimum = 0.00ms, Maximum = 0.00ms, Average = 0.00ms\n": "timeout of 2",
	} {
		f := mustConvert(t, psping, []byte(text)).Findings[0]
		if got := fmt.Sprintf("%s of %d", f.Run.Failure, f.Run.Counts.Sent); got != want || f.Run.Detail == "" {
			t.Errorf("%s (%q), want %s", got, f.Run.Detail, want)
		}
	}
}

func TestPsPingOfWhatIsCutOff(t *testing.T) {
	d := mustConvert(t, psping, readSample(t, "testdata/psping/connect-stopped.txt"))
	if f := &d.Findings[0]; len(f.RTT) != 4 || f.Run.Counts.Sent != 4 || d.LeftCount != 1 {
		t.Errorf("%+v, left out: %v", f, d.Left)
	}
	for _, text := range []string{"PsPing v2.10 - PsPing\n\nHelp usage: psping -? [i|t|l|b]\n", "PsPing v2.10 - PsPing\nTCP latency test connecting to 192.0.2.7:443: Connected\n"} {
		if d, err := convert(t, psping, []byte(text)); err == nil {
			t.Errorf("%q: %+v", text, d.Findings)
		}
	}
}

// The ping of Windows begins with the same line.
func TestPsPingIsNotThePingOfWindows(t *testing.T) {
	text := "\r\nPinging 192.0.2.7 with 32 bytes of data:\r\nReply from 192.0.2.7: bytes=32 time=3ms TTL=64\r\n"
	if f := Recognise([]byte(text)); f == psping {
		t.Error("it is recognised as PsPing's")
	}
}

func TestPsPingTestsOneAfterTheOther(t *testing.T) {
	text := string(readSample(t, "testdata/psping/connect.txt")) + string(readSample(t, "testdata/psping/icmp.txt"))
	if d := mustConvert(t, psping, []byte(text)); len(d.Findings) != 2 || d.Findings[0].Run.Kind != "connect" || d.Findings[1].Run.Kind != "icmp" {
		t.Errorf("%+v", d.Findings)
	}
}
