package wire

import (
	"strings"
	"testing"
)

func TestCountsOfStampsAreBounded(t *testing.T) {
	for _, n := range []int{-1, MaxSamples + 1} {
		for name, r := range map[string]Run{"steps": {ClockSteps: &n}, "unstamped": {Unstamped: &n}} {
			if err := r.validate(); err == nil || !strings.Contains(err.Error(), "unstamped_count cannot be") {
				t.Errorf("%s of %d: %v", name, n, err)
			}
		}
	}
	zero := 0
	if err := (&Run{ClockSteps: &zero, Unstamped: &zero}).validate(); strings.Contains(err.Error(), "unstamped_count") {
		t.Errorf("none: %v", err)
	}
}
