package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

func TestPlanIsTheGolden(t *testing.T) { golden(t, "plan.json", mustMake(t, input(t))) }

func TestPlanIsTheSameForTheSameInput(t *testing.T) {
	first, err := Encode(mustMake(t, input(t)))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // maps are walked in another order each time
		again, err := Encode(mustMake(t, input(t)))
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != string(first) {
			t.Fatalf("got\n%s\nthen\n%s", first, again)
		}
	}
}

func TestPlanDoesNotDependOnTheOrderOfTheFile(t *testing.T) {
	want := mustMake(t, input(t))
	in := input(t)
	slices.Reverse(in.Config.Probers)
	slices.Reverse(in.Config.Probes)
	if d := cmp.Diff(want, mustMake(t, in)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestTimesFollowTheLaterOfSlotAndNow(t *testing.T) {
	spec := wire.Spec{Kind: wire.KindConnect, Count: 50, Warmup: 10, Interval: time.Second, Timeout: 2 * time.Second}
	for _, c := range []struct {
		now   time.Duration // after the slot
		start time.Duration
	}{
		{-10 * time.Second, time.Minute},
		{0, time.Minute},
		{1999 * time.Microsecond, time.Minute + time.Millisecond},
		{90 * time.Second, 150 * time.Second},
	} {
		in := everyoneUp(2, spec)
		in.Now = slot.Add(c.now).In(time.FixedZone("elsewhere", 3600))
		a := mustMake(t, in).Assignments[0]
		for _, at := range []struct {
			what      string
			got, want time.Time
		}{
			{"start", a.Start, slot.Add(c.start)},
			{"latest start", a.LatestStart, slot.Add(c.start + time.Minute)},
			// 60 samples a second apart, the last one's timeout, the set-up's timeout, 5 s
			{"deadline", a.Deadline, slot.Add(c.start + time.Minute + 60*time.Second + 2*time.Second + 2*time.Second + 5*time.Second)},
			{"expiry", a.Expires, slot.Add(c.start + 3*time.Minute + 9*time.Second)},
		} {
			if !at.got.Equal(at.want) || at.got.Location() != time.UTC {
				t.Errorf("now %s: %s is %s, want %s", c.now, at.what, at.got, at.want)
			}
		}
	}
}

func TestTargetsThatCannotBeMeasuredAreDown(t *testing.T) {
	p := mustMake(t, input(t))
	got := map[string]string{}
	for _, a := range p.Assignments {
		if a.Source != "westeurope" {
			continue
		}
		for _, r := range a.Runs {
			got[a.Probe+" "+r.Target+" "+r.Path] = r.Address + string(r.Failure) + " " + r.Detail
		}
	}
	want := map[string]string{
		"handshake brazilsouth public": "[2001:db8::4]:7700 ", // a handshake needs no session
		"handshake eastus public":      "target_down its heartbeat is old",
		"handshake northeurope public": "198.51.100.4:7701 ",
		"rtt brazilsouth public":       "target_down the target reads no assignment version that this app writes: it writes version 1",
		"rtt eastus public":            "target_down its heartbeat is old",
		"rtt northeurope public":       "198.51.100.4:7701 ",
		"rtt northeurope vpn":          `target_down the target registered no address on path "vpn"`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}

	in := input(t)
	in.Targets = nil // nobody ever registered
	for _, a := range mustMake(t, in).Assignments {
		for _, r := range a.Runs {
			if r.Failure != wire.FailureTargetDown || r.Address != "" || r.Detail != "the target never registered" {
				t.Errorf("%s %s: %+v", a.Source, a.Probe, r)
			}
		}
	}
}

func TestAReasonIsCutToWhatAResultMayCarry(t *testing.T) {
	in := input(t)
	north := in.Targets["northeurope"]
	north.Refused = map[string]string{"vpn": strings.Repeat("ä", wire.MaxDetailBytes)}
	in.Targets["northeurope"] = north
	p := mustMake(t, in)
	if _, err := Encode(p); err != nil {
		t.Error(err)
	}
	cut := 0
	for _, a := range p.Assignments {
		for _, r := range a.Runs {
			if r.Target == "northeurope" && r.Path == "vpn" {
				cut++
				if r.Detail != strings.Repeat("ä", wire.MaxDetailBytes/2) {
					t.Errorf("%s: the detail has %d bytes: %s", a.Source, len(r.Detail), r.Detail)
				}
			}
		}
	}
	if cut == 0 {
		t.Error("no run to northeurope over vpn")
	}
}

// Parts hold what a document may hold, and together every pair once, whatever the sizes.
func TestPartsStayWithinTheLimitsAndHoldEveryRunOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	counts := []int{1, 99, 100, 101, 50_000, 50_001, wire.MaxSamples - 1, wire.MaxSamples}
	for range 40 {
		n := 2 + random.IntN(30)
		count := counts[random.IntN(len(counts))]
		checkParts(t, everyoneUp(n, wire.Spec{Kind: wire.KindConnect, Count: count, Interval: time.Millisecond, Timeout: time.Second}))
	}
	// More targets than a document may have runs.
	in := everyoneUp(2, wire.Spec{Kind: wire.KindConnect, Count: 1, Interval: time.Millisecond, Timeout: time.Second})
	for i := range wire.MaxRuns + 1 {
		id := fmt.Sprintf("q%04d", i)
		in.Config.Probers = append(in.Config.Probers, config.Prober{ID: id, Addresses: map[string][]config.Allowed{"public": {{Name: id}}}})
	}
	in.Config.Probes[0].From = []string{"p000", "p001"}
	checkParts(t, in)
}

func checkParts(t *testing.T, in Input) {
	t.Helper()
	p := mustMake(t, in)
	probe := in.Config.Probes[0]
	seen := map[string]int{}
	parts := map[string]int{}
	for _, a := range p.Assignments {
		if len(a.Runs) == 0 || len(a.Runs) > wire.MaxRuns || len(a.Runs)*a.Spec.Count > wire.MaxSamples {
			t.Fatalf("a part of %d runs of %d samples", len(a.Runs), a.Spec.Count)
		}
		if a.Part != parts[a.Source] {
			t.Fatalf("part %d of %q comes as number %d", a.Part, a.Source, parts[a.Source])
		}
		parts[a.Source]++
		if !a.Start.Before(a.LatestStart) || a.Deadline.Sub(a.LatestStart) <= a.Spec.Span() || !a.Deadline.Before(a.Expires) {
			t.Fatalf("times of %+v", a)
		}
		if a.ID != wire.AssignmentID("test", slot, a.Source, a.Probe, a.Part) {
			t.Fatalf("id %q of part %d from %q", a.ID, a.Part, a.Source)
		}
		for _, r := range a.Runs {
			seen[a.Source+">"+r.Target+">"+r.Path]++
		}
	}
	pairs := in.Config.Pairs(&probe)
	for _, pair := range pairs {
		if n := seen[pair.Source+">"+pair.Target+">"+pair.Path]; n != 1 {
			t.Fatalf("%+v is planned %d times", pair, n)
		}
	}
	if len(seen) != len(pairs) || p.Runs() != len(pairs) {
		t.Fatalf("%d runs, %d of them different, for %d pairs", p.Runs(), len(seen), len(pairs))
	}
	perPart := min(wire.MaxRuns, wire.MaxSamples/probe.Spec.Count)
	most := (len(pairs)/len(parts) + perPart - 1) / perPart
	for source, n := range parts {
		if n != most {
			t.Fatalf("%q has %d parts, want the fewest, %d", source, n, most)
		}
	}
	if _, err := Encode(p); err != nil {
		t.Fatal(err)
	}
}

func TestSlotWithoutDueProbesGivesAnEmptyPlan(t *testing.T) {
	in := input(t)
	in.Slot = slot.Add(time.Minute)
	p := mustMake(t, in)
	if p.Assignments == nil || len(p.Assignments) != 0 || !p.Deadline().IsZero() {
		t.Errorf("%+v", p)
	}
	if _, err := Encode(p); err != nil {
		t.Error(err)
	}
}

func TestInputThatCannotBePlannedIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"no configuration", func(in *Input) { in.Config = nil }, `planning slot "20261130T1020": there is no configuration`},
		{"hash", func(in *Input) { in.ConfigHash = "ABC" }, `configuration hash "ABC": want 64 lower-case hexadecimal digits`},
		{"seconds", func(in *Input) { in.Slot = slot.Add(time.Second) }, "want a whole minute"},
		{"no slot", func(in *Input) { in.Slot = time.Time{} }, "want a whole minute"},
		{"no now", func(in *Input) { in.Now = time.Time{} }, "now is 0001-01-01"},
		{"environment", func(in *Input) { in.Config.Environment = "Test" }, `environment "Test": want`},
		{"no IP", func(in *Input) { in.Targets["westeurope"].Addresses["public"] = Address{TCPPort: 7700} },
			`planning probe "rtt" at slot "20261130T1020": target "westeurope" over "public": address "invalid AddrPort": want a numeric host:port`},
		{"port 0", func(in *Input) { in.Targets["westeurope"].Addresses["public"] = addresses("", "192.0.2.4:0")[""] }, `address "192.0.2.4:0": want`},
		{"unspecified", func(in *Input) { in.Targets["westeurope"].Addresses["public"] = addresses("", "0.0.0.0:7700")[""] }, `address "0.0.0.0:7700": want`},
		{"multicast", func(in *Input) { in.Targets["westeurope"].Addresses["public"] = addresses("", "[ff02::1]:7700")[""] }, `address "[ff02::1]:7700": want`},
		{"zone", func(in *Input) {
			in.Targets["westeurope"].Addresses["public"] = addresses("", "[fe80::1%eth0]:7700")[""]
		}, `address "[fe80::1%eth0]:7700": want`},
	} {
		in := input(t)
		c.change(&in)
		if p, err := Make(in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %s", c.name, p, err, c.want)
		}
	}
}
