package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"isochrone/prober/wire"
)

func TestARunThatTheAppRulesOutCarriesTheAppsReason(t *testing.T) {
	const older = "the app knew of it when the sweep was planned" // an app that gives no reason
	for name, c := range map[string]struct{ told, want string }{
		"a reason":           {"the target never registered", "the target never registered"},
		"an older app":       {"", older},
		"a reason too large": {strings.Repeat("x", 2*wire.MaxDetailBytes), strings.Repeat("x", wire.MaxDetailBytes)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				as := assignment("tcp-64", "EASTUS")
				as.Runs[0].Detail = c.told
				a, courier, box, _ := rig(giving(as))
				live(t, a, courier, 2*time.Minute)
				if r := only(t, box).Runs[0]; r.Failure != wire.FailureTargetDown || r.Detail != c.want {
					t.Errorf("failure %q with detail %q: want %q", r.Failure, r.Detail, c.want)
				}
			})
		})
	}
}
