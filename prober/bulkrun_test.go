package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isochrone/prober/probe"
)

func TestARunThatLoadsTheNetworkSaysHowFarItIs(t *testing.T) {
	var out bytes.Buffer
	l := &bulkDisplay{run: &bulkRun{progress: func(p probe.Progress) string { return "so many" }}, out: &out, every: time.Minute}
	l.start()
	p := probe.Progress{Elapsed: 2 * time.Second, Of: 8 * time.Second}
	l.observe(p)
	l.observe(p) // too early for another line
	l.shown = time.Now().Add(-time.Minute)
	p.Elapsed = 20 * time.Second // longer than it was to take
	l.observe(p)
	l.finish()
	if want := " 25 %, after 2s: so many\n100 %, after 20s: so many\n\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestABarIsRewrittenAndCleared(t *testing.T) {
	var out bytes.Buffer
	l := &bulkDisplay{run: &bulkRun{progress: func(probe.Progress) string { return "so many" }}, out: &out, bar: true}
	l.start()
	l.observe(probe.Progress{Elapsed: time.Second, Of: 2 * time.Second})
	l.finish()
	want := "\r[##########          ]  50 %, so many"
	if got := out.String(); got != want+"\r"+strings.Repeat(" ", len(want)-1)+"\r\n" {
		t.Errorf("%q", got)
	}
}

// As by Ctrl-C: what there is, is printed.
func TestARunThatIsStoppedPrintsWhatThereIs(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := writeKeyFile(key); err != nil {
		t.Fatal(err)
	}
	r := startReflector([]string{"--key-file", key})
	defer r.end(t)
	address := r.address()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"saturate", address, "-t", "30"}, "stopped before the last level was over"},
		{[]string{"stream", address, "-n", "100000", "--sink-rate", "500"}, "stopped before every message was taken"},
	} {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		var out, errs bytes.Buffer
		began := time.Now()
		code := run(ctx, append(c.args, "--key-file", key, "-q", "--max-bytes", "9GB"), func(string) string { return "" }, &out, &errs)
		stop()
		if took := time.Since(began); code != exitOK || took > 8*time.Second || !strings.Contains(out.String(), c.want) || !strings.Contains(out.String(), " moved\n") {
			t.Errorf("%q after %s: code %d\n%s%s", c.args[0], took, code, &out, &errs)
		}
	}
}
