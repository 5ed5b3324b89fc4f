package convert

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

var update = flag.Bool("update", false, "write the golden documents anew from package wire's types")

var slot = time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)

// sample is a document with a run of each sort: answered with losses, never made, and without
// any sample.
func sample() *wire.Document {
	start := slot.Add(30*time.Second + 1234567*time.Nanosecond)
	end := start.Add(2 * time.Second)
	clock, steal := int64(250_000), 0.015625
	answered := wire.Run{
		Target: "northeurope", Path: "public", Kind: wire.KindTCP, Address: "20.50.0.4:7700",
		PlannedStart: slot.Add(30 * time.Second), Start: &start, End: &end,
		Counts: wire.Counts{Warmup: 2, Sent: 4, Received: 3, Lost: 1, Late: 1, PacingViolations: 1},
		TCPInfo: &wire.TCPInfo{RTTUS: 21_000, MinRTTUS: 20_100, RTTVarUS: 300, DeliveryRateBPS: 80_000, MSSBytes: 1448,
			CongestionControl: "cubic", CongestionWindow: 10},
		RTTHistogram: "AAAA", ExcessHistogram: "BBBB", // not true, and not to be believed
		Samples: wire.Samples{
			Sequence: wire.Column{0, 1, 2, 3, 4}, DueNS: wire.Column{0, 20_000_000, 40_000_000, 60_000_000, 80_000_000},
			SentNS:   wire.Column{1_500, 20_001_400, 41_200_000, 60_001_000, wire.Null},
			RTTNS:    wire.Column{20_100_000, wire.Null, 20_400_000, 23_000_000, wire.Null},
			ServerNS: wire.Column{9_000, wire.Null, 8_000, 8_500, wire.Null},
			Failure:  wire.FailureColumn{"", wire.FailureTimeout, "", "", wire.FailureCanceled},
		},
	}
	down := wire.Run{Target: "brazilsouth", Path: "public", Kind: wire.KindTCP, PlannedStart: slot.Add(30 * time.Second),
		Failure: wire.FailureTargetDown, Detail: `no heartbeat since 10:01 & "none" <expected>`}
	return &wire.Document{
		Version: wire.DocumentVersion, Environment: "dev", Slot: slot, Source: "westeurope", Probe: "tcp-64",
		Assignment: wire.AssignmentID("dev", slot, "westeurope", "tcp-64", 0), Attempt: "0123abcd",
		Provenance: wire.Provenance{ProberVersion: "0.1.0", ImageDigest: "sha256:00", VMSize: "Standard_D2s_v5",
			ClockErrorNS: &clock, CPUStealRatio: &steal},
		Runs: []wire.Run{answered, down},
	}
}

func encodeJSON(t testing.TB, d *wire.Document) []byte {
	t.Helper()
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

func encodeXML(t testing.TB, d *wire.Document) []byte {
	t.Helper()
	b, err := xml.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(xml.Header), append(b, '\n')...)
}

