package foreign

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"isochrone/prober/wire"
)

func TestNtttcpSamples(t *testing.T) { testSamples(t, ntttcp) }

func FuzzNtttcp(f *testing.F) {
	fuzz(f, ntttcp, 16, "<ntttcps computername='a'/><ntttcpr computername='b'>", "<samples/>", "<samples><ntttcps><throughput metric='Bps'>1e400",
		`{"ntttcps":{"computername":"a","version":"5.33-linux","throughputs":[{"metric":"Bps","value":"-1"}]}}{"ntttcpr"`)
}

func ntttcpSample(t *testing.T, name string) *Document {
	t.Helper()
	return mustConvert(t, ntttcp, readSample(t, filepath.Join("testdata", "ntttcp", name)))
}

// ntttcpChanged is a sample in which something else is written.
func ntttcpChanged(t *testing.T, name string, replace ...string) *Document {
	t.Helper()
	text := string(readSample(t, filepath.Join("testdata", "ntttcp", name)))
	changed := strings.NewReplacer(replace...).Replace(text)
	if changed == text {
		t.Fatalf("%s has none of %q", name, replace)
	}
	return mustConvert(t, ntttcp, []byte(changed))
}

func ntttcpOne(t *testing.T, d *Document) (*Finding, float64) {
	t.Helper()
	if len(d.Findings) != 1 {
		t.Fatalf("%d findings, left %v", len(d.Findings), d.Left)
	}
	f := &d.Findings[0]
	if f.Summary.Bulk == nil || f.Summary.Bulk.Throughput.UpBPS == nil {
		return f, math.NaN()
	}
	return f, *f.Summary.Bulk.Throughput.UpBPS
}

// MB and KB are of 1024 on Windows: 34.748 MB/s are 291.485 Mbit/s, and 2085 MB 2187 million bytes.
func TestNtttcpWindowsMegabytesAreBinaryAndItsMbpsIsNot(t *testing.T) {
	f, bps := ntttcpOne(t, ntttcpSample(t, "windows-tcp-sender.xml"))
	if bps != 291.485e6 || f.Summary.Bulk.MovedBytes != int64(2085.383034*ntttcpMiB) {
		t.Errorf("%f bit/s, %d bytes", bps, f.Summary.Bulk.MovedBytes)
	}
	if !within(float64(f.Summary.Bulk.MovedBytes)*8/60.015, bps, 0.0001) {
		t.Error("bytes and rate do not agree")
	}
	b := f.Summary.Bulk.Throughput
	if *b.RampNS != 30e9 || *b.Streams != 2 || *b.UpRetransmits != 10 || b.Direction != wire.DirectionUp { // its times are milliseconds
		t.Errorf("ramp %g ns, %d streams, %d retransmits, %s", *b.RampNS, *b.Streams, *b.UpRetransmits, b.Direction)
	}
	if f.From != "PKB-5C4B6A59-0" || f.To != "" || f.Variant != "sender" || f.Tool != "ntttcp 5.33" || f.Run.Start != nil || f.Run.TCPInfo != nil {
		t.Errorf("%+v", f)
	}
}

// On Linux they are decimal, times are seconds, and bytes a second are told too.
func TestNtttcpLinuxMegabytesAreDecimal(t *testing.T) {
	f, bps := ntttcpOne(t, ntttcpSample(t, "linux-sender.xml"))
	b := f.Summary.Bulk
	if bps != 1178800277.724*8 || b.MovedBytes != 2358378496 || *b.Throughput.Streams != 1 || *b.Throughput.UpRetransmits != 20 || *b.Throughput.RampNS != 0 {
		t.Errorf("%f bit/s, %+v", bps, b)
	}
	if !within(float64(b.MovedBytes)*8/2.000660, bps, 0.0001) {
		t.Error("bytes and rate do not agree")
	}
	f, _ = ntttcpOne(t, ntttcpChanged(t, "linux-sender.xml", "<warmup_time>0<", "<warmup_time>3<"))
	if *f.Summary.Bulk.Throughput.RampNS != 3e9 {
		t.Errorf("a ramp of %g ns", *f.Summary.Bulk.Throughput.RampNS)
	}
}

