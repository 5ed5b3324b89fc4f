package report

import (
	"bytes"
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

// bandwidthInput is a run in both directions of which the sender up is the one whose kernel is known.
func bandwidthInput() Input {
	began := time.Date(2026, 11, 30, 10, 20, 0, 123456789, time.UTC)
	ended := began.Add(12 * time.Second)
	steal := 0.0123
	return Input{
		Target: "weu.example.com", Samples: true, Provenance: wire.Provenance{ProberVersion: "1.2.3", CPUStealRatio: &steal},
		Spec: wire.Spec{
			Kind: wire.KindThroughput, RequestBytes: 62_780, Timeout: 10 * time.Second,
			Bulk: wire.Bulk{MaxBytes: 1e9, Duration: 10 * time.Second, Ramp: 2 * time.Second, Direction: wire.DirectionBoth, Streams: 4, RateBPS: 2e8, Congestion: "cubic"},
		},
		Run: wire.Run{
			Target: "target", Path: "public", Kind: wire.KindThroughput, Address: "10.0.0.4:7700", PlannedStart: began, Start: &began, End: &ended,
			Bulk: &wire.BulkResult{
				Bytes: 500_000_000, BudgetReached: true,
				Flows: []wire.Flow{
					{
						Direction: wire.DirectionUp, Streams: 4, BPS: 187_500_000, Bytes: 234_375_000, CountedNS: 10e9, RampBytes: 30_000_000, RampNS: 2e9,
						Retransmits: ptr[int64](295), CongestionControl: "cubic", WindowLimitedRatio: ptr(0.75), WindowLimited: true,
						Intervals: wire.Intervals{
							AtNS: wire.Column{0, 2e9, 7e9}, ForNS: wire.Column{2e9, 5e9, 5e9}, Bytes: wire.Column{30_000_000, 117_000_000, 117_375_000},
							RTTNS: wire.Column{900e6, 80e6, 90e6}, CongestionWindow: wire.Column{14480, 2_000_000, wire.Null},
							Retransmits: wire.Column{0, 100, 295}, DeliveryRateBPS: wire.Column{1e6, 187e6, 188e6},
						},
					},
					{Direction: wire.DirectionDown, Streams: 4, BPS: 94_000_000.25, Bytes: 117_500_000, CountedNS: 10e9, RampBytes: 20_000_000, RampNS: 2e9,
						Intervals: wire.Intervals{AtNS: wire.Column{0, 2e9}, ForNS: wire.Column{2e9, 10e9}, Bytes: wire.Column{20_000_000, 117_500_000}}},
				},
			},
		},
	}
}

func TestBandwidthGoldenFiles(t *testing.T) {
	full := bandwidthInput()
	least := bandwidthInput()
	least.Spec.Bulk.Streams, least.Spec.Bulk.RateBPS, least.Spec.Bulk.Congestion, least.Provenance.CPUStealRatio = 0, 0, "", nil
	least.Run.Bulk, least.Run.Failure, least.Run.Detail, least.Run.End = nil, wire.FailureTargetBusy, "another \x1b[31mrun", nil
	ramp := bandwidthInput() // its budget was used up before it counted
	ramp.Samples, ramp.Interrupted = false, true
	ramp.Run.Bulk.Flows = ramp.Run.Bulk.Flows[1:]
	f := &ramp.Run.Bulk.Flows[0]
	f.BPS, f.Bytes, f.CountedNS = 0, 0, 0
	for name, in := range map[string]Input{"bandwidth": full, "bandwidth-least": least, "bandwidth-ramp": ramp} {
		d := BandwidthOf(in)
		asJSON, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		asXML, err := d.XML()
		if err != nil {
			t.Fatal(err)
		}
		text := d.Text()
		for suffix, got := range map[string][]byte{"json": asJSON, "xml": asXML, "txt": text} {
			golden(t, "testdata/"+name+"."+suffix, got)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSuffix(line, "\n"); Visible(line) != line || strings.TrimRight(line, " ") != line {
				t.Errorf("%q", line)
			}
		}
		var fromJSON, fromXML Bandwidth
		decoder := json.NewDecoder(bytes.NewReader(asJSON))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&fromJSON); err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(asXML, &fromXML); err != nil {
			t.Fatal(err)
		}
		fromXML.Format = BandwidthFormat // the root element's name
		for form, got := range map[string]Bandwidth{"JSON": fromJSON, "XML": fromXML} {
			if diff := cmp.Diff(d, got, cmpopts.IgnoreFields(Bandwidth{}, "XMLName"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s of %s:\n%s", form, name, diff)
			}
		}
	}
}

// Headers of one segment on 62,780 bytes are 0.086 %, of all 43 of them 3.6 %.
func TestOverheadIsToldInBothConventions(t *testing.T) {
	d := BandwidthOf(bandwidthInput())
	f := d.Flows[0]
	if one := *f.OneSegmentBPS / *f.PayloadBPS - 1; math.Abs(one-54.0/62780) > 1e-9 {
		t.Errorf("one segment's headers add %.6f", one)
	}
	if every := *f.EverySegmentBPS / *f.PayloadBPS - 1; math.Abs(every-43*54.0/62780) > 1e-9 {
		t.Errorf("every segment's headers add %.6f", every)
	}
	if *f.RTTUS != 85_000 {
		t.Errorf("round trip under load %v µs, want the mean without the ramp, 85,000", *f.RTTUS)
	}
}
