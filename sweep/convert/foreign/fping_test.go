package foreign

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestFping(t *testing.T) { testSamples(t, fping) }

func FuzzFping(f *testing.F) {
	fuzz(f, fping, 19, "a : [999999999], 64 bytes, 1.00 ms (1.00 avg, 0% loss)\n", `{"vSum":{"host":"a","values":[1,null,"x",nan,0]}}`, "[12:00:00]\na : xmt/rcv/%loss = 1/2/0%\n")
}

// fpingFindings are the findings of a text of which so many parts are left out.
func fpingFindings(t *testing.T, text string, findings, left int) []Finding {
	t.Helper()
	d := mustConvert(t, fping, []byte(text))
	if len(d.Findings) != findings || d.LeftCount != left {
		t.Fatalf("%d findings, %d parts left out (%v), want %d and %d", len(d.Findings), d.LeftCount, d.Left, findings, left)
	}
	return d.Findings
}

func fpingSample(t *testing.T, name string, findings, left int) []Finding {
	t.Helper()
	return fpingFindings(t, string(readSample(t, "testdata/fping/"+name)), findings, left)
}

func TestFpingOneFindingATarget(t *testing.T) {
	f := fpingSample(t, "c.txt", 3, 0)
	wantRTT(t, f[0], 110, 14.4, 16.2, 19.6, 17.6)
	wantCounts(t, f[0], 5, 5, 0)
	wantRTT(t, f[1], 131, 15.7, 16.6, 17.7)
	wantCounts(t, f[1], 5, 4, 1)
	wantCounts(t, f[2], 5, 0, 5)
	wantFailure(t, f[2], wire.FailureTimeout, "5 packets")
	if f[1].Summary.Failures[wire.FailureTimeout] != 1 || f[1].To != "198.51.100.3" {
		t.Errorf("%+v", f[1])
	}
}

func TestFpingTheListHoldsAHyphenForWhatWasLost(t *testing.T) {
	f := fpingSample(t, "C-q.txt", 3, 0)
	wantRTT(t, f[1], 89.0, 14.7, 16.8, 19.8)
	wantCounts(t, f[1], 5, 4, 1)
	wantFailure(t, f[2], wire.FailureTimeout, "5 packets")
}

// With -C the replies are told twice, line by line and in the list.
func TestFpingTheListAndTheLinesAreTheSameReplies(t *testing.T) {
	f := fpingSample(t, "C.txt", 2, 0)
	wantRTT(t, f[0], 112, 14.5, 18.2)
	wantCounts(t, f[0], 3, 3, 0)
}

// The summaries of intervals look like that of the whole, but for the clock in front of them.
func TestFpingIntervalsAreNotTheWhole(t *testing.T) {
	f := fpingSample(t, "l-Q.txt", 1, 0)
	wantCounts(t, f[0], 15, 15, 0)
	if s := f[0].Summary; *s.Min != 14.9e6 || *s.Mean != 30.3e6 || *s.Max != 64.3e6 {
		t.Errorf("%v %v %v", *s.Min, *s.Mean, *s.Max)
	}
	d, err := convert(t, fping, []byte("[20:03:49]\n198.51.100.2 : xmt/rcv/%loss = 5/5/0%, min/avg/max = 14.9/30.6/64.3\n"))
	if err == nil || !strings.Contains(err.Error(), "intervals") {
		t.Errorf("%v, %v", d, err)
	}
	f = fpingSample(t, "json-q-Q.json", 2, 0)
	wantCounts(t, f[0], 10, 9, 1)
}

func TestFpingStandardOutputAloneHasNoSummaries(t *testing.T) {
	f := fpingSample(t, "c-stdout-alone.txt", 3, 0)
	wantRTT(t, f[1], 128, 14.6, 19.7, 17.5)
	wantCounts(t, f[1], 5, 4, 1)
	f = fpingSample(t, "c-stderr-alone.txt", 3, 0)
	wantCounts(t, f[1], 5, 4, 1)
	if s := f[1].Summary; len(f[1].RTT) > 0 || *s.Mean != 44.9e6 {
		t.Errorf("%v, %+v", f[1].RTT, s)
	}
}

func TestFpingFailures(t *testing.T) {
	f := fpingSample(t, "unreachable.txt", 5, 0)
	wantFailure(t, f[0], wire.FailureDNS, "Temporary failure in name resolution")
	wantRTT(t, f[1], 14.6)
	wantFailure(t, f[2], wire.FailureUnreachable, "ICMP Host Unreachable from 198.51.100.254")
	wantFailure(t, f[3], wire.FailureUnreachable, "Administratively Prohibited")
	wantFailure(t, f[4], wire.FailureTimeout, "2 packets")
	if f[0].To != "nosuch.invalid" || f[0].Counted != (Counted{}) {
		t.Errorf("%+v", f[0])
	}
	f = fpingSample(t, "e.txt", 3, 0)
	wantRTT(t, f[0], 118)
	wantFailure(t, f[1], wire.FailureUnreachable, "ICMP Host Unreachable")
	wantFailure(t, f[2], wire.FailureTimeout, "is unreachable")
	if f[0].Counted != (Counted{}) { // it asks again until something is answered
		t.Errorf("%+v", f[0].Counted)
	}
}

