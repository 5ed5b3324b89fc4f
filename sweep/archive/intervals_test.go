package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// bulkResults are a throughput run in both directions, a stream and a saturate run, with n intervals
// each, and one that moved nothing.
func bulkResults(env string, n int) []result.Result {
	start := slot0.Add(30*time.Second + 1234567*time.Nanosecond)
	of := func(target string, kind wire.Kind, b *wire.BulkResult) result.Result {
		return result.Result{Series: wire.Series{Environment: env, Source: "westeurope", Target: target, Path: "public", Probe: "bulk"}, Slot: slot0,
			Run: wire.Run{Target: target, Path: "public", Kind: kind, PlannedStart: slot0, Start: &start, Bulk: b}}
	}
	intervals := func(more int64) (v wire.Intervals) {
		for i := range int64(n) {
			v.AtNS, v.ForNS = append(v.AtNS, i*100_000_000), append(v.ForNS, 100_000_000)
			v.Bytes, v.Retransmits, v.CongestionWindow = append(v.Bytes, 1_000_000*more+i), append(v.Retransmits, i*more), append(v.CongestionWindow, 14_480+i)
			rtt := 80_000_000 + i
			if i%2 == 1 {
				rtt = wire.Null
			}
			v.RTTNS, v.DeliveryRateBPS = append(v.RTTNS, rtt), append(v.DeliveryRateBPS, rtt)
		}
		return v
	}
	messages := wire.Intervals{AtNS: intervals(1).AtNS, ForNS: intervals(1).ForNS}
	for i := range int64(n) {
		messages.Sent, messages.Received, messages.Backlog = append(messages.Sent, 200), append(messages.Received, 59), append(messages.Backlog, 141*(i+1))
	}
	var levels []wire.Level
	for i := range min(n, 5) {
		bands := make([]int, len(wire.BandEndsMS())+1)
		for j := range bands {
			bands[j] = i + j
		}
		levels = append(levels, wire.Level{Outstanding: 1 << i, Requests: 12*i + 66, Bytes: int64(i+1) * 62_780, CountedNS: 5e9, MinNS: 1e6, MeanNS: 2e6, P50NS: 2e6, P99NS: int64(i+3) * 1e6, MaxNS: 9e9, Bands: bands})
	}
	return []result.Result{
		of("eastus", wire.KindThroughput, &wire.BulkResult{Flows: []wire.Flow{{Direction: wire.DirectionUp, Intervals: intervals(2)}, {Direction: wire.DirectionDown, Intervals: intervals(3)}}}),
		of("brazilsouth", wire.KindStream, &wire.BulkResult{Stream: &wire.StreamResult{Intervals: messages}}),
		of("northeurope", wire.KindSaturate, &wire.BulkResult{Levels: levels}),
		of("southeastasia", wire.KindThroughput, nil),
	}
}

