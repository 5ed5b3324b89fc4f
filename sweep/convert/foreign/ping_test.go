package foreign

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestPing(t *testing.T) { testSamples(t, ping) }

func FuzzPing(f *testing.F) {
	fuzz(f, ping, 32, "PING a (192.0.2.1): 56 data bytes\n64 bytes from a: seq=65535 time=1 ms\n64 bytes from a: seq=0 time=1 ms\n",
		"Pinging a with 32 bytes of data:\nGeneral failure.\n", "ping: unknown host a\nPING b(b) 1 data bytes\n")
}

// pingSample is the only finding of a sample.
func pingSample(t *testing.T, name string) Finding {
	t.Helper()
	return pingText(t, string(readSample(t, "testdata/ping/"+name)), 0)
}

// pingText is the only finding of a text, of which so many parts are left out.
func pingText(t *testing.T, text string, left int) Finding {
	t.Helper()
	d := mustConvert(t, ping, []byte(text))
	if len(d.Findings) != 1 || d.LeftCount != left {
		t.Fatalf("%d findings, %d parts left out (%v), want 1 and %d", len(d.Findings), d.LeftCount, d.Left, left)
	}
	return d.Findings[0]
}

func wantRTT(t *testing.T, f Finding, ms ...float64) {
	t.Helper()
	want := make([]int64, len(ms))
	for i, v := range ms {
		want[i] = int64(math.Round(v * 1e6))
	}
	if !slices.Equal(f.RTT, want) {
		t.Errorf("round trips %v, want %v", f.RTT, want)
	}
}

func wantCounts(t *testing.T, f Finding, sent, received, lost int) {
	t.Helper()
	c, k := f.Run.Counts, f.Counted
	if c.Sent != sent || c.Received != received || c.Lost != lost || !k.Sent || !k.Received || !k.Lost {
		t.Errorf("sent %d, received %d, lost %d (known %v %v %v), want %d, %d, %d", c.Sent, c.Received, c.Lost, k.Sent, k.Received, k.Lost, sent, received, lost)
	}
}

func wantFailure(t *testing.T, f Finding, failure wire.Failure, detail string) {
	t.Helper()
	if f.Run.Failure != failure || !strings.Contains(f.Run.Detail, detail) || len(f.RTT) > 0 {
		t.Errorf("failure %q (%s), want %q with %q", f.Run.Failure, f.Run.Detail, failure, detail)
	}
}

func TestPingLostRepliesAreNoRoundTrips(t *testing.T) {
	f := pingSample(t, "iputils-D-O-loss.txt")
	wantRTT(t, f, 122, 16.4, 19.0, 18.4, 20.7, 26.1)
	wantCounts(t, f, 9, 6, 3)
	if f.Summary.Failures[wire.FailureTimeout] != 3 || f.To != "198.51.100.3" || f.Run.Address != "198.51.100.3" {
		t.Errorf("%+v", f)
	}
	// The stamp is that of the first reply, which took 122 ms.
	if want := time.Unix(1796069028, 594_726_000).UTC(); f.Run.Start == nil || !f.Run.Start.Equal(want) {
		t.Errorf("start %v, want %v", f.Run.Start, want)
	}
	if want := time.Unix(1796069030, 43_963_000).UTC(); f.Run.End == nil || !f.Run.End.Equal(want) {
		t.Errorf("end %v, want %v", f.Run.End, want)
	}
}

func TestPingDuplicatesAreNoSamples(t *testing.T) {
	for name, want := range map[string][]float64{"iputils-duplicates.txt": {122, 15.0, 16.3, 17.7}, "busybox-duplicates.txt": {121.701, 17.158, 19.134}} {
		f := pingSample(t, name)
		wantRTT(t, f, want...)
		wantCounts(t, f, len(want), len(want), 0)
		if f.Run.Counts.Duplicate != 2 || !f.Counted.Duplicate {
			t.Errorf("%s: %d duplicates", name, f.Run.Counts.Duplicate)
		}
	}
}

