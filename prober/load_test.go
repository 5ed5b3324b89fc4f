package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/prober/probe"
	"isochrone/prober/wire"
)

func TestAnInterruptedLoadPrintsWhatThereIs(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var asked sync.Once
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Do(func() { time.AfterFunc(300*time.Millisecond, stop) })
		_, _ = w.Write([]byte("hello"))
	}))
	defer web.Close()
	out, complaints := &output{}, &output{}
	code := run(ctx, []string{"load", web.URL, "-u", "3", "-t", "5m", "--ramp", "0", "-q"}, func(string) string { return "" }, out, complaints)
	if code != exitOK || complaints.String() != "" {
		t.Fatalf("code %d: %s", code, complaints)
	}
	for _, want := range []string{"\nstopped before every request was sent and answered\n", "\nthe answers do not say what the server took (Server-Timing)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestALoadShowsHowFarItIs(t *testing.T) {
	byLoops := wire.Spec{Bulk: wire.Bulk{Users: 10, Loops: 20}}
	for _, c := range []struct {
		spec wire.Spec
		at   probe.Progress
		want string
	}{
		{byLoops, probe.Progress{Elapsed: 11 * time.Second, Requests: 50, Outstanding: 10}, " 25 %, 50 answered after 11s, 10 under way\n"},
		{byLoops, probe.Progress{}, "  0 %, 0 answered after 0s, 0 under way\n"},
		{wire.Spec{Bulk: wire.Bulk{Users: 10}}, probe.Progress{Elapsed: 30 * time.Second, Of: time.Minute, Requests: 7}, " 50 %, 7 answered after 30s, 0 under way\n"},
		{wire.Spec{Bulk: wire.Bulk{Users: 10}}, probe.Progress{Elapsed: 2 * time.Minute, Of: time.Minute}, "100 %, 0 answered after 2m0s, 0 under way\n"},
	} {
		out := &output{}
		d := newLoadDisplay(&load{flags: &loadFlags{}, spec: c.spec}, &terminal{stdout: out})
		d.observe(c.at)
		if d.show(); out.String() != c.want {
			t.Errorf("%+v is shown as %q, want %q", c.at, out, c.want)
		}
		out = &output{}
		d.out, d.bar = out, true
		d.show()
		if bar := out.String(); !strings.HasPrefix(bar, "\r[") || len(bar) > 81 || strings.Contains(bar, "\n") {
			t.Errorf("%+v is shown as %q on a terminal", c.at, bar)
		}
	}
}
