package main

import (
	"io"
	"strings"
	"testing"

	"isochrone/sweep/config"
)

func TestHistoryIsANumberOfWeeks(t *testing.T) {
	for text, want := range map[string]history{"8w": 8, "1w": 1, "104w": 104, "8": -1, "0w": -1, "-1w": -1, "105w": -1, "w": -1, "8d": -1, "": -1} {
		o, err := parse([]string{"--history", text}, io.Discard)
		if (err != nil) != (want < 0) || err == nil && o.history != want {
			t.Errorf("--history %q: %d, %v", text, o.history, err)
		}
	}
}

func TestTheEnvironmentsNameSaysThatThereIsHistory(t *testing.T) {
	body, err := historical([]byte("version: 1 # environment: x\nenvironment: dev\nprobers:\n"))
	if err != nil || !strings.Contains(string(body), "\nenvironment: history\n") || !strings.Contains(string(body), "# environment: x") {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := historical([]byte("version: 1\n")); err == nil {
		t.Error("a configuration without an environment is taken")
	}
	if _, err := config.Parse(body); err == nil {
		t.Error("half a configuration is one")
	}
}
