package plan

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func mustTell(t testing.TB, prober string, plans []*Plan, now time.Time) wire.Current {
	t.Helper()
	c, err := Current("test", prober, plans, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(t testing.TB, slot time.Time, seed byte) *Plan {
	in := input(t)
	in.Slot, in.Now, in.Seed = slot, slot, wire.Key{seed}
	return mustMake(t, in)
}

func TestCurrentIsTheGolden(t *testing.T) {
	for _, prober := range []string{"westeurope", "northeurope", "brazilsouth"} {
		golden(t, "current-"+prober+".json", mustTell(t, prober, []*Plan{mustMake(t, input(t))}, slot))
	}
}

func TestCurrentOfNobodyIsEmptyListsNotNull(t *testing.T) {
	b, err := json.Marshal(mustTell(t, "uksouth", []*Plan{mustMake(t, input(t))}, slot))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"version":1,"environment":"test","prober":"uksouth","assignments":[],"sessions":[]}`
	if string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
}

func TestCurrentIsTheSameWhateverTheOrderOfThePlans(t *testing.T) {
	var plans []*Plan
	for i := range 6 {
		plans = append(plans, at(t, slot.Add(time.Duration(10*i)*time.Minute), byte(i+1)))
	}
	plans = append(plans, at(t, slot, 1)) // one of them read twice
	first := ""
	random := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		random.Shuffle(len(plans), func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })
		b, err := json.Marshal(mustTell(t, "northeurope", plans, slot))
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(b)
		}
		if string(b) != first {
			t.Fatalf("got\n%s\nthen\n%s", first, b)
		}
	}
	if n := strings.Count(first, `"slot"`); n != 6 {
		t.Errorf("%d assignments, want one for each of the 6 slots", n)
	}
}

// Source and target are told the same id and key, and the target no session beyond those.
func TestEverySessionIsToldToBothSidesAndNoOther(t *testing.T) {
	plans := []*Plan{at(t, slot, 1), at(t, slot.Add(10*time.Minute), 2)}
	probers := []string{"westeurope", "northeurope", "eastus", "brazilsouth"}
	type end struct {
		source, target, path, probe string
		key                         string
	}
	made, admitted := map[wire.SessionID]end{}, map[wire.SessionID]end{}
	hex := func(k wire.Key) string { b, _ := k.MarshalText(); return string(b) }
	for _, id := range probers {
		c := mustTell(t, id, plans, slot)
		for _, a := range c.Assignments {
			for _, r := range a.Runs {
				opens := a.Spec.Kind == wire.KindTCP && r.Failure == ""
				if opens != !r.Session.IsZero() || opens != !r.Key.IsZero() {
					t.Errorf("%s to %s over %s, %s: session %s", id, r.Target, r.Path, a.Probe, r.Session)
				}
				if opens {
					made[r.Session] = end{id, r.Target, r.Path, a.Probe, hex(r.Key)}
				}
				if (r.Failure == "") != (r.Address != "") {
					t.Errorf("%s to %s: %+v", id, r.Target, r)
				}
			}
		}
		for _, s := range c.Sessions {
			if _, twice := admitted[s.ID]; twice {
				t.Errorf("session %s is there twice", s.ID)
			}
			admitted[s.ID] = end{s.Source, id, s.Path, s.Probe, hex(s.Key)}
		}
	}
	if len(made) == 0 || len(made) != len(admitted) {
		t.Errorf("%d sessions are made, %d admitted", len(made), len(admitted))
	}
	keys := map[string]bool{}
	for id, m := range made {
		if admitted[id] != m {
			t.Errorf("session %s: the source has %+v, the target %+v", id, m, admitted[id])
		}
		keys[m.key] = true
	}
	if len(keys) != len(made) {
		t.Errorf("%d keys for %d sessions", len(keys), len(made))
	}
}

func TestSessionIsLimitedToItsRun(t *testing.T) {
	p := mustMake(t, input(t))
	for _, s := range mustTell(t, "northeurope", []*Plan{p}, slot).Sessions {
		var a *Assignment
		for i := range p.Assignments {
			if p.Assignments[i].Source == s.Source && p.Assignments[i].Probe == s.Probe {
				a = &p.Assignments[i]
			}
		}
		if a == nil || s.MaxRequests != a.Spec.Count+a.Spec.Warmup || s.RequestBytes != 64 || s.ResponseBytes != 16 || s.Kind != wire.KindTCP {
			t.Fatalf("session %+v of assignment %+v", s, a)
		}
		if !s.NotBefore.Equal(a.Start.Add(-time.Second)) || !s.Deadline.Equal(a.Deadline) {
			t.Errorf("session from %s to %s, assignment from %s to %s", s.NotBefore, s.Deadline, a.Start, a.Deadline)
		}
	}
}

// A reflector refuses sessions that began before it did: with the shortest lead there is, none
// begins before the sweep was planned.
func TestGuardIsWithinTheShortestLead(t *testing.T) {
	in := everyoneUp(2, wire.Spec{Kind: wire.KindTCP, Count: 1, Interval: time.Second, Timeout: time.Second, RequestBytes: 16, ResponseBytes: 16})
	in.Config.Timing.Lead = time.Second // config.Parse refuses less
	in.Now = slot.Add(30 * time.Second)
	for _, s := range mustTell(t, "p001", []*Plan{mustMake(t, in)}, slot).Sessions {
		if s.NotBefore.Before(in.Now) {
			t.Errorf("a session from %s of a sweep that was planned at %s", s.NotBefore, in.Now)
		}
	}
}

func TestPlansPastTheirDeadlineAreLeftOut(t *testing.T) {
	old, next := at(t, slot, 1), at(t, slot.Add(10*time.Minute), 2)
	plans := []*Plan{old, next}
	for _, c := range []struct {
		now  time.Time
		want int
	}{
		{slot, 2},
		{old.Deadline().Add(-time.Nanosecond), 2},
		{old.Deadline(), 1},
		{next.Deadline(), 0},
	} {
		got := mustTell(t, "northeurope", plans, c.now)
		if len(got.Assignments) != c.want {
			t.Errorf("at %s: %d assignments, want %d", c.now, len(got.Assignments), c.want)
		}
		if (len(got.Sessions) > 0) != (c.want > 0) {
			t.Errorf("at %s: %d sessions", c.now, len(got.Sessions))
		}
	}
}

func TestPlansThatCannotBeTrueTogetherAreRefused(t *testing.T) {
	p := at(t, slot, 1)
	if _, err := Current("prod", "westeurope", []*Plan{p}, slot); err == nil || !strings.Contains(err.Error(), `plan of environment "test" among those of "prod"`) {
		t.Errorf("another environment: %v", err)
	}
	if _, err := Current("test", "westeurope", []*Plan{p, at(t, slot, 2)}, slot); err == nil || !strings.Contains(err.Error(), `two plans of slot "20261130T1020" differ`) {
		t.Errorf("two seeds: %v", err)
	}
}

func TestStoredPlanTellsTheSame(t *testing.T) {
	p := mustMake(t, input(t))
	b, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := json.Marshal(mustTell(t, "westeurope", []*Plan{p}, slot))
	second, _ := json.Marshal(mustTell(t, "westeurope", []*Plan{stored, p}, slot))
	if string(first) != string(second) || len(first) < 500 {
		t.Errorf("got\n%s\nthen\n%s", first, second)
	}
}
