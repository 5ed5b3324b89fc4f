package foreign

import (
	"fmt"
	"strings"
	"testing"
)

func TestSockperfSamples(t *testing.T) { testSamples(t, sockperf) }

func FuzzSockperf(f *testing.F) {
	fuzz(f, sockperf, 21, "sockperf: ERROR: Can`t connect socket (errno=110 Connection timed out)\n",
		sockperfLogBegins+"\npacket, txTime(sec), rxTime(sec), rtt(usec)\n0, 1.000000000, 1.000000001, 0.001\n1, 2.000000000, 1.0, 5\n",
		"sockperf: ====> avg-rtt=1e999 (std-dev=-)\nsockperf: ---> <MIN> observation = 999999999999999999999999\n")
}

const sockperfHead = "sockperf: == version #3.10-23.gited92afb185e6 == \nsockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)\n\n[ 0] IP = 192.0.2.4       PORT = 11111 # TCP\n"

func sockperfFile(t *testing.T, name string) *Finding {
	t.Helper()
	d := mustConvert(t, sockperf, readSample(t, "testdata/sockperf/"+name))
	if len(d.Findings) != 1 || d.LeftCount != 0 {
		t.Fatalf("%s: %d findings, left out %v", name, len(d.Findings), d.Left)
	}
	return &d.Findings[0]
}

func explanationOf(f *Finding, column string) Explanation {
	for _, e := range f.Explained {
		if e.Column == column {
			return e
		}
	}
	return Explanation{}
}

func TestSockperfLatencyIsHalfARoundTripAndIsDoubled(t *testing.T) {
	f := sockperfFile(t, "ping-pong-tcp.txt")
	s := &f.Summary
	exactly(t, "mean", s.Mean, 27_960)
	exactly(t, "stddev", s.Stddev, 188_608)
	exactly(t, "min", s.Min, 16_390)
	exactly(t, "max", s.Max, 25_266_832)
	exactly(t, "p50", s.P50.Value, 17_542)
	exactly(t, "p90", s.P90.Value, 25_336)
	exactly(t, "p99", s.P99.Value, 182_956)
	exactly(t, "p999", s.P999.Value, 1_129_424)
	if e := explanationOf(f, "rtt_p50_us"); e != (Explanation{"rtt_p50_us", "8.771", "usec, half the round trip", "line 23"}) {
		t.Errorf("explained as %+v", e)
	}
	if f.Run.Kind != "tcp" || f.Run.Address != "127.0.0.1:11111" || f.To != "127.0.0.1" || f.Tool != "sockperf 3.7-no.git" {
		t.Errorf("%+v of %q to %q", f.Run, f.Tool, f.To)
	}
}

func TestSockperfRoundTripIsTakenAsItIs(t *testing.T) {
	f := sockperfFile(t, "ping-pong-tcp-full-rtt.txt")
	exactly(t, "mean", f.Summary.Mean, 70_286)
	exactly(t, "min", f.Summary.Min, 16_220)
	exactly(t, "p50", f.Summary.P50.Value, 17_934)
	if e := explanationOf(f, "rtt_p50_us"); e.Unit != "usec" {
		t.Errorf("explained as %+v", e)
	}
}

// The log of every message and the text are of one run; txTime and rxTime decide, and not the
// fourth column, which is halved.
func TestSockperfLogOfMessagesAgreesWithItsText(t *testing.T) {
	for _, name := range []string{"under-load-tcp", "under-load-lossy", "under-load-udp-full-rtt"} {
		text, log := sockperfFile(t, name+".txt"), sockperfFile(t, name+".csv")
		s := figuresOf(t, log)
		for _, c := range []struct {
			what      string
			log, text *float64
		}{{"mean", s.Mean, text.Summary.Mean}, {"min", s.Min, text.Summary.Min}, {"max", s.Max, text.Summary.Max}, {"stddev", s.Stddev, text.Summary.Stddev}} {
			if diff := *c.log - *c.text; diff > 3 || diff < -3 { // nanoseconds: it prints three places of half
				t.Errorf("%s: %s is %v in the log and %v in the text", name, c.what, *c.log, *c.text)
			}
		}
		// sockperf's rank is the nearest to p·n, ours the next above it: one apart at most.
		if s.P50.Value != nil && !within(*s.P50.Value, *text.Summary.P50.Value, 0.02) {
			t.Errorf("%s: the median is %v in the log and %v in the text", name, *s.P50.Value, *text.Summary.P50.Value)
		}
		if log.Run.Counts.Received != text.Run.Counts.Received || log.Run.Counts.Sent != text.Run.Counts.Sent || log.Run.Kind != sockperfUnnamed {
			t.Errorf("%s: %+v in the log, %+v in the text", name, log.Run, text.Run)
		}
	}
}