func pack(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func golden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The golden files are the recorded documents of version 1: they change only with the version.
func TestGoldenDocumentsAreWhatTheWireTypesWrite(t *testing.T) {
	for name, b := range map[string][]byte{"v1.json": encodeJSON(t, sample()), "v1.xml": encodeXML(t, sample())} {
		if *update {
			if err := os.WriteFile(filepath.Join("testdata", name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(golden(t, name)), string(b)); diff != "" {
			t.Errorf("%s (-golden +now):\n%s", name, diff)
		}
	}
}

func TestEveryEncodingGivesTheSameDocument(t *testing.T) {
	bom := []byte("\uFEFF")
	j, x := golden(t, "v1.json"), golden(t, "v1.xml")
	bodies := map[string][]byte{
		"json": j, "xml": x, "json.gz": pack(t, j), "xml.gz": pack(t, x),
		"json with a byte-order mark": append(bom, j...), "xml with a byte-order mark": append(bom, x...),
		"json behind blanks":        append([]byte(" \r\n\t"), j...),
		"two gzip members":          append(pack(t, j[:100]), pack(t, j[100:])...),
		"json.gz with a mark":       pack(t, append(bom, j...)),
		"xml without a declaration": bytes.TrimPrefix(x, []byte(xml.Header)),
		"xml declared ascii":        bytes.Replace(x, []byte("UTF-8"), []byte("us-ascii"), 1),
		"xml with comments":         bytes.Replace(x, []byte("<runs>"), []byte("<!-- <runs> --><runs>"), 1),
		"xml with CDATA":            bytes.Replace(x, []byte("<source>westeurope<"), []byte("<source><![CDATA[westeurope]]><"), 1),
		"json with another zone":    bytes.Replace(j, []byte("2026-11-30T10:20:00Z"), []byte("2026-11-30T11:20:00+01:00"), 1),
		"json with escapes":         bytes.Replace(j, []byte(`"source"`), []byte(`"s\u006furce"`), 1),
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			d, err := Document(body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sample(), d); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// refused are bodies that must be refused, each with what the refusal must say.
func refused(t testing.TB) map[string]struct {
	body  []byte
	stage Stage
	says  string // part of Error()
} {
	j, x := string(golden(t, "v1.json")), string(golden(t, "v1.xml"))
	in := func(text, old, replacement string) []byte {
		t.Helper()
		if !strings.Contains(text, old) {
			t.Fatalf("the golden document has no %q to replace", old)
		}
		return []byte(strings.Replace(text, old, replacement, 1))
	}
	packed := pack(t, []byte(j))
	broken := bytes.Clone(packed)
	broken[len(broken)-6] ^= 1 // the checksum
	return map[string]struct {
		body  []byte
		stage Stage
		says  string
	}{
		"empty":              {nil, StageRecognise, "empty"},
		"blank":              {[]byte(" \n"), StageRecognise, "empty"},
		"text":               {[]byte("rtt min/avg/max = 1/2/3 ms"), StageRecognise, "neither a JSON object nor XML"},
		"json array":         {[]byte("[1]"), StageRecognise, "neither a JSON object nor XML"},
		"utf-16":             {[]byte("\xff\xfe{\x00"), StageRecognise, "UTF-16"},
		"gzip in gzip":       {pack(t, packed), StageRecognise, "another gzip stream"},
		"foreign xml":        {[]byte(`<ntttcps computername="a"/>`), StageRecognise, "<ntttcps>"},
		"gzip cut":           {packed[:len(packed)/2], StageUnpack, "ends too early"},
		"gzip header only":   {packed[:5], StageUnpack, "ends too early"},
		"gzip checksum":      {broken, StageUnpack, "checksum"},
		"gzip and more":      {append(bytes.Clone(packed), "more than a header"...), StageUnpack, "gzip header"},
		"json latin-1":       {in(j, "no heartbeat", "no heartbe\xe4t"), StageRead, "byte 0xe4"},
		"xml latin-1":        {in(x, "UTF-8", "ISO-8859-1"), StageRead, "other than UTF-8"},
		"json cut":           {[]byte(j[:strings.Index(j, "20400000")+3]), StageRead, "runs[0].samples.rtt_ns"},
		"json cut in string": {[]byte(j[:strings.Index(j, "heartbeat")]), StageRead, "ends inside a string"},
		"json cut in escape": {[]byte(`{"version\`), StageRead, "ends inside a string"},
		"xml cut":            {[]byte(x[:strings.Index(x, "20400000")+3]), StageRead, "ends inside an element"},
		"xml cut in a tag":   {[]byte(x[:strings.Index(x, "<samples>")+4]), StageRead, "does not end"},
		"json and json":      {[]byte(j + j), StageRead, "follow the document"},
		"json and text":      {[]byte(j + "x"), StageRead, "1 bytes follow"},
		"xml and xml":        {[]byte(x + strings.TrimPrefix(x, xml.Header)), StageRead, "second document"},
		"xml and text":       {[]byte(x + "x"), StageRead, "text outside"},
		"json twice":         {in(j, `"source"`, `"source": "a", "source"`), StageRead, `"source" stands here twice`},
		"json twice, escape": {in(j, `"source"`, `"s\u006furce": "a", "source"`), StageRead, `"source" stands here twice`},
		"xml twice":          {in(x, "<source>", "<source>a</source><source>"), StageRead, "<source> stands here twice"},
		"json unknown":       {in(j, `"source"`, `"sauce": {}, "source"`), StageRead, `no "sauce"`},
		"json other case":    {in(j, `"source"`, `"Source"`), StageRead, `no "Source"`},
		"json elsewhere":     {in(j, `"source"`, `"rtt_ns": [1], "source"`), StageRead, `no "rtt_ns"`},
		"xml unknown":        {in(x, "<source>", "<sauce/><source>"), StageRead, "no element <sauce>"},
		"xml attribute":      {in(x, "<source>", `<source lang="en">`), StageRead, `no attribute "lang"`},
		"xml namespace":      {in(x, "<isochrone_document ", `<isochrone_document xmlns="u" `), StageRecognise, "root element"},
		"xml prefix":         {in(x, "<source>westeurope</source>", `<a:source>westeurope</a:source>`), StageRead, "no element"},
		"xml text between":   {in(x, "<runs>", "<runs>x"), StageRead, `text "x"`},
		"xml not nested":     {in(x, "</source>", "</sauce>"), StageRead, "sauce"},
		"json missing":       {in(j, `"late": 1,`, ``), StageRead, `runs[0].counts`},
		"xml missing":        {in(x, "<late>1</late>", ""), StageRead, `runs[0].counts`},
		"json null":          {in(j, `"late": 1`, `"late": null`), StageRead, "runs[0].counts.late"},
		"xml empty number":   {in(x, "<late>1</late>", "<late></late>"), StageRead, "runs[0].counts.late"},
		"json fraction":      {in(j, "20400000", "20400000.5"), StageRead, "runs[0].samples.rtt_ns[2]"},
		"xml fraction":       {in(x, "20400000", "20400000.5"), StageRead, "runs[0].samples.rtt_ns[2]"},
		"json huge":          {in(j, "20400000", "9223372036854775808"), StageRead, "64 bits"},
		"json endless":       {in(j, "20400000", strings.Repeat("9", 1_000_000)), StageRead, "64 bits"},
		"xml huge":           {in(x, "20400000", "9223372036854775808"), StageRead, "64 bits"},
		"json null's value":  {in(j, "20400000", "-9223372036854775808"), StageRead, "64 bits"},
		"json exponent":      {in(j, "0.015625", "1e999"), StageRead, "range of a double"},
		"xml exponent":       {in(x, "0.015625", "1e999"), StageRead, "range of a double"},
		"json NaN":           {in(j, "0.015625", "NaN"), StageRead, "cpu_steal_ratio"},
		"xml NaN":            {in(x, "0.015625", "NaN"), StageRead, "cpu_steal_ratio"},
		"xml hexadecimal":    {in(x, "0.015625", "0x1p-6"), StageRead, "cpu_steal_ratio"},
		"json string number": {in(j, "0.015625", `"0.015625"`), StageRead, "a number should"},
		"json leading zero":  {in(j, "20400000", "020400000"), StageRead, "rtt_ns[2]"},
		"json object":        {in(j, "20400000", "{}"), StageRead, "rtt_ns[2]"},
		"json failure":       {in(j, `"canceled"`, `"cancelled"`), StageRead, "runs[0].samples.failure[4]"},
		"xml failure":        {in(x, "canceled", "cancelled"), StageRead, "runs[0].samples.failure[4]"},
		"json time":          {in(j, "2026-11-30T10:20:00Z", "yesterday"), StageRead, `slot at byte`},
		"xml time":           {in(x, "2026-11-30T10:20:00Z", "yesterday"), StageRead, `slot at byte`},
		"json surrogate":     {in(j, "no heartbeat", `\ud800`), StageRead, "no character"},
		"json escape":        {in(j, "no heartbeat", `\x00`), StageRead, "no character"},
		"json control":       {in(j, "no heartbeat", "a\x00b"), StageRead, "control character"},
		"json long text":     {in(j, "no heartbeat", strings.Repeat("a", 5000)), StageRead, "more than 4096 bytes"},
		"xml long text":      {in(x, "no heartbeat", strings.Repeat("a", 5000)), StageRead, "at most 4096"},
		"xml element in text": {in(x, "<source>westeurope", "<source><b>w</b>"), StageRead,
			"element <b> where only text"},
		"xml version":          {in(x, `version="1.0"`, `version="1.1"`), StageRead, "1.1"},
		"doctype":              {in(x, "<isochrone_document", "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><isochrone_document"), StageRead, "DTD"},
		"entity":               {in(x, "<source>westeurope", "<source>&west;"), StageRead, "entity"},
		"instruction":          {in(x, "<runs>", "<?php run() ?><runs>"), StageRead, "processing instruction"},
		"nul reference":        {in(x, "<source>westeurope", "<source>&#0;"), StageRead, "byte"},
		"version 2":            {in(j, `"version": 1`, `"version": 2`), StageCheck, "version 2"},
		"counts that lie":      {in(j, `"received": 3`, `"received": 4`), StageCheck, "counts say"},
		"samples out of order": {in(j, "40000000,", "-40000000,"), StageCheck, "due_ns[2]"},
		"steal of 2":           {in(j, "0.015625", "2"), StageCheck, "provenance: cpu_steal_ratio"},
		"clock error below 0":  {in(j, "250000", "-1"), StageCheck, "clock_error_ns"},
	}
}

func TestRefusalsNamePlaceAndReason(t *testing.T) {
	for name, c := range refused(t) {
		t.Run(name, func(t *testing.T) {
			d, err := Document(c.body)
			var r *Refusal
			if !errors.As(err, &r) || d != nil {
				t.Fatalf("got %v, %v; want a refusal", d, err)
			}
			if r.Stage != c.stage || !strings.Contains(r.Error(), c.says) || r.Remedy == "" {
				t.Errorf("stage %s, error %q, remedy %q; want stage %s and %q", r.Stage, r.Error(), r.Remedy, c.stage, c.says)
			}
			if len(r.Error()) > 2600 {
				t.Errorf("the refusal has %d bytes", len(r.Error()))
			}
		})
	}
}

// Wherever a document is cut off, the refusal says where it ends.
func TestTruncatedAnywhereIsRefusedWithTheOffset(t *testing.T) {
	j := bytes.TrimSpace(golden(t, "v1.json"))
	for n := 1; n < len(j); n++ {
		var r *Refusal
		if _, err := Document(j[:n]); !errors.As(err, &r) {
			t.Fatalf("%d bytes of %d: %v", n, len(j), err)
		}
		if r.Stage != StageRead || r.Offset > int64(n) || r.Offset < int64(n)-12 {
			t.Fatalf("%d bytes of %d: refused at %d: %v", n, len(j), r.Offset, r)
		}
	}
	x := bytes.TrimSpace(golden(t, "v1.xml"))
	for n := 1; n < len(x); n++ {
		if _, err := Document(x[:n]); err == nil {
			t.Fatalf("%d bytes of %d of XML were accepted", n, len(x))
		}
	}
}

func TestOffsetsCountTheByteOrderMark(t *testing.T) {
	var plain, marked *Refusal
	_, err := Document([]byte(`{"version": x`))
	errors.As(err, &plain)
	_, err = Document([]byte("\uFEFF" + `{"version": x`))
	errors.As(err, &marked)
	if plain == nil || marked == nil || plain.Offset != 12 || marked.Offset != 15 {
		t.Errorf("got %v and %v; want offsets 12 and 15", plain, marked)
	}
}
