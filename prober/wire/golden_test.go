package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The golden files are the formats: a change that is meant edits docs/formats.md and the version
// constant too. go test ./prober/wire -run Golden -update writes them.
var update = flag.Bool("update", false, "write the golden files")

func ptr[T any](v T) *T { return &v }

var goldenSlot = time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)

// goldenDocument has every field set somewhere, and every absent value somewhere.
func goldenDocument() *Document {
	start := goldenSlot.Add(30*time.Second + 1250*time.Microsecond)
	return &Document{
		Version: 1, Environment: "dev", Slot: goldenSlot, Source: "westeurope", Probe: "tcp-64", Part: 0,
		Assignment: "a3d73642a3ba17a290e8e15488696aff", Attempt: "0a1b2c3d",
		Provenance: Provenance{
			ProberVersion: "1.2.3", ImageDigest: "sha256:0000", VMSize: "Standard_D2s_v5",
			ClockErrorNS: ptr(int64(1_500_000)), CPUStealRatio: ptr(0.0125), Simulated: true,
		},
		Runs: []Run{
			{
				Target: "northeurope", Path: "public", Kind: KindTCP, Address: "20.50.1.2:7700",
				PlannedStart: goldenSlot.Add(30 * time.Second), Start: &start, End: ptr(start.Add(100 * time.Millisecond)),
				Detail:  "two <lost> & one late",
				Counts:  Counts{Warmup: 1, Sent: 4, Received: 2, Lost: 2, Late: 1, Duplicate: 1, Reordered: 1, PacingViolations: 1},
				TCPInfo: &TCPInfo{RTTUS: 20080, MinRTTUS: 20011, RTTVarUS: 95, Retransmits: 2, DeliveryRateBPS: 1_250_000, MSSBytes: 1448, CongestionControl: "cubic", CongestionWindow: 10},
				// Opaque here: compression may differ between versions of Go.
				RTTHistogram: "HISTFAAAACR42pNpmSzMwMDAxAABzFCaEUoz2X+AMQA/2QKT", ExcessHistogram: "HISTFAAAABt42pNpmSzMwMDABAAJIQEL",
				Samples: Samples{
					Sequence:  Column{0, 1, 2, 3, 4},
					DueNS:     Column{20_000_000, 40_000_000, 60_000_000, 80_000_000, 100_000_000},
					SentNS:    Column{20_000_412, 40_000_390, 61_200_000, 80_000_777, Null},
					RTTNS:     Column{20_080_123, Null, 20_011_000, Null, Null},
					ServerNS:  Column{41_000, Null, 39_500, Null, Null},
					ForwardNS: Column{-5_000_000, Null, 10_000_000, Null, Null},
					ReverseNS: Column{25_080_123, Null, 10_011_000, Null, Null},
					Failure:   FailureColumn{"", FailureTimeout, "", FailureReset, FailureCanceled},
				},
			},
			{
				Target: "eastus", Path: "peering", Kind: KindTCP, PlannedStart: goldenSlot.Add(30 * time.Second),
				Failure: FailureTargetDown,
				Samples: Samples{
					Sequence: Column{0}, DueNS: Column{20_000_000}, SentNS: Column{Null}, RTTNS: Column{Null},
					Failure: FailureColumn{FailureTargetDown},
				},
			},
		},
	}
}

func golden(t *testing.T, name string, got []byte) []byte {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s has changed (-golden +now):\n%s", file, diff)
	}
	return want
}

func indentedJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

func TestGoldenDocumentJSON(t *testing.T) {
	d := goldenDocument()
	stored := golden(t, "document-v1.json", indentedJSON(t, d))
	var back Document
	decode := json.NewDecoder(bytes.NewReader(stored))
	decode.DisallowUnknownFields()
	if err := decode.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if err := back.Validate(); err != nil {
		t.Errorf("the golden document is not valid: %v", err)
	}
	if diff := cmp.Diff(d, &back); diff != "" {
		t.Errorf("JSON does not bring back what was written (-written +read):\n%s", diff)
	}
}