// Before it told bytes a second, its MB were of 1024², and its mbps eight of those.
func TestNtttcpOldLinuxMbpsAreBinary(t *testing.T) {
	f, bps := ntttcpOne(t, ntttcpSample(t, "linux-old-binary-mbps.xml"))
	if bps != 708.847*1048576 || f.Summary.Bulk.MovedBytes != 932<<20 || f.Run.TCPInfo.RTTUS != 19996 || f.Summary.Bulk.Throughput.Streams != nil {
		t.Errorf("%f bit/s, %+v, %+v", bps, f.Summary.Bulk, f.Run.TCPInfo)
	}
	if !within(float64(f.Summary.Bulk.MovedBytes)*8/10.518483, bps, 0.0001) {
		t.Error("bytes and rate do not agree")
	}
	text := string(readSample(t, "testdata/ntttcp/linux-old-binary-mbps.xml"))
	text = text[:strings.Index(text, "<thread ")] + text[strings.Index(text, "<total_bytes"):]
	if _, err := convert(t, ntttcp, []byte(text)); err == nil || !strings.Contains(err.Error(), "1000² or 1024² bits is not told") {
		t.Errorf("without threads: %v", err)
	}
}

func TestNtttcpJSONNumbersAreStrings(t *testing.T) {
	f, bps := ntttcpOne(t, ntttcpSample(t, "linux-sender.json"))
	if bps != 522602009.466*8 || f.Summary.Bulk.MovedBytes != 1048182784 || *f.Summary.Bulk.Throughput.UpRetransmits != 5 {
		t.Errorf("%f bit/s, %+v", bps, f.Summary.Bulk)
	}
	if f.Run.TCPInfo == nil || f.Run.TCPInfo.RTTUS != 477 { // under the key "tcpAverageRtt metric"
		t.Errorf("%+v", f.Run.TCPInfo)
	}
}

// A thread's MB/s reads "522.602 bps": it still says what MB means where nothing else does.
func TestNtttcpAThreadsMegabytesReadBps(t *testing.T) {
	d := ntttcpChanged(t, "linux-sender.json", "            {\n                \"metric\" : \"Bps\",\n                \"value\" : \"522602009.466\"\n            },\n", "")
	if _, bps := ntttcpOne(t, d); bps != 4180.816e6 {
		t.Errorf("%f bit/s", bps)
	}
}

func TestNtttcpAnUnknownRoundTripIsNull(t *testing.T) {
	for _, rtt := range []string{"4294967295 us", "0 us", ""} {
		if f, _ := ntttcpOne(t, ntttcpChanged(t, "linux-sender.json", "477 us", rtt)); f.Run.TCPInfo != nil {
			t.Errorf("%q is %d µs", rtt, f.Run.TCPInfo.RTTUS)
		}
	}
}

