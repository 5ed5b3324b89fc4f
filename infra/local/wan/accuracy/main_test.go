package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"isochrone/infra/local/wan"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == wan.RelayArgument {
		os.Exit(wan.RelayMain(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// How good the figures are is no matter for a test on a machine that does other things too.
func TestFiguresOfThreeRoundTrips(t *testing.T) {
	var out, complaints bytes.Buffer
	if code := run(t.Context(), []string{"-count", "20", "-awake"}, &out, &complaints); code != 0 {
		t.Fatalf("exit code %d: %s", code, complaints.String())
	}
	form := regexp.MustCompile(`^ +(1|20|180)ms  measured less applied: p1 [+-]\d+\.\d{3} p50 .* ms; relay's processor time \d+\.\d %$`)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, l := range lines {
		if !form.MatchString(l) {
			t.Errorf("%q", l)
		}
	}
	if len(lines) != 3 {
		t.Errorf("%d lines, want 3", len(lines))
	}
}
