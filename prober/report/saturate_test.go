package report

import (
	"encoding/json"
	"encoding/xml"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"isochrone/prober/wire"
)

var (
	bulkBegan = time.Date(2026, 11, 30, 10, 20, 0, 123456789, time.UTC)
	bulkEnded = bulkBegan.Add(20 * time.Second)
)

// saturated is a run of three levels, of which the last has its p99 doubled.
func saturated() Input {
	level := func(outstanding, requests int, p50 int64, bands ...int) wire.Level {
		l := wire.Level{
			Outstanding: outstanding, Requests: requests, Bytes: int64(requests) * 62780, CountedNS: 5e9,
			MinNS: p50 / 2, MeanNS: p50 + 1000, P50NS: p50, P99NS: p50 * 2, MaxNS: p50 * 3, Bands: append(bands, make([]int, 12-len(bands))...),
		}
		l.BPS = float64(l.Bytes) * 8 / 5
		return l
	}
	return Input{
		Target: "weu.example.com",
		Spec: wire.Spec{
			Kind: wire.KindSaturate, RequestBytes: 62780, Timeout: 10 * time.Second,
			Bulk: wire.Bulk{MaxBytes: 20e9, Duration: 5 * time.Second, ReadPercent: 30, Outstanding: 32},
		},
		Run: wire.Run{
			Kind: wire.KindSaturate, Address: "192.0.2.4:7700", Start: &bulkBegan, End: &bulkEnded, Detail: "a text \x1b[31mfor people",
			Counts: wire.Counts{Sent: 12_010, Received: 12_003, Lost: 7},
			Bulk: &wire.BulkResult{
				Bytes: 12_003 * 62780, BudgetReached: true,
				Levels: []wire.Level{level(1, 900, 900_000, 500, 400), level(2, 5_000, 1_000_000, 0, 4_000, 1_000), level(4, 6_100, 2_345_678, 0, 100, 5_999, 0, 0, 0, 0, 0, 0, 0, 0, 1)},
			},
		},
		Provenance: wire.Provenance{ProberVersion: "1.2.3", CPUStealRatio: ptr(0.0123)},
	}
}

// streamed is a stream of 5,000 messages into a sink that takes them more slowly.
func streamed() Input {
	s := &wire.StreamResult{
		SourceRate: 2000.25, ReceiverRate: 591.5, Messages: 5000, DelayP50NS: 2_980_193_000, DelayP99NS: 5_900_360_000, DelayLastNS: 5_959_711_000,
		DelayBoundNS: 7_108, PredictedLastNS: 5_953_400_000, MaxBacklog: 3523,
	}
	for i := range int64(85) {
		taken := min((i+1)*59, 5000)
		s.Intervals.AtNS = append(s.Intervals.AtNS, i*1e8)
		s.Intervals.ForNS = append(s.Intervals.ForNS, 1e8)
		s.Intervals.Sent = append(s.Intervals.Sent, max(min(5000-i*200, 200), 0))
		s.Intervals.Received = append(s.Intervals.Received, taken-min(i*59, 5000))
		s.Intervals.Backlog = append(s.Intervals.Backlog, max(min((i+1)*200, 5000)-taken, 0))
	}
	return Input{
		Target: "weu.example.com:7700",
		Spec: wire.Spec{
			Kind: wire.KindStream, RequestBytes: 1024, Timeout: 10 * time.Second,
			Bulk: wire.Bulk{MaxBytes: 1e9, Messages: 5000, MessageRate: 2000, Batch: 10, SinkRate: 591},
		},
		Run: wire.Run{
			Kind: wire.KindStream, Address: "192.0.2.4:7700", Start: &bulkBegan, End: &bulkEnded,
			Counts: wire.Counts{Sent: 5000, Received: 5000}, Bulk: &wire.BulkResult{Bytes: 5000 * 1024, Stream: s},
		},
		Provenance: wire.Provenance{ProberVersion: "1.2.3"},
	}
}

// ended takes a run's result away.
func ended(in Input, f wire.Failure) Input {
	in.Run.Bulk, in.Run.Counts, in.Run.Failure, in.Run.Start, in.Run.End = nil, wire.Counts{}, f, nil, nil
	in.Run.Detail = "the target refused: ask later"
	return in
}

// little is a stream that was stopped, whose target gave no account.
func little() Input {
	in := streamed()
	in.Interrupted = true
	in.Spec.Bulk.SinkRate = 0
	in.Run.Counts, in.Run.Bulk.Bytes = wire.Counts{Sent: 15, Received: 12, Lost: 3}, 12*1024
	in.Run.Bulk.Stream = &wire.StreamResult{Messages: 12, SourceRate: 100, Intervals: wire.Intervals{AtNS: wire.Column{0}, ForNS: wire.Column{1e8}, Sent: wire.Column{15}}}
	return in
}

// few is a stream of too few messages for percentiles.
func fewMessages() Input {
	in := streamed()
	in.Run.Counts = wire.Counts{Sent: 25, Received: 25}
	return in
}

