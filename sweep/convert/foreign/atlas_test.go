package foreign

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestAtlasSamples(t *testing.T) { testSamples(t, atlas) }

func FuzzAtlas(f *testing.F) {
	fuzz(f, atlas, 6, atlasPing(1, `"sent":1,"rcvd":1,"result":[{"rtt":1}]`), "[{\"a\":1\n{\"a\":\"}\n]]x", `{"fw":5000,"timestamp":1665720293,"type":"traceroute","proto":"TCP","dst_addr":"a","result":[{"result":[{"from":"a","rtt":1e3}]}]}`)
}

func atlasPing(n int, members string) string {
	return fmt.Sprintf(`{"fw":5080,"msm_id":1001,"prb_id":%d,"timestamp":1665720293,"type":"ping","proto":"ICMP","dst_addr":"192.0.2.1",%s}`, n, members)
}

func atlasFile(t *testing.T, name string, n, left int) []Finding {
	t.Helper()
	d := mustConvert(t, atlas, readSample(t, "testdata/atlas/"+name))
	if len(d.Findings) != n || d.LeftCount != left {
		t.Fatalf("%s: %d findings, left out %v", name, len(d.Findings), d.Left)
	}
	return d.Findings
}

func TestAtlasPings(t *testing.T) {
	f := &atlasFile(t, "ping.ndjson", 5, 1)[0]
	if fmt.Sprint(f.RTT) != "[19725885 19422504 19387082 19470221 19315099]" {
		t.Errorf("%v", f.RTT)
	}
	s := figuresOf(t, f)
	exactly(t, "mean", s.Mean, 19_464_158.2)
	if f.From != "1016425" || f.To != "host.example" || f.Variant != "203405971" || f.Run.Address != "198.51.100.1" || f.Tool != "RIPE Atlas firmware 5120" || f.Run.Kind != "icmp" {
		t.Errorf("%q to %q by %q, %q: %+v", f.From, f.To, f.Tool, f.Variant, f.Run)
	}
	if got := f.Run.Start.String(); got != "2026-08-23 02:10:57 +0000 UTC" {
		t.Error(got)
	}
}

func TestAtlasMinusOneIsNoTime(t *testing.T) {
	for _, f := range []Finding{atlasFile(t, "ping.ndjson", 5, 1)[1], atlasFile(t, "old-firmware.json", 3, 0)[2]} {
		unknown(t, "min", f.Summary.Min)
		unknown(t, "mean", f.Summary.Mean)
		if c := f.Run.Counts; f.Run.Failure != "timeout" || c.Sent != 3 || c.Lost != 3 || c.Received != 0 {
			t.Errorf("%+v", f.Run)
		}
	}
}

// A reply that came again is in the list, with a time, and is no round trip more.
func TestAtlasRepliesThatCameAgainDoNotCount(t *testing.T) {
	f := atlasFile(t, "ping.ndjson", 5, 1)[2]
	if c := f.Run.Counts; fmt.Sprint(f.RTT) != "[31469868 31909145]" || c.Sent != 3 || c.Received != 2 || c.Lost != 1 || c.Duplicate != 1 {
		t.Errorf("%v, %+v", f.RTT, c)
	}
}

