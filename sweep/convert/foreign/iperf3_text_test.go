package foreign

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestIperf3SeveralDocumentsAndTextBehindThem(t *testing.T) {
	d := iperf3Sample(t, "two-documents-text-behind.json")
	if len(d.Findings) != 2 || d.LeftCount != 0 || d.Findings[0].Variant != "" || d.Findings[1].Variant != "udp" {
		t.Errorf("%d findings, left %v", len(d.Findings), d.Left)
	}
	a, b := readSample(t, "testdata/iperf3/tcp.json"), readSample(t, "testdata/iperf3/udp.json")
	d = mustConvert(t, iperf3, []byte("[\n"+string(a)+",\n"+string(b)+"]\n"))
	if len(d.Findings) != 2 || d.LeftCount != 0 {
		t.Errorf("in an array: %d findings, left %v", len(d.Findings), d.Left)
	}
}

func TestIperf3ADocumentThatBeginsInsideOneThatWasCut(t *testing.T) {
	d := iperf3Sample(t, "cut-then-whole.json")
	if len(d.Findings) != 2 || !hasLeft(d, "another document begins inside it") {
		t.Fatalf("%d findings, left %v", len(d.Findings), d.Left)
	}
	if got := *d.Findings[0].Summary.Bulk.Throughput.DownBPS; !within(got, 14110545086.923382, 1e-9) { // its one whole interval
		t.Errorf("%f bit/s", got)
	}
	if got := *d.Findings[1].Summary.Bulk.Throughput.UpBPS; got != 10013137199.383339 {
		t.Errorf("%f bit/s", got)
	}
}

func TestIperf3AStreamWithItsFullOutputIsOneRun(t *testing.T) {
	if d := iperf3Sample(t, "stream-full-output.ndjson"); len(d.Findings) != 1 || d.LeftCount != 0 {
		t.Errorf("%d findings, left %v", len(d.Findings), d.Left)
	}
}

func TestIperf3TheStreamIsTheDocument(t *testing.T) {
	stream, document := iperf3One(t, iperf3Sample(t, "stream-tcp.ndjson")), iperf3One(t, iperf3Sample(t, "tcp.json"))
	if a, b := described(t, &Document{Findings: []Finding{*stream}}, nil), described(t, &Document{Findings: []Finding{*document}}, nil); string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
}

func TestIperf3AnInterruptedRunIsPartlyMeasured(t *testing.T) {
	d := iperf3Sample(t, "tcp-interrupted.json") // its sum_received is 0: it was never told
	f := iperf3One(t, d)
	if f.Run.Failure != "" || *f.Summary.Bulk.Throughput.UpBPS != 100195557.28169106 || !hasLeft(d, "it ended early: interrupt - the client has terminated") || !hasLeft(d, "what was sent") {
		t.Errorf("%+v, left %v", f.Summary.Bulk, d.Left)
	}
	d = iperf3Sample(t, "tcp-reverse-interrupted.json")
	if f := iperf3One(t, d); *f.Summary.Bulk.Throughput.DownBPS != 100336836.49402934 || hasLeft(d, "what was sent") {
		t.Errorf("%+v, left %v", f.Summary.Bulk, d.Left)
	}
}

// When the server goes away, the client writes its last interval twice and an empty end.
func TestIperf3AnIntervalThatIsWrittenTwiceCountsOnce(t *testing.T) {
	d := iperf3Sample(t, "tcp-server-killed.json")
	f := iperf3One(t, d)
	if f.Summary.Bulk.MovedBytes != 12582912+12451840 || !hasLeft(d, "of 2 whole intervals, as the sender counted") {
		t.Errorf("%+v, left %v", f.Summary.Bulk, d.Left)
	}
}

func TestIperf3ABrokenIntervalIsLeftOut(t *testing.T) {
	text := string(readSample(t, "testdata/iperf3/tcp-reverse-3streams.json"))
	d := mustConvert(t, iperf3, []byte(strings.Replace(text, `"bytes":	593231872`, `"bytes":	5932x1872`, 1)))
	f := iperf3One(t, d)
	if *f.Summary.Bulk.Throughput.DownBPS != 17156027461.601807 || d.LeftCount != 1 || d.Left[0].Line != 63 || d.Left[0].Where != "intervals" {
		t.Errorf("%+v, left %+v", f.Summary.Bulk, d.Left)
	}
}

func TestIperf3OurNamesTravelInExtraData(t *testing.T) {
	f := iperf3One(t, iperf3Sample(t, "tcp-bidir-2streams-omit.json"))
	if f.Source != "vm-a" || f.Target != "vm-b" || f.Path != "public" || f.Probe != "nightly" {
		t.Errorf("%q %q %q %q", f.Source, f.Target, f.Path, f.Probe)
	}
	for _, c := range []struct{ text, source, path, fault string }{
		{"isochrone:source=a", "a", "", ""},
		{"isochrone: source = a , path=vpn", "a", "vpn", ""},
		{"run-7f3a", "", "", ""},
		{"isochrone:source=A B", "", "", "want a lower-case letter"},
		{"isochrone:source=a,color=red", "", "", "is none of source="},
		{"isochrone:", "", "", "is none of source="},
	} {
		named, fault := iperf3Names("", c.text)
		if named.source != c.source || named.path != c.path || (fault == nil) != (c.fault == "") || fault != nil && !strings.Contains(fault.Reason, c.fault) {
			t.Errorf("%q: %+v %v", c.text, named, fault)
		}
	}
}

