package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// keyed plans a run of a target with a shared key.
func keyed(t *testing.T, f pingFlags) (*ping, error) {
	t.Helper()
	f.keyFile = filepath.Join(t.TempDir(), "key")
	if err := writeKeyFile(f.keyFile); err != nil {
		t.Fatal(err)
	}
	return planPing("10.0.0.4", &f, func(string) bool { return false })
}

// A reflector ends the session after an hour, and says nothing from then on.
func TestNoRunOutlivesItsSession(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name  string
		flags pingFlags
		ends  time.Duration // at the latest; 0: refused
	}{
		{"a closed loop of many samples", pingFlags{count: wire.MaxSamples, timeout: 2 * time.Second}, time.Hour - sessionMargin},
		{"a closed loop of few", pingFlags{count: 100, timeout: 2 * time.Second}, 200*time.Second + openingBound},
		{"a closed loop for just under an hour", pingFlags{during: 3585 * time.Second, timeout: 2 * time.Second}, time.Hour - sessionMargin},
		{"a closed loop for an hour", pingFlags{during: time.Hour, timeout: 2 * time.Second}, 0},
		{"a schedule of just under an hour", pingFlags{count: 3582, interval: time.Second, timeout: 2 * time.Second}, time.Hour - sessionMargin},
		{"a schedule of an hour", pingFlags{count: 3600, interval: time.Second, timeout: 2 * time.Second}, 0},
	} {
		p, err := keyed(t, c.flags)
		if c.ends == 0 {
			if err == nil || !strings.Contains(err.Error(), "want at most 59m45s") {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		req, err := p.request("10.0.0.4:7700", now)
		if err != nil {
			t.Fatal(err)
		}
		if ends := req.Deadline.Sub(now); ends > c.ends {
			t.Errorf("%s: it ends after %s, want at most %s", c.name, ends, c.ends)
		}
	}
}