func TestSockperfQuantilesOfTooFewObservationsStayNull(t *testing.T) {
	s := sockperfFile(t, "under-load-tcp.txt").Summary // of 275
	unknown(t, "p99", s.P99.Value)
	unknown(t, "p999", s.P999.Value)
	exactly(t, "p90", s.P90.Value, 221_864)
	s = sockperfFile(t, "playback-udp.txt").Summary // of 14
	unknown(t, "p50", s.P50.Value)
	exactly(t, "max", s.Max, 431_687)
}

// --reply-every asks for a reply to every second message: the others are not lost.
func TestSockperfMessagesThatAskForNoReplyAreNotLost(t *testing.T) {
	f := sockperfFile(t, "under-load-tcp.txt")
	if c := f.Run.Counts; c.Sent != 275 || c.Received != 275 || c.Lost != 0 {
		t.Errorf("%+v", c)
	}
}

// Replies that overtook others are left out of ReceivedMessages, and are no RFC 4737 reordering.
func TestSockperfCountsOfALossyPath(t *testing.T) {
	f := sockperfFile(t, "under-load-lossy.txt")
	c := f.Run.Counts
	if c.Sent != 274 || c.Received != 247 || c.Lost != 27 || c.Duplicate != 7 || f.Counted.Reordered || f.Run.Failure != "" {
		t.Errorf("%+v, %+v", c, f.Counted)
	}
}

// MB are 1024² bytes, though they look decimal beside Mb: 593,918 messages a second of 1,400 bytes.
func TestSockperfBandwidthIsBinary(t *testing.T) {
	f := sockperfFile(t, "throughput-tcp.txt")
	bulk := f.Summary.Bulk
	if want := 593_918.0 * 1400 * 8; !within(*bulk.Throughput.UpBPS, want, 1e-6) {
		t.Errorf("%v bit/s, want %v", *bulk.Throughput.UpBPS, want)
	}
	if bulk.MovedBytes != 594_744*1400 || bulk.Throughput.Direction != "up" || f.Run.Kind != "throughput" {
		t.Errorf("%+v", bulk)
	}
	giga := sockperfFile(t, "throughput-tcp-giga.txt").Summary.Bulk
	if want := 583_257.0 * 1472 * 8; !within(*giga.Throughput.UpBPS, want, 1e-3) {
		t.Errorf("%v bit/s, want %v", *giga.Throughput.UpBPS, want)
	}
	if !within(float64(giga.MovedBytes), 583_554*1472, 2e-3) {
		t.Errorf("%d bytes moved", giga.MovedBytes)
	}
}

func TestSockperfThroughputOverUDPIsNoThroughput(t *testing.T) {
	_, err := convert(t, sockperf, readSample(t, "testdata/sockperf/throughput-udp.txt"))
	if err == nil || !strings.Contains(err.Error(), "nobody says what arrived") {
		t.Error(err)
	}
}

func TestSockperfFailures(t *testing.T) {
	for text, want := range map[string]string{
		string(readSample(t, "testdata/sockperf/refused-tcp.txt")):                                                    "tcp refused",
		string(readSample(t, "testdata/sockperf/none-udp.txt")):                                                       "udp timeout",
		string(readSample(t, "testdata/sockperf/no-observation.txt")):                                                 "udp canceled",
		"sockperf: ERROR: Can`t connect socket (errno=113 No route to host)\n":                                        "tcp unreachable",
		"sockperf: ERROR: Can`t connect socket (errno=110 Connection timed out)\n":                                    "tcp timeout",
		sockperfHead + "sockperf: ERROR: recvfrom() Failed receiving on fd[3] (errno=104 Connection reset by peer)\n": "tcp reset",
		sockperfHead + "sockperf: ERROR: Internal error\n":                                                            "tcp local",
	} {
		f := mustConvert(t, sockperf, []byte(text)).Findings[0]
		if got := fmt.Sprint(f.Run.Kind, " ", f.Run.Failure); got != want || f.Run.Detail == "" {
			t.Errorf("%s, %q: want %s", got, f.Run.Detail, want)
		}
	}
}