func TestIntervalsReadBackAsTheyWereMeasured(t *testing.T) {
	s, ctx := newStore(t), background(t)
	rs, id := bulkResults(s.environment, 20), idOf(s.environment, "westeurope")
	name, n, err := s.PutIntervals(ctx, "westeurope", slot0, id, rs)
	must(t, err)
	if want := s.rawContainer() + "/intervals/v=1/src=westeurope/date=2026-11-30/1020_" + id + ".parquet"; name != want || n != 65 {
		t.Errorf("%q with %d rows, want %q with 65", name, n, want)
	}
	headers(t, s, name, "application/vnd.apache.parquet")
	if again, n, err := s.PutIntervals(ctx, "westeurope", slot0, id, bulkResults(s.environment, 19)); err != nil || again != name || n != 62 {
		t.Errorf("the second time: %q, %d, %v", again, n, err)
	}
	rows, found, err := s.ReadIntervals(ctx, name)
	if err != nil || !found || len(rows) != 65 { // the first stays
		t.Fatalf("%d rows, %v, %v", len(rows), found, err)
	}
	if n, err := s.Count(ctx, Intervals, slot0); err != nil || n != 1 {
		t.Errorf("%d files of intervals, %v", n, err)
	}
	start := *rs[0].Run.Start
	n64 := func(v int64) *int64 { return &v }
	down := "down"
	want := Interval{Target: "eastus", Path: "public", Time: start.Add(100 * time.Millisecond).Truncate(time.Microsecond), Probe: "bulk", Slot: slot0, Kind: "throughput", Direction: &down,
		Seq: 1, AtNS: 100_000_000, ForNS: 100_000_000, Bytes: n64(3_000_001), CongestionWindow: n64(14_481), Retransmits: n64(3)}
	if d := cmp.Diff(want, rows[20+2]); d != "" { // behind brazilsouth; down before up
		t.Errorf("an interval (-want +got):\n%s", d)
	}
	level := Interval{Target: "northeurope", Path: "public", Time: start.Add(5 * time.Second).Truncate(time.Microsecond), Probe: "bulk", Slot: slot0, Kind: "saturate",
		Seq: 1, AtNS: 5e9, ForNS: 5e9, Bytes: n64(125_560), Outstanding: n64(2), Requests: n64(78), MinNS: n64(1e6), MeanNS: n64(2e6), P50NS: n64(2e6), P99NS: n64(4e6), MaxNS: n64(9e9)}
	for i, at := range level.bands() {
		*at = n64(int64(1 + i))
	}
	if d := cmp.Diff(level, rows[61]); d != "" {
		t.Errorf("a level (-want +got):\n%s", d)
	}
	if m := rows[0]; m.Target != "brazilsouth" || *m.Sent != 200 || *m.Received != 59 || *m.Backlog != 141 || m.Bytes != nil || m.Direction != nil {
		t.Errorf("of a stream: %+v", m)
	}
}

func TestWithoutIntervalsThereIsNoBlob(t *testing.T) {
	s, ctx := newStore(t), background(t)
	name, n, err := s.PutIntervals(ctx, "westeurope", slot0, idOf(s.environment, "westeurope"), results(s.environment, 5))
	if err != nil || name != "" || n != 0 {
		t.Errorf("%q, %d, %v", name, n, err)
	}
	if n, err := s.Count(ctx, Intervals, slot0); err != nil || n != 0 {
		t.Errorf("%d files of intervals, %v", n, err)
	}
	if _, _, err := s.PutIntervals(ctx, "eastus", slot0, idOf(s.environment, "eastus"), bulkResults(s.environment, 5)); !errors.Is(err, ErrRefused) {
		t.Errorf("another source's: %v", err)
	}
}