// Hard-coded zeros, and counters of the whole machine, are no figures of the run.
func TestNtttcpZerosThatAreNotMeasuredAreNull(t *testing.T) {
	for _, name := range []string{"linux-sender.xml", "linux-sender.json", "windows-tcp-sender.xml"} {
		f, _ := ntttcpOne(t, ntttcpSample(t, name))
		if f.Counted != (Counted{}) || f.Summary.LossRatio != nil || f.Summary.Min != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestNtttcpTheReceiversDocumentIsAFindingOfItsOwn(t *testing.T) {
	f, bps := ntttcpOne(t, ntttcpSample(t, "windows-tcp-receiver.xml"))
	if bps != 291.484e6 || f.From != "" || f.To != "PKB-5C4B6A59-1" || f.Variant != "receiver" || f.Summary.Bulk.Throughput.UpRetransmits != nil {
		t.Errorf("%f bit/s, %+v", bps, f)
	}
}

// The sender of datagrams says 245 Mbit/s, the receiver 189: only the latter arrived.
func TestNtttcpWhatIsSentOverUDPIsNoThroughput(t *testing.T) {
	f, _ := ntttcpOne(t, ntttcpSample(t, "windows-udp-sender.xml"))
	if b := f.Summary.Bulk; b.Throughput.UpBPS != nil || b.MovedBytes != int64(1753.907349*ntttcpMiB) || f.Variant != "udp-sender" || f.Run.Failure != "" {
		t.Errorf("%+v", f)
	}
	f, bps := ntttcpOne(t, ntttcpSample(t, "windows-udp-receiver.xml"))
	if bps != 189.447e6 || f.Variant != "udp-receiver" {
		t.Errorf("%f bit/s, %+v", bps, f)
	}
	if f, bps = ntttcpOne(t, ntttcpSample(t, "linux-receiver-udp.json")); bps != 522602009.466*8 || f.Variant != "udp-receiver" || f.To != "vm-b" {
		t.Errorf("%f bit/s, %+v", bps, f)
	}
}

// Windows appends to a file that is there.
func TestNtttcpSeveralRootsInOneFile(t *testing.T) {
	d := ntttcpSample(t, "windows-appended.xml")
	if len(d.Findings) != 3 || d.LeftCount != 0 {
		t.Fatalf("%d findings, left %v", len(d.Findings), d.Left)
	}
	for i, want := range []struct {
		variant string
		bps     float64
	}{{"sender", 291.485e6}, {"receiver", 291.484e6}, {"sender-2", 250e6}} {
		if f := d.Findings[i]; f.Variant != want.variant || *f.Summary.Bulk.Throughput.UpBPS != want.bps {
			t.Errorf("%d: %s %f", i, f.Variant, *f.Summary.Bulk.Throughput.UpBPS)
		}
	}
	a, b := string(readSample(t, "testdata/ntttcp/linux-sender.json")), string(readSample(t, "testdata/ntttcp/linux-receiver-udp.json"))
	if d := mustConvert(t, ntttcp, []byte(a+b+"done\n")); len(d.Findings) != 2 || d.LeftCount != 1 || d.Left[0].Line != strings.Count(a+b, "\n")+1 {
		t.Errorf("JSON: %d findings, left %v", len(d.Findings), d.Left)
	}
}

// 1000 Mbit/s over 10 s and 800 over 5 are 933.3 over 15. The latencies may be of a send call.
func TestNtttcpSamplesAreOneRun(t *testing.T) {
	f, bps := ntttcpOne(t, ntttcpSample(t, "windows-samples-latency.xml"))
	b := f.Summary.Bulk
	if !within(bps, 14000e6/15, 1e-6) || *b.Throughput.UpRetransmits != 7 || !within(float64(b.MovedBytes), 1.75e9, 1e-6) || *b.Throughput.RampNS != 5e9 || *b.Throughput.Streams != 1 {
		t.Errorf("%f bit/s, %+v", bps, b)
	}
	if f.Summary.Min != nil || f.Summary.Mean != nil || f.Summary.Max != nil {
		t.Errorf("%+v", f.Summary)
	}
}

func TestNtttcpNothingSentIsAFailure(t *testing.T) {
	f, _ := ntttcpOne(t, ntttcpSample(t, "windows-nothing-sent.xml"))
	if f.Run.Failure != wire.FailureTimeout || f.Run.Detail == "" || f.Summary.Bulk != nil {
		t.Errorf("%+v", f)
	}
}

func TestNtttcpOfACutTextTheTotalsCountIfTheyAreThere(t *testing.T) {
	d := ntttcpSample(t, "linux-cut-behind-totals.xml")
	f, bps := ntttcpOne(t, d)
	if bps != 1178800277.724*8 || d.LeftCount != 1 || f.Summary.Bulk.Throughput.UpRetransmits != nil {
		t.Errorf("%f bit/s, left %v", bps, d.Left)
	}
	for _, name := range []string{"linux-sender.xml", "linux-sender.json", "windows-samples-latency.xml", "windows-appended.xml"} {
		text := readSample(t, filepath.Join("testdata", "ntttcp", name))
		whole := ntttcpSample(t, name)
		for n := 0; n < len(text); n += 7 + n%11 {
			d, err := ntttcp.Read(strings.NewReader(string(text[:n])))
			if err != nil {
				if err.Error() == "" {
					t.Fatalf("%s, %d bytes: no reason", name, n)
				}
				continue
			}
			for i, f := range d.Findings {
				if want := whole.Findings[i].Summary.Bulk.Throughput.UpBPS; !within(*f.Summary.Bulk.Throughput.UpBPS, *want, 0.1) {
					t.Fatalf("%s, %d bytes: %f", name, n, *f.Summary.Bulk.Throughput.UpBPS)
				}
			}
		}
	}
}

func TestNtttcpIsNotWhatOthersWrite(t *testing.T) {
	for _, text := range []string{"<samples><sample/></samples>", "<ntttcp/>", `{"ntttcps":{}}`, `{"ntttcps":"computername"}`} {
		if f := Recognise([]byte(text)); f != nil {
			t.Errorf("%s is recognised as %s", text, f.Name)
		}
	}
}

var ntttcpMiB = 1048576.0
