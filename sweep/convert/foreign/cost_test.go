package foreign

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// These texts are small for what they once cost: each made a reader go through the whole of it, or of
// an object, again for every part.
func TestManyPartsAreReadInTheTimeOfTheirText(t *testing.T) {
	codes := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"RunType":"HTTP","StartTime":"2026-11-30T10:00:00Z","ActualQPS":1,"NumThreads":1,"DurationHistogram":{"Count":5},"RetCodes":{`)
		for i := range n {
			fmt.Fprintf(&b, `"c%d":1,`, i)
		}
		return b.String() + `"200":5}}`
	}
	for what, c := range map[string]struct {
		format *Format
		text   string
	}{
		"reports without anything": {mtr, strings.Repeat(`{"report":1}`+"\n", 300_000)},
		"reports without a hub":    {mtr, strings.Repeat(`{"report":{"mtr":{"dst":"a"},"hubs":[1]}}`, 9_000) + strings.Repeat("\n", 8<<20)},
		"ends of runs":             {ntttcp, strings.Repeat(`{"ntttcps":{"computername":"a","version":"1-linux"}}`, 9_000) + strings.Repeat("\n", 8<<20)},
		"codes":                    {fortio, codes(200_000)},
		"objects on one line":      {ethr, strings.Repeat(`{"Time":"2026-11-30T10:00:00Z","Title":"","Type":"INFO","Message":"x"}`, 200_000)},
		"results without anything": {atlas, strings.Repeat("{}", 2<<20)},
	} {
		began := time.Now()
		_, err := c.format.Read(strings.NewReader(c.text))
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: %d bytes took %v", what, len(c.text), took)
		}
		if _, ok := err.(*Fault); err != nil && !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// repeated is a text that is given over and over again, with its number in it.
type repeated struct {
	part  func(n int) string
	n, of int
	rest  []byte
}

func (r *repeated) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.n == r.of {
			return 0, io.EOF
		}
		r.rest = []byte(r.part(r.n))
		r.n++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// What is read as a stream may have any size: findings must keep a few bytes of it, and not the lines
// and rows that those stood in.
func TestStreamsLeaveTheirTextBehind(t *testing.T) {
	long := strings.Repeat("x", 60<<10)
	const runs = 150 // 9 MB
	for what, c := range map[string]struct {
		format *Format
		part   func(n int) string
	}{
		"rows with long columns": {connectionMonitor, func(n int) string {
			return fmt.Sprintf(`{"TimeGenerated":"2026-11-30T10:00:00Z","ChecksTotal":3,"ChecksFailed":3,"SourceName":"a","DestinationName":"b%d","TestResult":"Fail","Issues":"%s"}`+"\n", n, long)
		}},
		"table with long columns": {connectionMonitor, func(n int) string {
			if n == 0 {
				return "TimeGenerated,ChecksTotal,ChecksFailed,SourceName,DestinationName,Hops\n"
			}
			return fmt.Sprintf("2026-11-30T10:00:00Z,3,1,a,b%d,%s\n", n, long)
		}},
		"long lines": {sockperf, func(n int) string {
			return "sockperf: == version #3.7 == \n[ 0] IP = 192.0.2.4       PORT = 11111 # TCP " + long + "\nsockperf: ERROR: refused " + long + "\n"
		}},
		"long names": {fping, func(n int) string {
			return fmt.Sprintf(`{"summary":{"host":"b%d","xmt":3,"rcv":0,"more":"%s"}}`+"\n", n, long)
		}},
		"long lines of text": {fping, func(n int) string {
			return fmt.Sprintf("h%d %s : xmt/rcv/%%loss = 3/3/0%%, min/avg/max = 0.1/0.2/0.3\n", n, strings.Repeat(" ", 60<<10))
		}},
	} {
		if kept := keptOf(t, what, c.format, &repeated{part: c.part, of: runs}); kept > 4<<20 {
			t.Errorf("%s: %d MiB are kept", what, kept>>20)
		}
	}
}

// keptOf is how many bytes are in use when a text has been read.
func keptOf(t *testing.T, what string, f *Format, in io.Reader) int64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	d, err := f.Read(in)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	runtime.KeepAlive(d)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// Summaries of intervals become no findings, so that their number alone bounds what is kept of them.
func TestFpingIntervalsOfTooManyTargets(t *testing.T) {
	_, err := fping.Read(&repeated{of: 1 << 20, part: func(n int) string {
		if n == 0 {
			return "[12:00:00]\n"
		}
		return fmt.Sprintf("h%d : xmt/rcv/%%loss = 1/1/0%%, min/avg/max = 0.1/0.1/0.1\n", n)
	}})
	if err == nil || !strings.Contains(err.Error(), "split it") {
		t.Error(err)
	}
}

// A run that cannot be is left out, and takes no other with it.
func TestAFindingThatNoRowCanHoldIsLeftOut(t *testing.T) {
	text := "PING a (192.0.2.1) 56(84) bytes of data.\n[946684800.500000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=9000 ms\n\n--- a ping statistics ---\n1 packets transmitted, 1 received, 0% packet loss, time 0ms\n" +
		"PING b (192.0.2.2) 56(84) bytes of data.\n[1790000000.500000] 64 bytes from 192.0.2.2: icmp_seq=1 ttl=64 time=9 ms\n\n--- b ping statistics ---\n1 packets transmitted, 1 received, 0% packet loss, time 0ms\n"
	d, err := ping.Read(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Findings) != 1 || d.Findings[0].To != "b" || d.LeftCount != 1 || !strings.Contains(d.Left[0].Error(), `to "a"`) {
		t.Errorf("%d findings, left out %v", len(d.Findings), d.Left)
	}
}

// Names of threads are kept to count them, and are as long as somebody makes them.
func TestJMeterKeepsNoLongNamesOfThreads(t *testing.T) {
	long := strings.Repeat("x", 900)
	j := newJTLFold(&Document{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const users = 20_000
	for i := range 2 * users {
		s := jtlSample{line: i}
		s.field[jtlElapsed], s.field[jtlLabel], s.field[jtlSuccess] = []byte("7"), []byte("a"), []byte("true")
		s.field[jtlThread] = fmt.Appendf(nil, "%s %d", long, i%users)
		if _, err := j.add(&s); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 6<<20 {
		t.Errorf("%d MiB are kept", kept>>20)
	}
	if err := j.findings(); err != nil {
		t.Fatal(err)
	}
	if n := j.d.Findings[0].Summary.Bulk.Load.Users; n == nil || *n != users {
		t.Errorf("%v users", n)
	}
}
