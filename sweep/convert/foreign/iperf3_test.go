package foreign

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

func TestIperf3Samples(t *testing.T) { testSamples(t, iperf3) }

func FuzzIperf3(f *testing.F) {
	fuzz(f, iperf3, 39, `{"start":{"connected":[],"version":"iperf 3.12"},"intervals":[{}],"end":{}}`,
		`{"event":"end","data":{}}`, `{"start":{"test_start":{"bidir":1}},"end":{"sum_received":{"bytes":1,"bits_per_second":nan,"seconds":0}}`,
		"{\"intervals\":[{\"sum\":{\"bytes\":1,\"seconds\":1e308}}]}\n{\"start\":{", `{"error":"x","start":{"timestamp":{"timesecs":1e300}}}`)
}

func iperf3Sample(t *testing.T, name string) *Document {
	t.Helper()
	return mustConvert(t, iperf3, readSample(t, filepath.Join("testdata", "iperf3", name)))
}

// one is a document's only finding.
func iperf3One(t *testing.T, d *Document) *Finding {
	t.Helper()
	if len(d.Findings) != 1 {
		t.Fatalf("%d findings, left %v", len(d.Findings), d.Left)
	}
	return &d.Findings[0]
}

func hasLeft(d *Document, part string) bool {
	for _, l := range d.Left {
		if strings.Contains(l.Error(), part) {
			return true
		}
	}
	return false
}

func TestIperf3TheReceiversCountIsTheRate(t *testing.T) {
	f := iperf3One(t, iperf3Sample(t, "tcp.json"))
	b := f.Summary.Bulk.Throughput
	if *b.UpBPS != 10013137199.383339 || b.DownBPS != nil || b.Direction != wire.DirectionUp || *b.UpRetransmits != 130 || *b.Streams != 1 || b.CongestionControl != "bbr" {
		t.Errorf("%+v", b)
	}
	if want := time.Date(2026, 11, 30, 9, 34, 28, 0, time.UTC); !f.Run.Start.Equal(want) {
		t.Errorf("began %s", f.Run.Start)
	}
	if f.Run.TCPInfo.RTTUS != 145 || f.Run.TCPInfo.MinRTTUS != 68 || f.Summary.Min != nil || f.Summary.P50.Value != nil {
		t.Errorf("a smoothed round trip is no sample: %+v %+v", f.Run.TCPInfo, f.Summary)
	}
	f = iperf3One(t, iperf3Sample(t, "udp-loss.json")) // sent 599 Mbit/s, of which 31 % arrived
	if b := f.Summary.Bulk; *b.Throughput.UpBPS != 183343230.70063362 || b.MovedBytes != 149855600 {
		t.Errorf("%+v", b)
	}
	if c := f.Run.Counts; c.Sent != 749278 || c.Lost != 520038 || !f.Counted.Sent || !f.Counted.Lost || f.Counted.Received || f.Counted.Reordered || f.Variant != "udp" {
		t.Errorf("%+v %+v", c, f.Counted)
	}
}

func TestIperf3WhatTheOtherEndDidNotTellIsNull(t *testing.T) {
	f := iperf3One(t, iperf3Sample(t, "tcp-reverse-3streams.json")) // its min_rtt is 0
	if f.Run.TCPInfo != nil || *f.Summary.Bulk.Throughput.DownBPS != 17156027461.601807 || *f.Summary.Bulk.Throughput.DownRetransmits != 41 || *f.Summary.Bulk.Throughput.Streams != 3 {
		t.Errorf("%+v %+v", f.Run.TCPInfo, f.Summary.Bulk)
	}
	f = iperf3One(t, iperf3Sample(t, "server-tcp.json")) // its sum_sent is 0
	if b := f.Summary.Bulk.Throughput; *b.UpBPS != 17810968569.277084 || b.UpRetransmits != nil || f.Variant != "server" || f.From != "127.0.0.1" || f.To != "vm" {
		t.Errorf("%+v", f)
	}
	d := iperf3Sample(t, "server-tcp-reverse.json") // its sum_received is 0
	if b := iperf3One(t, d).Summary.Bulk.Throughput; *b.DownBPS != 16899410450.016306 || !hasLeft(d, "the rate is of what was sent") {
		t.Errorf("%+v, left %v", b, d.Left)
	}
	minus := strings.Replace(string(readSample(t, "testdata/iperf3/tcp.json")), `"retransmits":	130,
			"sender":	true
		},
		"sum_received"`, `"retransmits":	-1,
			"sender":	true
		},
		"sum_received"`, 1)
	if b := iperf3One(t, mustConvert(t, iperf3, []byte(minus))).Summary.Bulk.Throughput; b.UpRetransmits != nil {
		t.Errorf("−1 retransmits is %d", *b.UpRetransmits)
	}
}