// The BSDs do not mark what another host replied: the number was there before.
func TestPingDuplicatesWithoutAMark(t *testing.T) {
	f := pingText(t, "PING 192.0.2.255 (192.0.2.255): 56 data bytes\n64 bytes from 192.0.2.1: icmp_seq=0 ttl=64 time=0.235 ms\n"+
		"64 bytes from 192.0.2.2: icmp_seq=0 ttl=64 time=4.224 ms\n64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=0.291 ms\n\n"+
		"--- 192.0.2.255 ping statistics ---\n2 packets transmitted, 2 packets received, +1 duplicates, 0.0% packet loss\nround-trip min/avg/max/stddev = 0.235/1.583/4.224/1.867 ms\n", 0)
	wantRTT(t, f, 0.235, 0.291)
	if f.Run.Counts.Duplicate != 1 || f.Run.Counts.Reordered != 0 {
		t.Errorf("%+v", f.Run.Counts)
	}
}

// The mean, maximum and deviation of a quiet ping are over duplicates too.
func TestPingQuietFiguresWithDuplicates(t *testing.T) {
	f := pingText(t, "PING a (192.0.2.1) 56(84) bytes of data.\n\n--- a ping statistics ---\n4 packets transmitted, 4 received, +2 duplicates, 0% packet loss, time 601ms\nrtt min/avg/max/mdev = 15.039/37.971/122.223/38.404 ms\n", 0)
	if s := f.Summary; s.Min == nil || *s.Min != 15.039e6 || s.Mean != nil || s.Max != nil || s.Stddev != nil || f.Run.Counts.Duplicate != 2 {
		t.Errorf("%+v", f.Summary)
	}
}

func TestPingOvertakenRepliesAreInTheOrderOfSending(t *testing.T) {
	f := pingSample(t, "iputils-reordered.txt")
	wantRTT(t, f, 106, 351, 16.1, 19.1)
	if f.Run.Counts.Reordered != 1 || !f.Counted.Reordered {
		t.Errorf("%d reordered, want 1", f.Run.Counts.Reordered)
	}
}

func TestPingWhatARouterSaysIsUnreachable(t *testing.T) {
	wantFailure(t, pingSample(t, "iputils-unreachable.txt"), wire.FailureUnreachable, "Destination Host Unreachable")
	wantFailure(t, pingSample(t, "iputils-ttl.txt"), wire.FailureUnreachable, "Time to live exceeded")
	wantFailure(t, pingSample(t, "macos-unreachable.txt"), wire.FailureUnreachable, "Destination Host Unreachable")
	f := pingSample(t, "iputils-unreachable-some.txt")
	wantRTT(t, f, 14.4)
	wantCounts(t, f, 3, 1, 2)
	if f.Run.Failure != "" || f.Summary.Failures[wire.FailureUnreachable] != 2 {
		t.Errorf("%q, %v", f.Run.Failure, f.Summary.Failures)
	}
}

func TestPingNothingReceivedIsATimeout(t *testing.T) {
	f := pingSample(t, "iputils-silent.txt")
	wantFailure(t, f, wire.FailureTimeout, "3 packets")
	wantCounts(t, f, 3, 0, 3)
}

