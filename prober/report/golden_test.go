package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

var update = flag.Bool("update", false, "write the golden files")

func ptr[T any](v T) *T { return &v }

// full has every field set.
func full() Document {
	began := time.Date(2026, 11, 30, 10, 20, 0, 123456789, time.UTC)
	ended := began.Add(4 * time.Second)
	return Document{
		Format: Format, Version: Version, ProberVersion: "1.2.3",
		Target: "weu.example.com", Address: "10.0.0.4:7700", Kind: wire.KindUDP,
		Spec: Spec{
			Count: 3, Warmup: 1, IntervalUS: 1_000_000, TimeoutUS: 2_000_000, RequestBytes: ptr(112), ResponseBytes: ptr(112),
			Method: "GET", Connection: wire.ConnectionFresh,
		},
		Started: &began, Ended: &ended, Interrupted: true, Detail: "a text \x1b[31mfor people", Failure: wire.FailureTimeout,
		Failures: []FailureCount{{wire.FailureTimeout, 2}, {wire.FailureRefused, 1}},
		Counts: wire.Counts{
			Warmup: 1, Sent: 1003, Received: 1000, Lost: 3, Late: 1, Duplicate: 4, Reordered: 5, PacingViolations: 6,
			LostForward: ptr(1), LostReverse: ptr(1), DuplicateForward: ptr(3), DuplicateReverse: ptr(1), ReorderedForward: ptr(2), ReorderedReverse: ptr(3),
		},
		Loss: Loss{Ratio: ptr(0.003), LowRatio: ptr(0.001), HighRatio: ptr(0.0088)},
		RTT: RTT{
			MinUS: ptr[Microseconds](20_000.5), MeanUS: ptr[Microseconds](21_500), MaxUS: ptr[Microseconds](99_999.999), StddevUS: ptr[Microseconds](700),
			Percentiles: []Percentile{
				{"p50", ptr[Microseconds](21_000), ptr[Microseconds](20_900), ptr[Microseconds](21_100), 20},
				{"p90", ptr[Microseconds](25_000), ptr[Microseconds](24_000), nil, 100},
				{"p95", ptr[Microseconds](30_000), nil, ptr[Microseconds](32_000), 200},
				{"p99", ptr[Microseconds](40_000), nil, nil, 1000},
				{"p99.9", nil, nil, nil, 10_000},
			},
			JitterUS: ptr[Microseconds](123), PDVUS: ptr[Microseconds](9_000),
		},
		OneWay: &OneWay{
			ForwardPDV95US: ptr[Microseconds](5_000), ForwardPDV99US: ptr[Microseconds](7_000), ReversePDV95US: ptr[Microseconds](4_000), ReversePDV99US: nil,
			ForwardMinUS: ptr[Microseconds](10_000), ForwardP50US: ptr[Microseconds](10_500), ReverseMinUS: ptr[Microseconds](10_001), ReverseP50US: ptr[Microseconds](10_400),
			BoundUS: ptr[Microseconds](250), Method: summary.OneWayClocks, ClockOffsetUS: ptr[Microseconds](-3_600_000_000.25), ClockSkewPPM: ptr(-12.5),
		},
		HTTP: &HTTP{
			DNSP50US: ptr[Microseconds](1_000), ConnectP50US: ptr[Microseconds](20_000), TLSP50US: ptr[Microseconds](41_000),
			FirstByteP50US: ptr[Microseconds](25_000), NetworkP50US: ptr[Microseconds](20_100), NetworkP99US: ptr[Microseconds](30_000), BelowRTTCount: ptr(2),
		},
		Timestamps: wire.TimestampsKernel,
		TCPInfo: &wire.TCPInfo{
			RTTUS: 20_123, MinRTTUS: 20_000, RTTVarUS: 456, Retransmits: 7, DeliveryRateBPS: 8_000_000, MSSBytes: 1448,
			CongestionControl: "cubic", CongestionWindow: 10,
		},
		Noise: Noise{
			LatenessP50US: ptr[Microseconds](1), LatenessP99US: ptr[Microseconds](900), LatenessMaxUS: ptr[Microseconds](6_000), ClientP50US: ptr[Microseconds](30),
			ClientP99US: ptr[Microseconds](80), ServerP50US: ptr[Microseconds](12), ServerP99US: ptr[Microseconds](45), CPUStealRatio: ptr(0.0123),
			ClockErrorUS: ptr[Microseconds](150), TargetClockErrorUS: ptr[Microseconds](100), ClockStepCount: ptr(2), UnstampedCount: ptr(3),
		},
		Degraded:  []summary.Reason{summary.ReasonLateSends, summary.ReasonClockStep},
		Histogram: &Histogram{Buckets: []Bucket{{20_000.5, 40_000, 989}, {40_000, 60_000, 0}, {60_000, 99_999.999, 11}}},
		Samples: &wire.Samples{
			Sequence: wire.Column{0, 1, 2}, DueNS: wire.Column{1e9, 2e9, 3e9}, SentNS: wire.Column{1e9, 2e9 + 5, wire.Null},
			RTTNS: wire.Column{20_000_500, wire.Null, wire.Null}, ForwardNS: wire.Column{-5, wire.Null, wire.Null}, ReverseNS: wire.Column{6, wire.Null, wire.Null},
			Failure: wire.FailureColumn{"", wire.FailureTimeout, wire.FailureRefused},
		},
	}
}

