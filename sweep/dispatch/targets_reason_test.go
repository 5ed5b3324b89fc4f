package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"isochrone/prober/wire"
)

// details are the distinct reasons for which westeurope is not measured, by kind.
func details(t *testing.T, b *bench) map[wire.Kind]string {
	t.Helper()
	out := map[wire.Kind]string{}
	for _, a := range b.plan(t, slot).Assignments {
		for _, r := range a.Runs {
			if r.Target != "westeurope" {
				if r.Detail != "" {
					t.Errorf("a run to %s has detail %q", r.Target, r.Detail)
				}
				continue
			}
			if before, ok := out[a.Spec.Kind]; ok && before != r.Detail {
				t.Errorf("%s: details %q and %q for one target", a.Spec.Kind, before, r.Detail)
			}
			out[a.Spec.Kind] = r.Detail
		}
	}
	return out
}

func TestAPlanSaysWhyATargetIsDown(t *testing.T) {
	for name, c := range map[string]struct {
		change       func(r *wire.Registration)
		tcp, connect string
	}{
		"nothing wrong": {change: func(*wire.Registration) {}},
		"an old heartbeat": {
			change:  func(r *wire.Registration) { r.Heartbeat = slot.Add(-2 * time.Minute) },
			tcp:     "the target's heartbeat of 2026-11-30T10:18:00Z is older than three intervals of 30s",
			connect: "the target's heartbeat of 2026-11-30T10:18:00Z is older than three intervals of 30s",
		},
		"a heartbeat of next year": {
			change:  func(r *wire.Registration) { r.Heartbeat = slot.AddDate(1, 0, 0) },
			tcp:     "the target's heartbeat of 2027-11-30T10:20:00Z lies ahead of the app's clock by more than three intervals of 30s",
			connect: "the target's heartbeat of 2027-11-30T10:20:00Z lies ahead of the app's clock by more than three intervals of 30s",
		},
		"an address outside": {
			change:  func(r *wire.Registration) { r.Addresses[0].Host = "10.0.0.4" },
			tcp:     `the target's address "10.0.0.4" is not usable: [10.0.0.4] lies outside what sweep.yaml permits`,
			connect: `the target's address "10.0.0.4" is not usable: [10.0.0.4] lies outside what sweep.yaml permits`,
		},
		"a name that does not resolve": {
			change:  func(r *wire.Registration) { r.Addresses[0].Host = "gone.example.com" },
			tcp:     `the target's address "gone.example.com" is not usable: resolving "gone.example.com": no such host`,
			connect: `the target's address "gone.example.com" is not usable: resolving "gone.example.com": no such host`,
		},
		"no address": {
			change:  func(r *wire.Registration) { r.Addresses = nil },
			tcp:     `the target registered no address on path "public"`,
			connect: `the target registered no address on path "public"`,
		},
		"another version of assignments": {
			change: func(r *wire.Registration) { r.ReadsAssignments = []int{99} },
			tcp:    "the target reads no assignment version that this app writes: it writes version 1",
		},
		"a registration with two faults": {
			change:  func(r *wire.Registration) { r.Environment, r.Addresses[0].TCPPort = "prod", 0 },
			tcp:     `the target's registration is refused: environment "prod": want "test1"; addresses[0]: TCP port 0: want 1 to 65535`,
			connect: `the target's registration is refused: environment "prod": want "test1"; addresses[0]: TCP port 0: want 1 to 65535`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			r := b.registration("westeurope")
			c.change(&r)
			b.store.Register("westeurope", encode(t, r))
			b.sweep(t)
			got := details(t, b)
			if got[wire.KindTCP] != c.tcp || got[wire.KindConnect] != c.connect {
				t.Errorf("details are %q\nwant tcp %q\nconnect %q", got, c.tcp, c.connect)
			}
			b.told(t, slot)
			var told wire.Current
			if err := json.Unmarshal(b.store.Current("eastus"), &told); err != nil {
				t.Fatal(err)
			}
			for _, a := range told.Assignments {
				for _, run := range a.Runs {
					if run.Target == "westeurope" && run.Detail != got[a.Spec.Kind] {
						t.Errorf("the source is told %q for %s", run.Detail, a.Spec.Kind)
					}
				}
			}
		})
	}
}

