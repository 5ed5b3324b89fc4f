package foreign

import (
	"bytes"
	"testing"

	"isochrone/prober/wire"
)

func TestNDT7Samples(t *testing.T) { testSamples(t, ndt7) }

func FuzzNDT7(f *testing.F) {
	fuzz(f, ndt7, 7, `{"Key":"measurement","Value":{"Test":"upload","Origin":"server","TCPInfo":{"BytesReceived":1,"ElapsedTime":0,"BusyTime":1,"RWndLimited":2,"SndBufLimited":2}}}`,
		`{"ServerFQDN":"a","ServerIP":"b","ClientIP":"c","Download":{"Value":1e99,"Unit":"Mbit/s"}}`)
}

func ndt7Sample(t *testing.T, name string) *Document {
	t.Helper()
	return mustConvert(t, ndt7, readSample(t, "testdata/ndt7/"+name))
}

// The client's own count of an upload is what it handed to its system.
func TestNDT7RatesAreTheReceivers(t *testing.T) {
	b := ndt7Sample(t, "both.jsonl").Findings[0].Summary.Bulk
	if !within(*b.Throughput.DownBPS, 57303040*8/10.001543, 1e-12) || !within(*b.Throughput.UpBPS, 51048576*8/10.005112, 1e-12) || b.MovedBytes != 57303040+51048576 || b.Throughput.Direction != wire.DirectionBoth {
		t.Errorf("%v down, %v up: %+v", *b.Throughput.DownBPS, *b.Throughput.UpBPS, b)
	}
	text := readSample(t, "testdata/ndt7/both.jsonl")
	var kept [][]byte
	for _, line := range bytes.Split(text, []byte("\n")) {
		if !bytes.Contains(line, []byte(`"Test":"upload","TCPInfo"`)) && !bytes.Contains(line, []byte("ServerFQDN")) {
			kept = append(kept, line)
		}
	}
	if b := mustConvert(t, ndt7, bytes.Join(kept, []byte("\n"))).Findings[0].Summary.Bulk.Throughput; b.UpBPS != nil || b.Direction != wire.DirectionDown {
		t.Errorf("without the server's word: %+v", b)
	}
}

func TestNDT7KernelsFigures(t *testing.T) {
	f := ndt7Sample(t, "both.jsonl").Findings[0]
	want := wire.TCPInfo{RTTUS: 121633, MinRTTUS: 35762, RTTVarUS: 66897, Retransmits: 12, DeliveryRateBPS: 60684 * 8, MSSBytes: 1238, CongestionWindow: 17}
	if *f.Run.TCPInfo != want || *f.Summary.Min != 35_762_000 || *f.Summary.Bulk.Throughput.DownRetransmits != 12 || *f.Summary.Bulk.Throughput.DownWindowLimited != 0.25 || f.Summary.Bulk.Throughput.WindowLimited != "" {
		t.Errorf("%+v, %+v", f.Run.TCPInfo, f.Summary)
	}
	text := bytes.ReplaceAll(readSample(t, "testdata/ndt7/both.jsonl"), []byte(`"SndMSS"`), []byte(`"Else"`))
	if f := mustConvert(t, ndt7, text).Findings[0]; f.Run.TCPInfo != nil || *f.Summary.Min != 35_762_000 {
		t.Errorf("of an old kernel: %+v", f.Run.TCPInfo)
	}
}

// The number in a UUID is when the server was started.
func TestNDT7DoesNotSayWhen(t *testing.T) {
	if r := ndt7Sample(t, "both.jsonl").Findings[0].Run; r.Start != nil || r.End != nil {
		t.Errorf("from %v to %v", r.Start, r.End)
	}
}

func TestNDT7SummaryAlone(t *testing.T) {
	f := ndt7Sample(t, "quiet.json").Findings[0]
	if b := f.Summary.Bulk.Throughput; !within(*b.DownBPS, 45480103.189614, 1e-12) || !within(*b.UpBPS, 40831127.8141806, 1e-12) || *f.Summary.Min != 5_949_000 {
		t.Errorf("%+v", f.Summary)
	}
}

func TestNDT7WithoutAUnitWasNotMeasured(t *testing.T) {
	f := ndt7Sample(t, "old.jsonl").Findings[0]
	if b := f.Summary.Bulk.Throughput; b.DownBPS != nil || *b.UpBPS != 20.5e6 || b.Direction != wire.DirectionUp || f.Run.Failure != "" || f.Run.Detail != "download: no targets available" {
		t.Errorf("%+v, %+v", f, b)
	}
}

func TestNDT7Failures(t *testing.T) {
	f := ndt7Sample(t, "failed.jsonl").Findings[0]
	if f.Run.Failure != wire.FailureRefused || f.Summary.Bulk != nil || f.To != "ndt-mlab1.example.net" {
		t.Errorf("%+v", f)
	}
}

func TestNDT7RunsBehindEachOther(t *testing.T) {
	one := readSample(t, "testdata/ndt7/both.jsonl")
	if d := mustConvert(t, ndt7, append(bytes.Clone(one), one...)); len(d.Findings) != 2 || d.LeftCount != 0 {
		t.Errorf("%d findings, %v", len(d.Findings), d.Left)
	}
	cut := readSample(t, "testdata/ndt7/cut.jsonl")
	cut = cut[:bytes.LastIndexByte(cut, '\n')+1]
	d := mustConvert(t, ndt7, append(cut, one...)) // begun again after a crash
	if len(d.Findings) != 2 || d.LeftCount != 1 || d.Findings[0].Summary.Bulk.Throughput.UpBPS != nil || d.Findings[1].Summary.Bulk.Throughput.UpBPS == nil {
		t.Errorf("%d findings, %v", len(d.Findings), d.Left)
	}
}