func TestIperf3MillisecondsWhereTheyAreTold(t *testing.T) {
	text := strings.Replace(string(readSample(t, "testdata/iperf3/tcp.json")), `"timesecs":	1796031268`, `"timesecs":	1796031268, "timemillisecs": 1796031268430`, 1)
	if got := iperf3One(t, mustConvert(t, iperf3, []byte(text))).Run.Start; !got.Equal(time.UnixMilli(1796031268430)) {
		t.Errorf("began %s", got)
	}
	text = strings.Replace(text, "1796031268430", "-5e300", 1)
	text = strings.Replace(text, `"timesecs":	1796031268`, `"timesecs":	0`, 1)
	d := mustConvert(t, iperf3, []byte(text))
	if iperf3One(t, d).Run.Start != nil || !hasLeft(d, "lies outside the years") {
		t.Errorf("left %v", d.Left)
	}
}

func TestIperf3IsNotWhatOthersWrite(t *testing.T) {
	for _, text := range []string{
		`{"start":{"version":"iperf 2.1","connected":[]}}`, `{"start":{"version":"iperf 3.1"}}`, `{"event":"error","data":"x"}`, `{"event":"start","data":{}}`,
		`{"event":"interval","data":{"streams":1}}`, `{"event":"end","data":{}}`, `{"intervals":[],"end":{}}`,
	} {
		if f := Recognise([]byte(text)); f != nil {
			t.Errorf("%s is recognised as %s", text, f.Name)
		}
	}
	if f := Recognise(readSample(t, "testdata/iperf3/tcp.json")[:1500]); f != iperf3 {
		t.Errorf("a head that is cut is %v", f)
	}
}

// A run of any length takes no more memory than a short one.
func TestIperf3ReadsInConstantMemory(t *testing.T) {
	const intervals = 30_000
	for _, stream := range []bool{false, true} {
		in, out := io.Pipe()
		go writeIperf3(out, intervals, stream)
		peak := &peakReader{in: in}
		d, err := iperf3.Read(peak)
		if err != nil {
			t.Fatal(err)
		}
		f := iperf3One(t, d)
		if got := *f.Summary.Bulk.Throughput.DownBPS; f.Run.Failure != "" || got != 8e6 || f.Summary.Bulk.MovedBytes != intervals*1e6 {
			t.Errorf("%f bit/s, %+v", got, f.Summary.Bulk)
		}
		if peak.bytes < 4<<20 || peak.heap > 3<<20 {
			t.Errorf("a text of %d bytes took %d of memory", peak.bytes, peak.heap)
		}
	}
}

// peakReader looks now and then how much memory is in use beyond that at its first read.
type peakReader struct {
	in              io.Reader
	bytes           int
	next            int
	from, heap, now uint64
}

func (r *peakReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	if r.bytes += n; r.bytes >= r.next {
		r.next += 1 << 20
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if r.from == 0 {
			r.from = m.HeapAlloc
		}
		if r.now = m.HeapAlloc; r.now > r.from {
			r.heap = max(r.heap, r.now-r.from)
		}
	}
	return n, err
}

func writeIperf3(out *io.PipeWriter, intervals int, stream bool) {
	start := `{"connected":[],"version":"iperf 3.18","connecting_to":{"host":"b","port":5201},"timestamp":{"timesecs":1796031268},"test_start":{"protocol":"TCP","num_streams":1,"reverse":1,"omit":0}}`
	end := `{"sum_received":{"bytes":%d,"seconds":%d,"bits_per_second":8000000}}`
	interval := `{"streams":[{"socket":5,"start":%[1]d,"end":%[2]d,"seconds":1,"bytes":1000000}],"sum":{"start":%[1]d,"end":%[2]d,"seconds":1,"bytes":1000000,"omitted":false,"sender":false}}`
	line := interval + ",\n"
	if stream {
		fmt.Fprintf(out, `{"event":"start","data":%s}`+"\n", start)
		line = `{"event":"interval","data":` + interval + "}\n"
	} else {
		fmt.Fprintf(out, `{"start":%s,"intervals":[`, start)
	}
	for i := range intervals {
		fmt.Fprintf(out, line, i, i+1)
	}
	if stream {
		fmt.Fprintf(out, `{"event":"end","data":`+end+"}\n", intervals*1_000_000, intervals)
	} else {
		fmt.Fprintf(out, `],"end":`+end+"}\n", intervals*1_000_000, intervals)
	}
	out.Close()
}

// A stream whose beginning is missing does not say which way the payload went.
func TestIperf3WithoutAStartThereIsNoDirection(t *testing.T) {
	text := string(readSample(t, "testdata/iperf3/stream-tcp.ndjson"))
	_, err := convert(t, iperf3, []byte(text[strings.Index(text, "\n")+1:]))
	if err == nil || !strings.Contains(err.Error(), "which way the payload went is not known") {
		t.Errorf("%v", err)
	}
}

// BenchmarkIperf3 reads a document of 10,000 intervals.
func BenchmarkIperf3(b *testing.B) {
	in, out := io.Pipe()
	go writeIperf3(out, 10_000, false)
	text, err := io.ReadAll(in)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := iperf3.Read(strings.NewReader(string(text))); err != nil {
			b.Fatal(err)
		}
	}
}