// fewRequests is a saturate run that its limit ended.
func fewRequests() Input {
	in := saturated()
	in.Spec.Bulk.Outstanding = 2
	in.Run.Detail, in.Run.Bulk.BudgetReached = "", false
	in.Run.Bulk.Levels = in.Run.Bulk.Levels[:2]
	return in
}

type rendered interface {
	Text() []byte
	JSON() ([]byte, error)
	XML() ([]byte, error)
}

func bulkDocuments() map[string]rendered {
	return map[string]rendered{
		"saturate": SaturateOf(saturated()), "saturate-least": SaturateOf(ended(saturated(), wire.FailureTargetBusy)), "saturate-few": SaturateOf(fewRequests()),
		"stream": StreamOf(streamed()), "stream-least": StreamOf(ended(streamed(), wire.FailureBudget)), "stream-little": StreamOf(little()), "stream-few": StreamOf(fewMessages()),
	}
}

func TestGoldenFilesOfSaturateAndStream(t *testing.T) {
	for name, d := range bulkDocuments() {
		asJSON, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		asXML, err := d.XML()
		if err != nil {
			t.Fatal(err)
		}
		for suffix, got := range map[string][]byte{"json": asJSON, "xml": asXML, "txt": d.Text()} {
			golden(t, "testdata/"+name+"."+suffix, got)
		}
		for line := range strings.Lines(string(d.Text())) {
			if line = strings.TrimSuffix(line, "\n"); Visible(line) != line || strings.TrimRight(line, " ") != line {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}

func TestWhatIsWrittenOfSaturateAndStreamIsReadAsTheSame(t *testing.T) {
	for name, d := range bulkDocuments() {
		switch d := d.(type) {
		case Saturate:
			var fromJSON, fromXML Saturate
			readsBack(t, name, d, &fromJSON, &fromXML)
			fromXML.Format = d.Format // the root element's name
			same(t, name, d, fromJSON, fromXML)
		case Stream:
			var fromJSON, fromXML Stream
			readsBack(t, name, d, &fromJSON, &fromXML)
			fromXML.Format = d.Format
			same(t, name, d, fromJSON, fromXML)
		}
	}
}

func readsBack(t *testing.T, name string, d rendered, fromJSON, fromXML any) {
	t.Helper()
	b, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(b)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(fromJSON); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if b, err = d.XML(); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(b, fromXML); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func same[T any](t *testing.T, name string, want, fromJSON, fromXML T) {
	t.Helper()
	ignored := cmpopts.IgnoreTypes(xml.Name{})
	for form, got := range map[string]T{"JSON": fromJSON, "XML": fromXML} {
		if diff := cmp.Diff(want, got, ignored, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s as %s:\n%s", name, form, diff)
		}
	}
}

// The figures that the design gives for 62,780 bytes: 0.086 % and 3.6 %, in 43 segments.
func TestTheOverheadIsToldInBothConventions(t *testing.T) {
	o := overheadOf(62780)
	if o.Segments != 43 || math.Abs(o.OneSegmentRatio-0.00086) > 0.000005 || math.Abs(o.EverySegmentRatio-0.036) > 0.0005 {
		t.Errorf("%+v", o)
	}
	if o := overheadOf(1460); o.Segments != 1 || o.OneSegmentRatio != o.EverySegmentRatio {
		t.Errorf("one full segment: %+v", o)
	}
	// What goes over the wire for a payload of 62,780 bytes is 62,780 + 43 × 54.
	if got := with(62780, o.EverySegmentRatio); math.Abs(got-65102) > 0.01 {
		t.Errorf("62,780 bytes are %.1f on the wire, want 65,102", got)
	}
}

func TestBytesAreShownInTheirUnit(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 999: "999 bytes", 1000: "1 kB", 12_300_000: "12.3 MB", 1_000_000_000: "1 GB", 1_234_567_890_123: "1.235 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d is shown as %q, want %q", n, got, want)
		}
	}
}

func TestALevelThatWasCutShortShowsNoKnee(t *testing.T) {
	in := fewRequests()
	if text := string(SaturateOf(in).Text()); !strings.Contains(text, "no knee up to 2 outstanding") {
		t.Errorf("a whole level shows nothing:\n%s", text)
	}
	in.Run.Bulk.Levels[1].CountedNS /= 2
	if text := string(SaturateOf(in).Text()); strings.Contains(text, "knee") {
		t.Errorf("half a level shows something:\n%s", text)
	}
}

func TestALevelThatIsTooShortIsNotTheBest(t *testing.T) {
	in := saturated()
	last := &in.Run.Bulk.Levels[2]
	if text := string(SaturateOf(in).Text()); !strings.Contains(text, "with 4 outstanding\n") {
		t.Errorf("the whole level is not the best:\n%s", text)
	}
	last.CountedNS = 2e9
	if text := string(SaturateOf(in).Text()); !strings.Contains(text, "Mbit/s with 2 outstanding\n") {
		t.Errorf("two of five seconds are taken for the best:\n%s", text)
	}
}
