package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"isochrone/prober/probe"
	"isochrone/prober/report"
	"isochrone/prober/wire"
)

// shown makes a display of so many samples at one a second, in which the first was due at begin.
func shown(count int) (*display, *output) {
	out := &output{}
	p := &ping{flags: &pingFlags{}, target: target{kind: wire.KindTCP}, secret: []byte("a key"), spec: wire.Spec{Count: count, Warmup: 1, Interval: time.Second, Timeout: 2 * time.Second}}
	d := newDisplay(p, &terminal{stdout: out, stderr: out}, probe.Request{})
	d.address = "10.0.0.4:7700"
	return d, out
}

func TestEveryReplyHasItsLine(t *testing.T) {
	d, out := shown(5)
	now := time.Now()
	for _, r := range []probe.Reply{
		{Sequence: -1, RTT: 30 * time.Millisecond},
		{Sequence: 0, RTT: 21483 * time.Microsecond},
		{Sequence: 0, RTT: 22 * time.Millisecond, Duplicate: true},
		{Sequence: 1, RTT: 2100 * time.Millisecond, Late: true},
		{Sequence: 3, Failure: wire.FailureRefused},
	} {
		d.reply(event{r, now})
	}
	run := wire.Run{Counts: wire.Counts{Sent: 5}, Samples: wire.Samples{
		SentNS:  wire.Column{0, 1, 2, 3, wire.Null},
		Failure: wire.FailureColumn{"", wire.FailureTimeout, wire.FailureReset, wire.FailureRefused, wire.FailureCanceled},
	}}
	d.finish(&run)
	want := `warm-up from 10.0.0.4:7700 time=30.000 ms   (left out)
seq=0 from 10.0.0.4:7700 time=21.483 ms
seq=0 from 10.0.0.4:7700 time=22.000 ms   duplicate
seq=1 from 10.0.0.4:7700 time=2100.000 ms   late: counts as lost
seq=3 connection refused (refused)
seq=2 connection cut (reset)

`
	if out.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", out, want)
	}
}

// The schedule begins where a reply says, and a sample is lost when its timeout is over.
func TestSamplesAreLostAsTheyHappen(t *testing.T) {
	d, out := shown(10)
	now := time.Now()
	d.lose()
	if d.untilLost() != time.Hour || out.String() != "" {
		t.Fatalf("before the session stands, something is lost:\n%s", out)
	}
	// Sample 1 left two seconds ago, so sample 0 was due three seconds ago and has had its two, and
	// sample 2 was due one second ago.
	d.reply(event{probe.Reply{Sequence: 1, RTT: time.Millisecond}, now.Add(-2 * time.Second)})
	d.lose()
	if got := strings.Count(out.String(), "no reply"); got != 1 || !strings.Contains(out.String(), "seq=0 no reply within 2s\n") {
		t.Errorf("shown:\n%s\nwant sample 0 to be lost and no other", out)
	}
	if left := d.untilLost(); left <= 0 || left > 1200*time.Millisecond {
		t.Errorf("the next is lost in %s, want about a second", left)
	}
	d.reply(event{probe.Reply{Sequence: 0, RTT: 5 * time.Second, Late: true}, now})
	if !strings.Contains(out.String(), "seq=0 from 10.0.0.4:7700 time=5000.000 ms   late") {
		t.Errorf("a late reply is not shown:\n%s", out)
	}
}

func TestProgressIsBounded(t *testing.T) {
	out := &output{}
	p := &ping{flags: &pingFlags{}, target: target{kind: wire.KindTCP}, spec: wire.Spec{Count: 100, Interval: time.Millisecond, Timeout: time.Second}}
	d := newDisplay(p, &terminal{stdout: out, stderr: out}, probe.Request{First: time.Now().Add(-time.Hour)})
	d.observe(probe.Reply{Sequence: 1})
	d.observe(probe.Reply{Sequence: 2, Late: true})
	d.observe(probe.Reply{Sequence: -1})
	d.progress()
	if !strings.HasPrefix(out.String(), "100 %, 1 replies after 1h0m0s") {
		t.Errorf("%q", out)
	}
	d.bar = true
	d.progress()
	if !strings.Contains(out.String(), "\r["+strings.Repeat("#", 30)+"] 100 %, 1 replies") {
		t.Errorf("%q", out)
	}
}

// Ctrl-C ends the run early, prints what was measured, and is no failure when something was.
func TestAnInterruptedRunPrintsWhatItHas(t *testing.T) {
	key := t.TempDir() + "/key"
	if err := writeKeyFile(key); err != nil {
		t.Fatal(err)
	}
	r := startReflector([]string{"--key-file", key})
	t.Cleanup(func() { r.end(t) })
	address := r.address()
	for _, kind := range []string{"connect", "tcp", "udp", "icmp"} {
		t.Run(kind, func(t *testing.T) {
			args := []string{"ping", address, "--kind", kind, "-i", "200ms", "-n", "1000", "--json"}
			switch kind {
			case "tcp", "udp":
				args = append(args, "--key-file", key)
			case "icmp":
				args[1] = "127.0.0.1"
			}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			out, said := &output{}, &output{}
			code := make(chan int, 1)
			go func() { code <- run(ctx, args, func(string) string { return "" }, out, said) }()
			for range 1000 {
				if strings.Contains(said.String(), "seq=1 ") {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			interrupt()
			select {
			case got := <-code:
				if got != exitOK {
					t.Fatalf("exit code %d:\n%s%s", got, out, said)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it did not end")
			}
			var d report.Document
			if err := json.Unmarshal([]byte(out.String()), &d); err != nil {
				t.Fatal(err)
			}
			if !d.Interrupted || d.Counts.Received < 2 || d.Counts.Sent >= 1000 || d.Samples.Len() != d.Counts.Sent || d.Failure != "" {
				t.Errorf("interrupted %v, %d samples, counts %+v", d.Interrupted, d.Samples.Len(), d.Counts)
			}
		})
	}
}

func TestTheBarFitsTheTerminal(t *testing.T) {
	for columns, want := range map[int]int{0: 30, 200: 30, 80: 30, 55: 30, 40: 15, 25: 0, 3: 0} {
		if got := barWidth(columns); got != want {
			t.Errorf("%d columns: a bar of %d, want %d", columns, got, want)
		}
	}
}