func TestAtlasFailures(t *testing.T) {
	ping, trace := atlasFile(t, "ping.ndjson", 5, 1), atlasFile(t, "traceroute.json", 3, 0)
	for want, f := range map[string]Finding{
		"unreachable: sendto failed: Network is unreachable":    ping[3],
		"dns: non-recoverable failure in name resolution (1)":   ping[4],
		"unreachable: host unreachable":                         trace[1],
		"not_permitted: sendto failed: Operation not permitted": trace[2],
	} {
		if got := fmt.Sprintf("%s: %s", f.Run.Failure, f.Run.Detail); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Firmware 1 has no list, and 4400 other names.
func TestAtlasOfOldFirmware(t *testing.T) {
	f := atlasFile(t, "old-firmware.json", 3, 0)
	exactly(t, "min", f[0].Summary.Min, 19_938_000)
	exactly(t, "mean", f[0].Summary.Mean, 20_126_000)
	exactly(t, "max", f[0].Summary.Max, 20_300_000)
	if f[0].To != "host.example" || f[0].Run.Address != "198.51.100.16" || fmt.Sprint(f[1].RTT) != "[2300000 2216000 2000000]" {
		t.Errorf("%+v, %v", f[0], f[1].RTT)
	}
}

// Only the target's own answers are round trips to it: neither a late one to an earlier hop's packet,
// nor what a router said.
func TestAtlasTraceroutesThatCameToTheTarget(t *testing.T) {
	f := atlasFile(t, "traceroute.json", 3, 0)[0]
	if c := f.Run.Counts; fmt.Sprint(f.RTT) != "[20390000 19705000]" || c.Sent != 3 || c.Lost != 1 || f.Run.Kind != "icmp" || f.Run.End.Sub(*f.Run.Start).Seconds() != 4 {
		t.Errorf("%v, %+v", f.RTT, f.Run)
	}
	if f := atlasFile(t, "traceroute.json", 3, 0)[1]; len(f.RTT) != 0 || f.Counted.Sent {
		t.Errorf("%+v", f)
	}
}

func TestAtlasOfWhatIsDamagedTheRestIsRead(t *testing.T) {
	good := func(n int) string { return atlasPing(n, `"sent":1,"rcvd":1,"result":[{"rtt":1.5}]`) }
	for text, want := range map[string]string{
		good(1) + "\n" + good(2)[:60] + "\n" + good(3) + "\n":                                    "1 3, 1 left",
		good(1) + "\n" + good(2)[:60] + `"` + "\n" + good(3):                                     "1 3, 1 left",
		"[" + good(1) + "," + good(2) + "," + good(3)[:70]:                                       "1 2, 1 left",
		"[" + good(1) + "," + good(2):                                                            "1 2, 1 left",
		good(1) + "\nnot a result\n" + good(2):                                                   "1 2, 1 left",
		good(1) + "\n" + atlasPing(2, `"sent":1,"rcvd":1,"result":[{"rtt":-1.5}]`):               "1, 1 left",
		good(1) + "\n" + atlasPing(2, `"sent":1,"rcvd":2,"result":[]`):                           "1, 1 left",
		good(1) + "\n" + atlasPing(2, `"sent":3,"rcvd":2,"result":[{"rtt":1}]`):                  "1, 1 left",
		good(1) + "\n" + strings.Replace(good(2), "1665720293", "1665720293000000", 1):           "1, 1 left",
		good(1) + "\n" + atlasPing(2, `"sent":1,"rcvd":1,"sent":2,"result":[]`) + "\n" + good(3): "1 3, 1 left",
		good(1) + "\n" + atlasPing(2, `"x":"`+strings.Repeat("y", maxObjectBytes)+`"`) + good(3): "1 3, 1 left",
	} {
		d := mustConvert(t, atlas, []byte(text))
		var probes []string
		for _, f := range d.Findings {
			probes = append(probes, f.From)
		}
		if got := fmt.Sprintf("%s, %d left", strings.Join(probes, " "), d.LeftCount); got != want || d.Left[0].Line == 0 {
			t.Errorf("%.200q: %s, want %s: %v", text, got, want, d.Left)
		}
	}
}

func TestAtlasFaultsNameTheirLine(t *testing.T) {
	text := atlasPing(1, `"sent":1,"rcvd":0`) + "\n" + atlasPing(2, `"sent":1,"rcvd":7`) + "\n"
	d := mustConvert(t, atlas, []byte(text))
	if len(d.Left) != 1 || d.Left[0].Line != 2 || d.Left[0].Offset != int64(strings.IndexByte(text, '\n')+1) || d.Left[0].Where != "[1]" {
		t.Errorf("%+v", d.Left)
	}
}

func TestAtlasMoreResultsThanADocumentMayHold(t *testing.T) {
	one := []byte(atlasPing(1, `"sent":1,"rcvd":1,"result":[{"rtt":1.5}]`) + "\n")
	if _, err := atlas.Read(bytes.NewReader(bytes.Repeat(one, MaxFindings))); err != nil {
		t.Fatal(err)
	}
	_, err := atlas.Read(io.MultiReader(bytes.NewReader(bytes.Repeat(one, MaxFindings)), bytes.NewReader(one)))
	if err == nil || !strings.Contains(err.Error(), "split it") {
		t.Error(err)
	}
}