func TestTheSameIntervalsGiveTheSameBytes(t *testing.T) {
	rs := bulkResults("test", 300)
	first, _, err := EncodeIntervals(rs)
	must(t, err)
	slices.Reverse(rs)
	if again, _, err := EncodeIntervals(rs); err != nil || !bytes.Equal(first, again) {
		t.Errorf("another order gives other bytes, %v", err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(first), int64(len(first)))
	must(t, err)
	if v, _ := file.Lookup(MetaIntervalsVersion); v != "1" || file.Metadata().CreatedBy != "isochrone version 1(build intervals)" {
		t.Errorf("schema version %q, created by %q", v, file.Metadata().CreatedBy)
	}
	golden(t, "testdata/intervals-schema.txt", file.Schema().String()+"\n")
	rs[0].Run.Bulk = &wire.BulkResult{Stream: &wire.StreamResult{Intervals: wire.Intervals{AtNS: wire.Column{1, 2}, ForNS: wire.Column{1}}}}
	if _, _, err := EncodeIntervals(rs); !errors.Is(err, ErrRefused) {
		t.Errorf("columns of different lengths: %v", err)
	}
}

func TestDuckDBReadsTheSameIntervals(t *testing.T) {
	rs := bulkResults("test", 5_000)
	body, n, err := EncodeIntervals(rs)
	must(t, err)
	rows, err := DecodeIntervals(body)
	must(t, err)
	root, err := azuritetest.Root()
	must(t, err)
	file := filepath.Join(t.TempDir(), "intervals.parquet")
	must(t, os.WriteFile(file, body, 0o600))
	out, err := exec.CommandContext(background(t), "node", "testdata/intervals.js", filepath.Join(root, "infra/local/node_modules"), file).Output()
	if err != nil {
		t.Fatalf("asking DuckDB: %v", err)
	}
	var got struct {
		Types  []struct{ Name, Type string }
		Sums   map[string]*string
		Times  struct{ Rows, First, Last string }
		Groups []struct {
			Direction *string
			Rows      string
		}
		Codecs []struct{ Compression string }
	}
	must(t, json.Unmarshal(out, &got))
	sums := map[string]int64{}
	add := func(name string, v *int64) {
		if v != nil {
			sums[name] += *v
		}
	}
	for i := range rows {
		r := &rows[i]
		for name, v := range map[string]*int64{"seq": &r.Seq, "at_ns": &r.AtNS, "for_ns": &r.ForNS, "bytes": r.Bytes, "rtt_ns": r.RTTNS, "congestion_window_bytes": r.CongestionWindow,
			"retransmits": r.Retransmits, "delivery_rate_bps": r.DeliveryRateBPS, "sent": r.Sent, "received": r.Received, "backlog": r.Backlog, "outstanding": r.Outstanding,
			"requests": r.Requests, "min_ns": r.MinNS, "mean_ns": r.MeanNS, "p50_ns": r.P50NS, "p99_ns": r.P99NS, "max_ns": r.MaxNS, "from_2000_ms": r.Over} {
			add(name, v)
		}
		for j, end := range wire.BandEndsMS() {
			add(fmt.Sprintf("under_%d_ms", end), *r.bands()[j])
		}
	}
	if len(got.Sums) != len(sums) {
		t.Errorf("DuckDB has %d whole numbers, we %d", len(got.Sums), len(sums))
	}
	for name, want := range sums {
		if v := got.Sums[name]; v == nil || *v != fmt.Sprint(want) {
			t.Errorf("%s: DuckDB's sum is %v, ours %d", name, v, want)
		}
	}
	start := *rs[0].Run.Start
	if got.Times.Rows != fmt.Sprint(n) || got.Times.First != fmt.Sprint(start.UnixMicro()) || got.Times.Last != fmt.Sprint(start.Add(4_999*100*time.Millisecond).UnixMicro()) {
		t.Errorf("times %+v of %d rows", got.Times, n)
	}
	if got.Types[2].Name != "time" || got.Types[2].Type != "TIMESTAMP WITH TIME ZONE" || got.Types[4].Type != "TIMESTAMP WITH TIME ZONE" {
		t.Errorf("types %+v", got.Types)
	}
	if len(got.Groups) != 3 || got.Groups[0].Rows != "5000" || *got.Groups[1].Direction != "up" || got.Groups[2].Rows != "5005" {
		t.Errorf("directions %+v", got.Groups)
	}
	if len(got.Codecs) != 1 || got.Codecs[0].Compression != "ZSTD" {
		t.Errorf("packed with %+v", got.Codecs)
	}
}

// intervalSeeds are a file, what is nearly that, and a file of samples.
func intervalSeeds(t testing.TB) [][]byte {
	t.Helper()
	body, _, err := EncodeIntervals(bulkResults("test", 20))
	must(t, err)
	samples, _ := encode(t, results("test", 5))
	return append(damaged(body, 200), samples)
}

// A damaged file, whatever it says of itself, is an error or is read, and never more.
func FuzzDecodeIntervals(f *testing.F) {
	for _, b := range intervalSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if rows, err := DecodeIntervals(b); err != nil && rows != nil {
			t.Errorf("%d rows and %v", len(rows), err)
		}
	})
}