func TestPingThatNeverBegan(t *testing.T) {
	for text, want := range map[string]struct {
		failure wire.Failure
		host    string
	}{
		"ping: nosuch.invalid: Name or service not known\n":                       {wire.FailureDNS, "nosuch.invalid"},
		"ping: nosuch.invalid: Temporary failure in name resolution\n":            {wire.FailureDNS, "nosuch.invalid"},
		"ping: unknown host nosuch.invalid\n":                                     {wire.FailureDNS, "nosuch.invalid"},
		"ping: cannot resolve nosuch.invalid: Unknown host\n":                     {wire.FailureDNS, "nosuch.invalid"},
		"ping: bad address 'nosuch.invalid'\n":                                    {wire.FailureDNS, "nosuch.invalid"},
		"$ ping a\nping: connect: Network is unreachable\n":                       {wire.FailureUnreachable, ""},
		"connect: Network is unreachable\n":                                       {wire.FailureUnreachable, ""},
		"ping: connect: No route to host\n":                                       {wire.FailureUnreachable, ""},
		"ping: socket: Operation not permitted\n":                                 {wire.FailureNotPermitted, ""},
		"ping: permission denied (are you root?)\n":                               {wire.FailureNotPermitted, ""},
		"ping: connect: Invalid argument\n":                                       {wire.FailureLocal, ""},
		"Ping request could not find host a.invalid. Please check the name and\n": {wire.FailureDNS, "a.invalid"},
	} {
		f := pingText(t, text, 0)
		wantFailure(t, f, want.failure, "")
		if f.To != want.host || f.Run.Detail == "" || f.Counted != (Counted{}) {
			t.Errorf("%q: to %q, detail %q, counted %v", text, f.To, f.Run.Detail, f.Counted)
		}
	}
	wantFailure(t, pingSample(t, "busybox-sendto.txt"), wire.FailureLocal, "Invalid argument")
}

// 0.000 ms stands where the clock was set back meanwhile.
func TestPingARoundTripOfZeroIsNone(t *testing.T) {
	f := pingText(t, "PING a (192.0.2.1) 56(84) bytes of data.\n64 bytes from a: icmp_seq=1 ttl=64 time=0.035 ms\nping: Warning: time of day goes back (-52us), taking countermeasures\n"+
		"64 bytes from a: icmp_seq=2 ttl=64 time=0.000 ms\n\n--- a ping statistics ---\n2 packets transmitted, 2 received, 0% packet loss, time 1ms\nrtt min/avg/max/mdev = 0.000/0.017/0.035/0.017 ms\n", 1)
	wantRTT(t, f, 0.035)
	wantCounts(t, f, 2, 2, 0)
	if f.Summary.Min != nil || f.Summary.Mean != nil {
		t.Errorf("%+v", f.Summary)
	}
}

func TestPingRepliesWithoutATime(t *testing.T) {
	f := pingSample(t, "iputils-no-times.txt")
	wantCounts(t, f, 3, 3, 0)
	if len(f.RTT) > 0 || f.Summary.Mean != nil || f.Run.Failure != "" {
		t.Errorf("%+v", f)
	}
}

// mdev is of the population: 47.739 ms of 4 samples is 55.124 ms of the sample.
func TestPingQuietTakesTheStatistics(t *testing.T) {
	f := pingSample(t, "iputils-q-loss.txt")
	wantCounts(t, f, 5, 4, 1)
	s := f.Summary
	if len(f.RTT) > 0 || *s.Min != 15.040e6 || *s.Mean != 44.318e6 || *s.Max != 126.983e6 || !within(*s.Stddev, 55.12425e6, 1e-6) {
		t.Errorf("%v %v %v %v", *s.Min, *s.Mean, *s.Max, *s.Stddev)
	}
}

func TestPingFloodHasNoLines(t *testing.T) {
	f := pingSample(t, "iputils-flood.txt")
	wantCounts(t, f, 20, 20, 0)
	if *f.Summary.Min != 1000 || *f.Summary.Max != 17000 {
		t.Errorf("%v %v", *f.Summary.Min, *f.Summary.Max)
	}
}

func TestPingThatWasCutCountsItsLines(t *testing.T) {
	whole := string(readSample(t, "testdata/ping/iputils-D-O-loss.txt"))
	text, _, _ := strings.Cut(whole, "\n\n---")
	f := pingText(t, text, 1)
	wantRTT(t, f, 122, 16.4, 19.0, 18.4, 20.7, 26.1)
	wantCounts(t, f, 8, 6, 2) // the ninth request is not told of
}