// A server does not know how many datagrams its client sent, or how many of its own arrived: iperf3
// 3.12 writes zero for both, less those of the ramp, so that the first becomes 18446744073709551391.
func TestIperf3AServersDocumentOfUDPWithARamp(t *testing.T) {
	f := iperf3One(t, iperf3Sample(t, "server-udp-omit-3streams.json"))
	if c := f.Run.Counts; c.Sent != 462 || c.Lost != 39 || *c.LostForward != 39 || *f.Summary.Bulk.Throughput.UpBPS != 54931739.38178895 {
		t.Errorf("%+v", c)
	}
	d := iperf3Sample(t, "server-udp-bidir-omit.json")
	f = iperf3One(t, d)
	if b := f.Summary.Bulk.Throughput; *b.UpBPS != 39845688.77155614 || b.DownBPS != nil || f.Counted.Lost || f.Run.Counts.LostReverse != nil {
		t.Errorf("%+v, %+v", b, f.Run.Counts)
	}
	if !hasLeft(d, "counts of datagrams") {
		t.Errorf("left %v", d.Left)
	}
}

func TestIperf3BothDirections(t *testing.T) {
	f := iperf3One(t, iperf3Sample(t, "tcp-bidir-2streams-omit.json"))
	b := f.Summary.Bulk.Throughput
	if *b.UpBPS != 14749643727.278271 || *b.DownBPS != 2907531568.2728939 || b.Direction != wire.DirectionBoth || *b.UpRetransmits != 23 || *b.DownRetransmits != 5 || *b.Streams != 2 || *b.RampNS != 1e9 {
		t.Errorf("%+v", b)
	}
	if f.Run.TCPInfo.MinRTTUS != 51 || f.Run.TCPInfo.Retransmits != 23 { // 2 µs is the other end's
		t.Errorf("%+v", f.Run.TCPInfo)
	}
	f = iperf3One(t, iperf3Sample(t, "udp-bidir.json"))
	if c := f.Run.Counts; c.Sent != 3570+3576 || *c.LostForward != 0 || *c.LostReverse != 0 || f.Summary.Jitter != nil {
		t.Errorf("%+v %v", c, f.Summary.Jitter)
	}
	f = iperf3One(t, iperf3Sample(t, "server-bidir.json"))
	if b := f.Summary.Bulk.Throughput; b.Direction != wire.DirectionBoth || *b.UpBPS != 50275892.035732374 || *b.DownRetransmits != 0 || b.UpRetransmits != nil {
		t.Errorf("%+v", b)
	}
}

func TestIperf3NaNAndOldUDP(t *testing.T) {
	f := iperf3One(t, iperf3Sample(t, "udp-3.1-nan.json"))
	if *f.Summary.Bulk.Throughput.UpBPS != 6e6 || f.Summary.Bulk.MovedBytes != 2e6 || *f.Summary.Jitter != 250_000 || f.Run.Counts.Lost != 500 {
		t.Errorf("%+v %+v", f.Summary.Bulk, f.Run.Counts)
	}
	text := strings.Replace(string(readSample(t, "testdata/iperf3/tcp.json")), "10013137199.383339,\n\t\t\t\"sender\":	true\n\t\t},\n\t\t\"cpu", "-nan,\n\t\t\t\"sender\":	true\n\t\t},\n\t\t\"cpu", 1)
	if !strings.Contains(text, "nan") {
		t.Fatal("not replaced")
	}
	if got := *iperf3One(t, mustConvert(t, iperf3, []byte(text))).Summary.Bulk.Throughput.UpBPS; math.Abs(got-2504654848*8/2.001095) > 1 {
		t.Errorf("%f bit/s", got)
	}
}

