package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The examples of docs/query.md run as they stand there, against the app on real storage. The key is the host's
// business: whoever is behind the host has shown it.
func TestTheExamplesOfTheQueryPage(t *testing.T) {
	s := onStorage(t)
	s.configure(t)
	rtt := make([]int64, 100)
	for i := range rtt {
		rtt[i] = int64(18*time.Millisecond) + int64(i)*1000
	}
	s.putRun(t, time.Now().UTC().Add(-time.Minute).Truncate(time.Minute), rtt)
	server := httptest.NewServer(s.app.handler())
	defer server.Close()

	page, err := os.ReadFile("../docs/query.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 3 {
		t.Fatalf("only %d blocks of commands", len(blocks))
	}
	script := "set -euo pipefail\n"
	for _, b := range blocks {
		script += b[1]
	}
	shell := exec.CommandContext(t.Context(), "bash", "-c", script)
	shell.Env = append(os.Environ(), "ISOCHRONE_QUERY_URL="+server.URL+queryPath, "ISOCHRONE_QUERY_KEY=any", "no_proxy=127.0.0.1")
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the page's commands: %v\n%s", err, out)
	}
	for _, want := range []string{`"probe": "tcp-64"`, `"p50_us": 18049`, "/query/rank", "\n304\n", "target: want a name of the configuration", "limit: it has source, target"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the commands do not print %q:\n%s", want, out)
		}
	}
}
