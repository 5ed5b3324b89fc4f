package answers

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/ledger"
)

// registration is a prober's, of a heartbeat every 30 s.
func registration(prober string, heartbeat time.Time) wire.Registration {
	return wire.Registration{Version: wire.RegistrationVersion, Environment: "dev", Prober: prober, Region: "westeurope", Started: heartbeat.Add(-time.Hour),
		Heartbeat: heartbeat, HeartbeatInterval: 30 * time.Second, ReadsAssignments: []int{wire.AssignmentsVersion}}
}

func live(t *testing.T, prober string, heartbeat time.Time) archive.Registered {
	t.Helper()
	body, err := json.Marshal(registration(prober, heartbeat))
	if err != nil {
		t.Fatal(err)
	}
	return archive.Registered{Prober: prober, Body: body}
}

func TestProbersAreJudgedAsTheAppJudgesThem(t *testing.T) {
	for what, c := range map[string]struct {
		age  time.Duration
		want Liveness
	}{
		"just now":             {0, Fresh},
		"just young enough":    {95 * time.Second, Fresh},
		"too old":              {95*time.Second + 1, Silent},
		"a little ahead":       {-4 * time.Second, Fresh},
		"a wrong clock, ahead": {-time.Hour, Silent},
	} {
		s := &store{live: []archive.Registered{live(t, "eastus", now.Add(-c.age))}}
		got, err := ReadProbers(t.Context(), s, s, parse(t, threeRegions), "dev", now)
		if err != nil || len(got) != 3 {
			t.Fatalf("%s: %+v, %v", what, got, err)
		}
		if p := got[1]; p.ID != "eastus" || p.State != c.want || p.Age != c.age {
			t.Errorf("%s: %s is %s at an age of %s, want eastus, %s, %s", what, p.ID, p.State, p.Age, c.want, c.age)
		}
		if got[0].State != NeverRegistered || got[2].State != NeverRegistered {
			t.Errorf("%s: the others are %s and %s, want never registered", what, got[0].State, got[2].State)
		}
	}
}

func TestAProbersOwnRegistrationCountsUnlessItIsBadOrOlder(t *testing.T) {
	old := now.Add(-9 * time.Minute)
	s := &store{
		seen: []wire.Registration{registration("westeurope", old), registration("eastus", old), registration("southeastasia", now), registration("gone", old)},
		live: []archive.Registered{live(t, "westeurope", now), {Prober: "eastus", Body: []byte(`{"version":1`)}, live(t, "southeastasia", old)},
	}
	got, err := ReadProbers(t.Context(), s, s, parse(t, threeRegions), "dev", now)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		id    string
		state Liveness
	}{{"westeurope", Fresh}, {"eastus", Silent}, {"southeastasia", Fresh}, {"gone", NotConfigured}} {
		if i >= len(got) || got[i].ID != want.id || got[i].State != want.state {
			t.Fatalf("probers %+v, want %s %s at %d", got, want.id, want.state, i)
		}
	}
	broken := errors.New("storage is away")
	if _, err := ReadProbers(t.Context(), &store{}, &store{err: broken}, nil, "dev", now); !errors.Is(err, broken) {
		t.Errorf("registrations that cannot be read: %v, want their error", err)
	}
}

func TestAGapWithoutAReasonNamesTheSilenceOfItsSource(t *testing.T) {
	b := books(ledger.Dispatched,
		entry("westeurope", "tcp-64", ledger.Dispatched, 2, ""), entry("eastus", "tcp-64", ledger.Dispatched, 2, ""),
		entry("southeastasia", "tcp-64", ledger.Expired, 2, "document quarantined"))
	b.config = []byte(threeRegions)
	quiet := time.Date(2026, 11, 30, 10, 16, 17, 0, time.UTC)
	b.live = []archive.Registered{live(t, "westeurope", now), live(t, "eastus", quiet), live(t, "southeastasia", quiet)}
	got, err := ReadStatus(t.Context(), b, b, "dev", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"westeurope": "no document yet", "eastus": "no document yet; eastus silent since 10:16:17Z", "southeastasia": "document quarantined"}
	for _, g := range got.Sweeps[0].Gaps {
		if g.Reason != want[g.Source] {
			t.Errorf("%s: %q, want %q", g.Source, g.Reason, want[g.Source])
		}
	}
	if len(got.Probers) != 3 || got.Probers[1].State != Silent {
		t.Errorf("probers %+v, want three, eastus silent", got.Probers)
	}
	// Who spoke after the sweep was over, and fell silent later, is no reason.
	later := Prober{ID: "eastus", State: Silent, Age: time.Minute, Registration: registration("eastus", slot.Add(2*time.Hour))}
	if why := later.silence(slot); why != "" {
		t.Errorf("%q is given for a prober that lived through the sweep", why)
	}
}