func TestIperf3Failures(t *testing.T) {
	for name, want := range map[string]wire.Failure{"refused.json": wire.FailureRefused, "busy.json": wire.FailureTargetBusy, "unreachable.json": wire.FailureUnreachable,
		"timeout.json": wire.FailureTimeout, "dns.json": wire.FailureDNS, "stream-refused.ndjson": wire.FailureRefused} {
		f := iperf3One(t, iperf3Sample(t, name))
		if f.Run.Failure != want || f.Run.Detail == "" || f.Summary.Bulk != nil || f.Run.Start != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for text, want := range map[string]wire.Failure{
		"unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: Connection refused": wire.FailureRefused,
		"unable to connect to server: No route to host":              wire.FailureUnreachable,
		"unable to connect to server: Name or service not known":     wire.FailureDNS,
		"test authorization failed":                                  wire.FailureUnauthorized,
		"interrupt - the client has terminated":                      wire.FailureCanceled,
		"control socket has closed unexpectedly":                     wire.FailureReset,
		"unable to send control message: Connection reset by peer":   wire.FailureReset,
		"unable to receive control message: Broken pipe":             wire.FailureReset,
		"idle timeout for receiving data":                            wire.FailureTimeout,
		"unable to receive parameters from client: Invalid argument": wire.FailureProtocol,
		"unable to create a new stream: Too many open files":         wire.FailureLocal,
		"number of parallel streams too large (maximum = 128)":       wire.FailureLocal,
	} {
		if got := iperf3Failure(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestIperf3NothingArrivedIsAFailureAndAllIsLost(t *testing.T) {
	text := string(readSample(t, "testdata/iperf3/udp.json"))
	at := strings.Index(text, `"sum_received"`)
	text = text[:at] + strings.NewReplacer(`"bytes":	12517376`, `"bytes":	0`, `"bits_per_second":	50058441.084520318`, `"bits_per_second":	0`, `"packets":	382`, `"packets":	0`).Replace(text[at:])
	f := iperf3One(t, mustConvert(t, iperf3, []byte(text)))
	if f.Run.Failure != wire.FailureTimeout || f.Run.Counts.Sent != 382 || f.Run.Counts.Lost != 382 || f.Summary.Bulk.Throughput.UpBPS != nil {
		t.Errorf("%+v %+v", f.Run, f.Summary.Bulk)
	}
}

// The intervals of the side that wrote a document add up to its own end. What the other side counted
// differs by what was under way: up to 0.1 % of a sample.
func TestIperf3IntervalsAddUpToTheEnd(t *testing.T) {
	compared := 0
	for _, name := range samples(t, "iperf3") {
		text, fault := jsontext.Parse(readSample(t, name), jsontext.Options{NaN: true, Trailing: true})
		root := text.Root()
		if fault != nil || root.Get("intervals").Len() == 0 || root.Get("end").Len() == 0 {
			continue
		}
		for _, suffix := range []string{"", "_bidir_reverse"} {
			bytes, seconds, own := 0.0, 0.0, "sum_received"
			from := ""
			for _, interval := range root.Get("intervals").Values() {
				sum := interval.Get("sum" + suffix)
				n, _ := iperf3Number(sum.Get("bytes"))
				s, _ := iperf3Number(sum.Get("seconds"))
				if sum.Get("omitted").True() || sum.Get("start").Text() == from {
					continue
				}
				from = sum.Get("start").Text()
				if bytes, seconds = bytes+n, seconds+s; sum.Get("sender").True() || !sum.Has("sender") {
					own = "sum_sent"
				}
			}
			end := root.Get("end", own+suffix)
			if end.Kind() == jsontext.Absent {
				end = root.Get("end", "sum"+suffix)
			}
			n, known := iperf3Number(end.Get("bytes"))
			s, timed := iperf3Number(end.Get("seconds"))
			if seconds == 0 || !known || !timed {
				continue
			}
			compared++
			if got, want := bytes*8/seconds, n*8/s; !within(got, want, 0.005) {
				t.Errorf("%s%s: the intervals come to %.0f bit/s, %s to %.0f", name, suffix, got, own, want)
			} else {
				t.Logf("%s%s: %+.4f %% of %s", filepath.Base(name), suffix, 100*(got/want-1), own)
			}
		}
	}
	if compared < 15 {
		t.Errorf("only %d sums were compared", compared)
	}
}

// No text that is cut off gives a wrong figure or none of the intervals that are whole.
func TestIperf3CutAnywhere(t *testing.T) {
	for _, name := range []string{"tcp-reverse-3streams.json", "tcp-omit-cubic.json", "stream-tcp.ndjson", "udp-bidir.json"} {
		text := readSample(t, filepath.Join("testdata", "iperf3", name))
		whole := iperf3One(t, mustConvert(t, iperf3, text)).Summary.Bulk.Throughput
		figures := 0
		for n := 0; n < len(text); n += 7 + n%11 {
			d, err := iperf3.Read(bytes.NewReader(text[:n]))
			if err != nil {
				if err.Error() == "" {
					t.Fatalf("%s, %d bytes: no reason", name, n)
				}
				continue
			}
			if d.LeftCount == 0 && n < len(text)-2 {
				t.Fatalf("%s, %d bytes: nothing is said of what is missing", name, n)
			}
			got := iperf3One(t, d).Summary.Bulk.Throughput
			figures++
			for _, f := range []struct{ got, want *float64 }{{got.UpBPS, whole.UpBPS}, {got.DownBPS, whole.DownBPS}} {
				if f.got != nil && (f.want == nil || !within(*f.got, *f.want, 0.2)) {
					t.Fatalf("%s, %d bytes: %f bit/s", name, n, *f.got)
				}
			}
		}
		if figures < len(text)/150 {
			t.Errorf("%s: only %d of %d cuts gave figures", name, figures, len(text))
		}
	}
}