func TestFpingRecords(t *testing.T) {
	f := fpingSample(t, "json-c.json", 2, 0)
	wantRTT(t, f[1], 0.225, 102)
	wantCounts(t, f[1], 3, 2, 1)
	f = fpingSample(t, "json-C-D-s.json", 1, 0)
	wantRTT(t, f[0], 0.054, 0.062, 0.081)
	wantCounts(t, f[0], 4, 3, 1)
	if want := time.Unix(1796069028, 753_926_000); f[0].Run.Start == nil || !f[0].Run.Start.Equal(want) {
		t.Errorf("start %v, want %v", f[0].Run.Start, want)
	}
}

func TestFpingUnknownRecordsAreIgnored(t *testing.T) {
	f := fpingSample(t, "json-cut.json", 2, 1) // and the last line, which is cut
	wantRTT(t, f[0], 5.12, 5.13)
}

// 100 % return or more: one request, two replies.
func TestFpingMoreRepliesThanRequests(t *testing.T) {
	f := fpingFindings(t, "192.0.2.255 : xmt/rcv/%return = 1/3/300%, min/avg/max = 0.05/0.06/0.08\n", 1, 1)
	if f[0].Counted.Lost || f[0].Run.Counts.Lost != 0 || f[0].Run.Counts.Received != 3 {
		t.Errorf("%+v %+v", f[0].Run.Counts, f[0].Counted)
	}
}

func TestFpingAnotherRunAppended(t *testing.T) {
	one := string(readSample(t, "testdata/fping/ipv6.txt"))
	f := fpingFindings(t, one+one, 2, 0)
	wantRTT(t, f[1], 0.056, 0.293)
	if f[1].Variant != "2" {
		t.Errorf("variant %q", f[1].Variant)
	}
}

func TestFpingIsNotWhatHasAColonAndNumbers(t *testing.T) {
	for _, text := range []string{"price : 10.55\n", "load : 0.10 0.20 0.30\n", "the database is alive\nand well\n", "[1, 2]\n", `{"resp": {"code": 200}}`, `{"summary": "text"}`, "192.0.2.1 : 0.10 0.20\n192.0.2.2 : 0.10\n\n"} {
		if f := Recognise([]byte(text)); f != nil {
			t.Errorf("%q is recognised as %s", text, f.Name)
		}
	}
}

// Beyond a million replies their order is given up, and no memory is taken for more; here beyond a hundred.
func TestFpingIsReadInConstantMemory(t *testing.T) {
	const n = 20_000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "192.0.2.1 : [%d], 64 bytes, 0.%03d ms (0.500 avg, 0%% loss)\n192.0.2.2 : [%d], 64 bytes, 1.00 ms (1.00 avg, 0%% loss)\n", i, 1+i%500, i)
	}
	d, budget := &Document{}, &echoBudget{replies: 100, bins: 600}
	if err := readFpingWithin(strings.NewReader(b.String()), d, budget); err != nil {
		t.Fatal(err)
	}
	for i, bins := range []int{500, 1} {
		f := d.Findings[i]
		if len(f.RTT) > 0 || f.Bins.Len() != n || len(f.Bins) != bins || f.Counted.Reordered || f.Bins[0].N != n/bins {
			t.Errorf("%d round trips, %d in %d bins, %+v", len(f.RTT), f.Bins.Len(), len(f.Bins), f.Counted)
		}
		wantCounts(t, f, n, n, 0)
	}
	if err := readFpingWithin(strings.NewReader(b.String()), &Document{}, &echoBudget{replies: 100, bins: 400}); err == nil || !strings.Contains(err.Error(), "split it") {
		t.Errorf("more different round trips than may be: %v", err)
	}
}

func BenchmarkFping(b *testing.B) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "192.0.2.1 : [%d], 64 bytes, 0.%03d ms (0.500 avg, 0%% loss)\n", i, 1+i%999)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := fping.Read(strings.NewReader(text.String())); err != nil {
			b.Fatal(err)
		}
	}
}

func TestFpingALineWithoutEnd(t *testing.T) {
	text := "192.0.2.1 : [0], 64 bytes, 0.05 ms (0.05 avg, 0% loss)\n" + strings.Repeat("x", maxFpingLine+1) + "\n192.0.2.1 : [1], 64 bytes, 0.06 ms (0.05 avg, 0% loss)\n"
	f := fpingFindings(t, text, 1, 1)
	wantRTT(t, f[0], 0.05, 0.06)
}

func TestFpingTooManyTargets(t *testing.T) {
	var b strings.Builder
	for i := range MaxFindings + 1 {
		fmt.Fprintf(&b, "host%d : xmt/rcv/%%loss = 1/0/100%%\n", i)
	}
	if _, err := convert(t, fping, []byte(b.String())); err == nil || !strings.Contains(err.Error(), "split it") {
		t.Errorf("%v", err)
	}
}