func TestAPlanSaysThatATargetNeverRegistered(t *testing.T) {
	b := newBench(t)
	b.store = reregister(t, b, "eastus", "northeurope")
	b.sweep(t)
	for kind, got := range details(t, b) {
		if got != "the target never registered" {
			t.Errorf("%s: detail %q", kind, got)
		}
	}
}

// garbler answers every look-up with an error that repeats what it read, as resolvers do.
type garbler struct{}

func (garbler) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, errors.New("answer \x1b[2J\nof " + strings.Repeat("é", wire.MaxDetailBytes))
}

// A plan is read by people: what others say cannot break its lines, nor outgrow them.
func TestAReasonIsOneLineOfBoundedLength(t *testing.T) {
	b := newBench(t)
	r := b.registration("westeurope")
	r.Addresses[0].Host = "weu.example.com"
	b.store.Register("westeurope", encode(t, r))
	d := b.dispatcher()
	d.Resolver = garbler{}
	if _, err := d.Sweep(t.Context(), slot, nil); err != nil {
		t.Fatal(err)
	}
	const want = `the target's address "weu.example.com" is not usable: resolving "weu.example.com": answer  [2J; of éé`
	for kind, got := range details(t, b) {
		if !strings.HasPrefix(got, want) || len(got) > wire.MaxDetailBytes || len(got) < wire.MaxDetailBytes-1 || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes, detail %q", kind, len(got), got)
		}
	}
}

// age registers the probers with heartbeats of that age.
func (b *bench) age(t *testing.T, age time.Duration, ids ...string) {
	t.Helper()
	for _, id := range ids {
		r := b.registration(id)
		r.Heartbeat = b.clock().Add(-age)
		b.store.Register(id, encode(t, r))
	}
}

// down counts the runs of the plan that are not to be made, by target.
func down(t *testing.T, b *bench) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, a := range b.plan(t, slot).Assignments {
		for _, r := range a.Runs {
			if r.Failure != "" {
				out[r.Target]++
			} else if want := probers[r.Target] + ":7700"; r.Address != want {
				t.Errorf("the run to %s goes to %s: want %s", r.Target, r.Address, want)
			}
		}
	}
	return out
}

// While storage is away nobody can renew a heartbeat: that says nothing of the probers.
func TestProbersThatAreAllStaleAtOnceAreMeasured(t *testing.T) {
	b := newBench(t)
	b.age(t, 20*time.Minute, "eastus", "northeurope", "westeurope")
	report := b.sweep(t)
	if got := down(t, b); len(got) != 0 || report.Down != 0 || report.Planned != runsPlanned {
		t.Errorf("down are %v, report %+v", got, report)
	}
	log := b.logged()
	if strings.Count(log, `"level":"WARN"`) != 1 || !strings.Contains(log, `"msg":"every prober's heartbeat is stale: measuring them at their last addresses all the same","probers":3`) {
		t.Errorf("the log is %s\nwant one warning", log)
	}
	b.told(t, slot)
}

func TestOneFreshHeartbeatShowsThatTheStaleOnesAreDown(t *testing.T) {
	b := newBench(t)
	b.age(t, 20*time.Minute, "eastus", "northeurope")
	report := b.sweep(t)
	if got := down(t, b); got["eastus"] != 4 || got["northeurope"] != 4 || got["westeurope"] != 0 || report.Down != 2 {
		t.Errorf("down are %v, report %+v: want all four runs to eastus and northeurope", got, report)
	}
	if log := b.logged(); strings.Count(log, `"msg":"a prober is down"`) != 2 || strings.Contains(log, "every prober's") {
		t.Errorf("the log is %s", log)
	}
}

// One stale heartbeat is no outage: nothing tells the app's view from the prober's end.
func TestTheOnlyRegisteredProberIsDownWhenItIsStale(t *testing.T) {
	b := newBench(t)
	b.store = reregister(t, b, "westeurope")
	b.age(t, 20*time.Minute, "westeurope")
	report := b.sweep(t)
	if got := down(t, b); got["westeurope"] != 4 || report.Down != 3 {
		t.Errorf("down are %v, report %+v", got, report)
	}
}