// Lines that were cut out of the middle: the statistics are of all replies, the lines are not.
func TestPingWithoutSomeOfItsLines(t *testing.T) {
	lines := strings.Split(string(readSample(t, "testdata/ping/iputils.txt")), "\n")
	f := pingText(t, strings.Join(slices.Delete(lines, 2, 3), "\n"), 1)
	if len(f.RTT) > 0 || f.Summary.Mean == nil || *f.Summary.Mean != 114_000 {
		t.Errorf("%+v", f)
	}
	wantCounts(t, f, 4, 4, 0)
}

// iputils 20221126, sent SIGQUIT in the middle of a run.
func TestPingThatWasAskedHowItGoes(t *testing.T) {
	f := pingText(t, "PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.\n64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.190 ms\n"+
		"\r1/1 packets, 0% loss, min/avg/ewma/max = 0.190/0.190/0.190/0.190 ms\n64 bytes from 127.0.0.1: icmp_seq=2 ttl=64 time=0.031 ms\n\n"+
		"--- 127.0.0.1 ping statistics ---\n2 packets transmitted, 2 received, 0% packet loss, time 20ms\nrtt min/avg/max/mdev = 0.031/0.110/0.190/0.079 ms\n", 0)
	wantRTT(t, f, 0.190, 0.031)
	wantCounts(t, f, 2, 2, 0)
}

func TestPingSeveralRunsOneBehindTheOther(t *testing.T) {
	d := mustConvert(t, ping, readSample(t, "testdata/ping/iputils-three-runs.txt"))
	if len(d.Findings) != 3 || d.LeftCount != 0 {
		t.Fatalf("%d findings, %v", len(d.Findings), d.Left)
	}
	if a, b, c := d.Findings[0], d.Findings[1], d.Findings[2]; a.Variant != "" || b.Variant != "" || b.Run.Failure != wire.FailureTimeout || c.Variant != "2" {
		t.Errorf("variants %q %q %q", a.Variant, b.Variant, c.Variant)
	}
}

// ICMP has 16 bits for the number: after 65535 comes 0.
func TestPingSequenceNumbersWrap(t *testing.T) {
	var b strings.Builder
	b.WriteString("PING a (192.0.2.1) 56(84) bytes of data.\n")
	for i := 1; i <= 131_100; i += 30 {
		fmt.Fprintf(&b, "64 bytes from a: icmp_seq=%d ttl=64 time=%d ms\n", i%65536, 1+i/65536)
	}
	f := pingText(t, b.String(), 1)
	if n := len(f.RTT); n != 4370 || f.Run.Counts.Duplicate != 0 || f.Run.Counts.Reordered != 0 || f.Run.Counts.Sent != 131_071 || f.RTT[n-1] != 2e6 {
		t.Errorf("%d round trips, %+v", n, f.Run.Counts)
	}
}

func TestPingNamesBothEnds(t *testing.T) {
	for header, want := range map[string][3]string{
		"PING a.example.net (192.0.2.1) from 192.0.2.9 eth0: 56(84) bytes of data.":            {"192.0.2.9", "a.example.net", "192.0.2.1"},
		"PING a.example.net(a.example.net (2001:db8::1)) from 2001:db8::9 eth0: 56 data bytes": {"2001:db8::9", "a.example.net", "2001:db8::1"},
		"PING a (192.0.2.1) from 192.0.2.9: 56 data bytes":                                     {"192.0.2.9", "a", "192.0.2.1"},
		"PING6(56=40+8+8 bytes) 2001:db8::9 --> 2001:db8::1":                                   {"2001:db8::9", "2001:db8::1", "2001:db8::1"},
		"Pinging a [192.0.2.1] from 192.0.2.9 with 32 bytes of data:":                          {"192.0.2.9", "a", "192.0.2.1"},
	} {
		reply := "64 bytes from x: icmp_seq=0 time=1 ms\n"
		if strings.HasPrefix(header, "Pinging") {
			reply = "Reply from 192.0.2.1: bytes=32 time=1ms TTL=64\n"
		}
		f := pingText(t, header+"\n"+reply, 1)
		if got := [3]string{f.From, f.To, f.Run.Address}; got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
		wantRTT(t, f, 1)
	}
}