// What newer versions print behind std-dev, without colours, and one client after the other.
func TestSockperfOfNewerVersions(t *testing.T) {
	run := sockperfHead + `sockperf: [Total Run] RunTime=1.000 sec; Warm up time=400 msec; SentMessages=5000; ReceivedMessages=4999
sockperf: ========= Printing statistics for Server No: 0
sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=2000; ReceivedMessages=2000
sockperf: ====> avg-rtt=30.500 (std-dev=2.250, mean-ad=1.0, median-ad=0.9, siqr=0.5, cv=0.074, std-error=0.05, 99.0% ci=[30.3, 30.6])
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Round trip is 30.500 usec
sockperf: Total 2000 observations; each percentile contains 20.00 observations
sockperf: ---> <MAX> observation =   99.000
sockperf: ---> percentile 99.000 =   40.000
sockperf: ---> percentile 50.000 =   30.000
sockperf: ---> <MIN> observation =   20.000
`
	d := mustConvert(t, sockperf, []byte(run+run))
	if len(d.Findings) != 2 || d.LeftCount != 0 {
		t.Fatalf("%d findings, %v", len(d.Findings), d.Left)
	}
	f := &d.Findings[1]
	exactly(t, "stddev", f.Summary.Stddev, 2250)
	exactly(t, "p99", f.Summary.P99.Value, 40_000)
	unknown(t, "p90", f.Summary.P90.Value)
	if f.Tool != "sockperf 3.10-23.gited92afb185e6" || f.Run.Address != "192.0.2.4:11111" {
		t.Errorf("%q, %+v", f.Tool, f.Run)
	}
}

func TestSockperfServersApart(t *testing.T) {
	part := `sockperf: ========= Printing statistics for Server No: %d
sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=2000; ReceivedMessages=2000
sockperf: ====> avg-latency=%d.000 (std-dev=1.000)
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: ---> <MIN> observation = 1.000
`
	d := mustConvert(t, sockperf, []byte(sockperfHead+fmt.Sprintf(part, 0, 10)+fmt.Sprintf(part, 1, 20)))
	if len(d.Findings) != 2 || d.Findings[0].Variant != "" || d.Findings[1].Variant != "server-1" {
		t.Fatalf("%+v", d.Findings)
	}
	exactly(t, "the second's mean", d.Findings[1].Summary.Mean, 40_000)
}

func TestSockperfOfWhatIsCutOff(t *testing.T) {
	if _, err := convert(t, sockperf, []byte(sockperfHead)); err == nil || !strings.Contains(err.Error(), "ends before the statistics") {
		t.Error(err)
	}
	d := mustConvert(t, sockperf, readSample(t, "testdata/sockperf/cut-off.txt")) // behind the averages
	exactly(t, "mean", d.Findings[0].Summary.Mean, 144_532)
	unknown(t, "p50", d.Findings[0].Summary.P50.Value)
	if d.LeftCount != 1 {
		t.Errorf("left out: %v", d.Left)
	}
	log := readSample(t, "testdata/sockperf/under-load-tcp.csv")
	d = mustConvert(t, sockperf, log[:len(log)*2/3])
	exactly(t, "mean of the text above the log", d.Findings[0].Summary.Mean, 144_532)
	if d.LeftCount != 2 || len(d.Findings[0].RTT) != 0 { // the cut line, and that it is cut
		t.Errorf("%d round trips, left out: %v", len(d.Findings[0].RTT), d.Left)
	}
	mixed := sockperfHead + "[ 1] IP = 192.0.2.5       PORT = 11111 # UDP\nsockperf: ====> avg-latency=1.000 (std-dev=1.000)\n"
	if _, err := convert(t, sockperf, []byte(mixed)); err == nil || !strings.Contains(err.Error(), "TCP and UDP together") {
		t.Error(err)
	}
	if _, err := convert(t, sockperf, readSample(t, "testdata/sockperf/server.txt")); err == nil || !strings.Contains(err.Error(), "server") {
		t.Error(err)
	}
}