// least is a run that never began.
func least() Document {
	return Document{
		Format: Format, Version: Version, ProberVersion: "dev", Target: "10.0.0.4:7700", Address: "10.0.0.4:7700", Kind: wire.KindTCP,
		Spec:    Spec{Count: 10, ClosedLoop: true, TimeoutUS: 2_000_000, RequestBytes: ptr(64), ResponseBytes: ptr(16)},
		Failure: wire.FailureUnauthorized, Failures: []FailureCount{{wire.FailureUnauthorized, 10}},
		RTT:      RTT{Percentiles: []Percentile{{Name: "p50", NeedsCount: 20}}},
		Degraded: []summary.Reason{},
	}
}

// few is a run of ten samples, of which nothing but the extremes is known.
func few() Document {
	d := least()
	d.Failure, d.Failures = "", nil
	d.Counts = wire.Counts{Sent: 10, Received: 10}
	d.RTT.MinUS, d.RTT.MaxUS = ptr[Microseconds](9), ptr[Microseconds](10)
	d.OneWay, d.HTTP = &OneWay{}, &HTTP{}
	d.Timestamps = wire.TimestampsUser
	return d
}

func TestGoldenFiles(t *testing.T) {
	for name, d := range map[string]Document{"full": full(), "least": least(), "few": few()} {
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
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (after a change that is meant: go test ./prober/report -update):\n%s", name, diff)
	}
}

func TestWhatIsWrittenIsReadAsTheSame(t *testing.T) {
	equal := []cmp.Option{cmpopts.IgnoreFields(Document{}, "XMLName"), cmpopts.EquateEmpty()}
	for _, d := range []Document{full(), least(), few()} {
		b, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var fromJSON Document
		decoder := json.NewDecoder(bytes.NewReader(b))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&fromJSON); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, fromJSON, equal...); diff != "" {
			t.Errorf("JSON of %s:\n%s", d.Target, diff)
		}
		if b, err = d.XML(); err != nil {
			t.Fatal(err)
		}
		var fromXML Document
		if err := xml.Unmarshal(b, &fromXML); err != nil {
			t.Fatal(err)
		}
		fromXML.Format = Format                      // the root element's name
		d.Detail = strings.ToValidUTF8(d.Detail, "") // XML has no escape characters
		d.Detail = strings.ReplaceAll(d.Detail, "\x1b", "\uFFFD")
		if diff := cmp.Diff(d, fromXML, equal...); diff != "" {
			t.Errorf("XML of %s:\n%s", d.Target, diff)
		}
	}
}

func TestTextIsInertAndEndsInNoBlanks(t *testing.T) {
	for line := range strings.Lines(string(full().Text())) {
		if line = strings.TrimSuffix(line, "\n"); Visible(line) != line || strings.TrimRight(line, " ") != line {
			t.Errorf("%q", line)
		}
	}
}
