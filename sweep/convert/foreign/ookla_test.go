package foreign

import (
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestOoklaSamples(t *testing.T) { testSamples(t, ookla) }

func FuzzOokla(f *testing.F) {
	fuzz(f, ookla, 10, `{"type":"result","timestamp":"2026-01-01T00:00:00Z","download":{"bandwidth":0,"bytes":0}}`, `[{"type":"result","timestamp":"2026-01-01T00:00:00Z","ping":{}},{`,
		`{"type":"log","timestamp":"2026-01-01T00:00:00Z","message":"","level":"error"}`, "{\n{\n{")
}

func ooklaSample(t *testing.T, name string) *Document {
	t.Helper()
	return mustConvert(t, ookla, readSample(t, "testdata/ookla/"+name))
}

func TestOoklaBandwidthIsBytesASecond(t *testing.T) {
	f := ooklaSample(t, "pretty.json").Findings[0]
	b := f.Summary.Bulk
	if *b.Throughput.DownBPS != 18682105*8 || *b.Throughput.UpBPS != 3518010*8 || b.Throughput.Direction != wire.DirectionBoth || b.MovedBytes != 154205280+15134400 {
		t.Errorf("%v down, %v up, %s, %d bytes", *b.Throughput.DownBPS, *b.Throughput.UpBPS, b.Throughput.Direction, b.MovedBytes)
	}
	if s := f.Summary; *s.Min != 17.834e6 || *s.Mean != 17.973e6 || *s.Max != 18.112e6 || !within(*s.Jitter, 0.102e6, 1e-12) {
		t.Errorf("round trips: %+v", s)
	}
}

func TestOoklaStampsItsResultAtTheEnd(t *testing.T) {
	r := ooklaSample(t, "pretty.json").Findings[0].Run
	end := time.Date(2023, 6, 5, 20, 49, 27, 0, time.UTC)
	if !r.End.Equal(end) || !r.Start.Equal(end.Add(-8314*time.Millisecond-4300*time.Millisecond)) {
		t.Errorf("from %v to %v", r.Start, r.End)
	}
	if r := ooklaSample(t, "progress.jsonl").Findings[0].Run; !r.Start.Equal(time.Date(2026, 9, 17, 8, 0, 0, 0, time.UTC)) { // there it says
		t.Errorf("begun at %v", r.Start)
	}
}

func TestOoklaPacketLossMayBeMissingAndIsPercent(t *testing.T) {
	d := ooklaSample(t, "history.jsonl")
	if len(d.Findings) != 2 || *d.Findings[0].Summary.LossRatio != 0 || d.Findings[1].Summary.LossRatio != nil {
		t.Errorf("%d results, %v %v", len(d.Findings), d.Findings[0].Summary.LossRatio, d.Findings[1].Summary.LossRatio)
	}
	if loss := *ooklaSample(t, "progress.jsonl").Findings[0].Summary.LossRatio; !within(loss, 1./63, 1e-9) {
		t.Errorf("1 of 63 is %v", loss)
	}
}

func TestOoklaProgressIsNoResult(t *testing.T) {
	b := ooklaSample(t, "progress.jsonl").Findings[0].Summary.Bulk.Throughput
	if *b.DownBPS != 11644000*8 || *b.UpBPS != 3601000*8 {
		t.Errorf("%v down, %v up", *b.DownBPS, *b.UpBPS)
	}
	d := ooklaSample(t, "cut.jsonl")
	if b := d.Findings[0].Summary.Bulk.Throughput; *b.DownBPS != 11644000*8 || b.UpBPS != nil || b.Direction != wire.DirectionDown || d.LeftCount == 0 {
		t.Errorf("the download was done and the upload was not: %+v, %v", b, d.Left)
	}
	if d, err := convert(t, ookla, []byte(`{"type":"testStart","timestamp":"2026-01-01T00:00:00Z","isp":"a"}`+"\n"+`{"type":"download","timestamp":"2026-01-01T00:00:00Z","download":{"bandwidth":5,"bytes":5,"elapsed":7,"progress":0.25}}`)); err == nil {
		t.Errorf("nothing was done: %+v", d.Findings)
	}
}

func TestOoklaFailureBehindItsLogLines(t *testing.T) {
	d := ooklaSample(t, "failed.txt")
	if f := d.Findings[0]; f.Run.Failure != wire.FailureUnreachable || !strings.Contains(f.Run.Detail, "Could not retrieve") || f.Summary.Bulk != nil || d.LeftCount != 0 {
		t.Errorf("%+v, %v", f, d.Left)
	}
}

// A direction in which nothing was moved was not measured at 0 bit/s.
func TestOoklaZeroIsUnknown(t *testing.T) {
	d := mustConvert(t, ookla, []byte(`{"type":"result","timestamp":"2026-01-01T00:00:00Z","ping":{"latency":3},"download":{"bandwidth":125,"bytes":1},"upload":{"bandwidth":0,"bytes":0}}`))
	if b := d.Findings[0].Summary.Bulk.Throughput; b.UpBPS != nil || *b.DownBPS != 1000 {
		t.Errorf("%+v", b)
	}
	d = mustConvert(t, ookla, []byte(`{"type":"result","timestamp":"2026-01-01T00:00:00Z","ping":{"latency":3},"download":{"bandwidth":0}}`))
	if f := d.Findings[0]; f.Run.Failure == "" || f.Summary.Bulk != nil || f.Summary.Mean != nil {
		t.Errorf("%+v", f)
	}
}

func TestOoklaFigureThatCannotBe(t *testing.T) {
	d := mustConvert(t, ookla, []byte(`{"type":"result","timestamp":"2026-01-01T00:00:00Z","ping":{"latency":-3,"jitter":1},"download":{"bandwidth":125},"upload":{"bandwidth":-5}}`))
	f := d.Findings[0]
	if f.Summary.Mean != nil || *f.Summary.Jitter != 1e6 || f.Summary.Bulk.Throughput.UpBPS != nil || d.LeftCount != 2 {
		t.Errorf("%+v, %v", f.Summary, d.Left)
	}
}

func TestOoklaResultsInAList(t *testing.T) {
	d := mustConvert(t, ookla, []byte("[\n{\"type\":\"result\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"download\":{\"bandwidth\":1}},\n{\"type\":\"result\",\"timestamp\":\"2026-01-01T01:00:00Z\",\"upload\":{\"bandwidth\":2}}\n]\n"))
	if len(d.Findings) != 2 || *d.Findings[1].Summary.Bulk.Throughput.UpBPS != 16 || d.Findings[1].Explained[0].Where != "line 3, upload.bandwidth" {
		t.Errorf("%+v", d.Findings)
	}
}