func TestGoldenDocumentXML(t *testing.T) {
	d := goldenDocument()
	b, err := xml.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	stored := golden(t, "document-v1.xml", append([]byte(xml.Header), append(b, '\n')...))
	var back Document
	if err := xml.Unmarshal(stored, &back); err != nil {
		t.Fatal(err)
	}
	if err := back.Validate(); err != nil {
		t.Errorf("the golden document is not valid: %v", err)
	}
	// XMLName is the element's name as it was read; the writer takes it from the tag.
	if diff := cmp.Diff(d, &back, cmpopts.IgnoreFields(Document{}, "XMLName")); diff != "" {
		t.Errorf("XML does not bring back what was written (-written +read):\n%s", diff)
	}
}

func TestJSONAndXMLAreTheSameDocument(t *testing.T) {
	read := func(name string, unmarshal func([]byte, any) error) *Document {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var d Document
		if err := unmarshal(b, &d); err != nil {
			t.Fatal(err)
		}
		return &d
	}
	j, x := read("document-v1.json", json.Unmarshal), read("document-v1.xml", xml.Unmarshal)
	if diff := cmp.Diff(j, x, cmpopts.IgnoreFields(Document{}, "XMLName")); diff != "" {
		t.Errorf("the two golden files differ (-JSON +XML):\n%s", diff)
	}
}

func TestGoldenRegistration(t *testing.T) {
	r := Registration{
		Version: 1, Environment: "dev", Prober: "westeurope-vpn", Region: "westeurope",
		Started: goldenSlot.Add(-time.Hour), Heartbeat: goldenSlot, HeartbeatInterval: 30 * time.Second,
		Addresses:        []PathAddress{{Path: "public", Host: "weu.example.com", TCPPort: 7700}, {Path: "vpn", Host: "10.1.0.4", TCPPort: 7700}},
		ReadsAssignments: []int{1}, Provenance: Provenance{ProberVersion: "1.2.3"},
	}
	var back Registration
	if err := json.Unmarshal(golden(t, "registration-v1.json", indentedJSON(t, r)), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("JSON does not bring back what was written:\n%s", diff)
	}
	if err := back.Validate("dev", "westeurope-vpn"); err != nil {
		t.Error(err)
	}
}

func TestGoldenCurrent(t *testing.T) {
	var seed Key
	for i := range seed {
		seed[i] = byte(i)
	}
	id, key, err := DeriveSession(seed, Series{"dev", "westeurope", "northeurope", "public", "tcp-64"}, goldenSlot)
	if err != nil {
		t.Fatal(err)
	}
	start := goldenSlot.Add(30 * time.Second)
	c := Current{
		Version: 1, Environment: "dev", Prober: "westeurope",
		Assignments: []Assignment{{
			ID: "a3d73642a3ba17a290e8e15488696aff", Slot: goldenSlot, Probe: "tcp-64",
			Spec:  Spec{Kind: KindTCP, Count: 100, Warmup: 5, Interval: 20 * time.Millisecond, Timeout: time.Second, RequestBytes: 64, ResponseBytes: 16},
			Start: start, LatestStart: start.Add(3 * time.Minute), Deadline: start.Add(4 * time.Minute),
			Runs: []AssignedRun{
				{Target: "northeurope", Path: "public", Address: "20.50.1.2:7700", Session: id, Key: key},
				{Target: "eastus", Path: "public", Failure: FailureTargetDown},
			},
		}},
		Sessions: []Session{{
			ID: id, Key: key, Source: "eastus", Path: "public", Probe: "tcp-64", Kind: KindTCP, RequestBytes: 64, ResponseBytes: 16,
			MaxRequests: 105, NotBefore: start, Deadline: start.Add(4 * time.Minute),
		}},
	}
	var back Current
	if err := json.Unmarshal(golden(t, "current-v1.json", indentedJSON(t, c)), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, back); diff != "" {
		t.Errorf("JSON does not bring back what was written:\n%s", diff)
	}
}
