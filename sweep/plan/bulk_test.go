package plan

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// bulkInput is a sweep of every bulk kind after a latency probe. eastus's heartbeat is old.
func bulkInput(t testing.TB) Input {
	t.Helper()
	body, err := os.ReadFile("testdata/bulk.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return Input{Config: c, ConfigHash: hash, Slot: slot, Now: slot.Add(1500 * time.Microsecond), Seed: seed, Targets: map[string]Target{
		"westeurope":  {Assignments: 1, Addresses: addresses("public", "192.0.2.4:7700", "vpn", "10.1.0.4:7700")},
		"northeurope": {Assignments: 1, Addresses: addresses("public", "198.51.100.4:7700", "vpn", "10.2.0.4:7700")},
		"eastus":      {Assignments: 1, Down: true, Reason: "its heartbeat is old", Addresses: addresses("public", "203.0.113.4:7700")},
	}}
}

func TestBulkPlanIsTheGolden(t *testing.T) {
	p := mustMake(t, bulkInput(t))
	golden(t, "plan-bulk.json", p)
	for _, prober := range []string{"westeurope", "northeurope"} {
		golden(t, "current-bulk-"+prober+".json", mustTell(t, prober, []*Plan{p}, slot))
	}
	b, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(b)
	if d := cmp.Diff(p, again, cmp.Comparer(func(a, b wire.Key) bool { return a == b })); err != nil || d != "" {
		t.Errorf("decoded: %v\n%s", err, d)
	}
}

// A target admits a session for what the session's run is to do and nothing else: its options and its
// budget are the session's.
func TestBulkSessionsSayAllThatTheyAreFor(t *testing.T) {
	p := mustMake(t, bulkInput(t))
	sessions := map[wire.SessionID]wire.Session{}
	for _, prober := range []string{"westeurope", "northeurope", "eastus"} {
		for _, s := range mustTell(t, prober, []*Plan{p}, slot).Sessions {
			sessions[s.ID] = s
		}
	}
	kinds := map[wire.Kind]int{}
	for _, prober := range []string{"westeurope", "northeurope", "eastus"} {
		for _, a := range mustTell(t, prober, []*Plan{p}, slot).Assignments {
			if !a.Spec.Kind.IsBulk() {
				continue
			}
			r := a.Runs[0]
			s, listed := sessions[r.Session]
			switch {
			case len(a.Runs) != 1:
				t.Errorf("%s: %d runs in an assignment", a.Probe, len(a.Runs))
			case a.Spec.AsksURL():
				if listed || r.URL == "" || r.Address != "" {
					t.Errorf("%s: %+v", a.Probe, r)
				}
			case r.Failure == "" && (!listed || s.Spec != a.Spec || s.MaxRequests != 0 || s.Key != r.Key || !s.Deadline.Equal(a.Deadline) || !s.NotBefore.Equal(a.Start.Add(-ClockGuard))):
				t.Errorf("%s to %s: session %+v of assignment %+v", a.Probe, r.Target, s, a)
			case r.Failure != "" && (listed || r.Target != "eastus"):
				t.Errorf("%s to %s: %+v", a.Probe, r.Target, r)
			}
			if !a.LatestStart.Equal(a.Start.Add(2*time.Second)) || !a.Deadline.Equal(a.LatestStart.Add(a.Spec.Span())) {
				t.Errorf("%s: start %s, latest start %s, deadline %s", a.Probe, a.Start, a.LatestStart, a.Deadline)
			}
			kinds[a.Spec.Kind]++
		}
	}
	if want := map[wire.Kind]int{wire.KindThroughput: 8, wire.KindSaturate: 2, wire.KindStream: 1, wire.KindLoad: 2 + 3}; !cmp.Equal(kinds, want) {
		t.Errorf("assignments: %v, want %v", kinds, want)
	}
	for id, s := range sessions {
		if !s.Kind.IsBulk() && (s.Spec != wire.Spec{}) {
			t.Errorf("session %s of kind %s has a spec", id, s.Kind)
		}
	}
}

func TestRunsBeyondTheBudgetArePlannedWithAFailure(t *testing.T) {
	base := mustMake(t, bulkInput(t))
	// Of throughput both runs between westeurope and northeurope over two paths and eastus's two; saturate's
	// one, the stream, two loads and three of the URL. Those to eastus send nothing.
	const all = 6*1e9 + 5e8 + 6e7 + 5*1e8
	if got := base.BulkBytes(); got != all {
		t.Fatalf("planned %d bytes, want %d", got, int64(all))
	}
	failed := func(p *Plan) (out []string) {
		for _, a := range p.Assignments {
			for _, r := range a.Runs {
				if r.Failure == wire.FailureBudget {
					out = append(out, a.Source+" "+a.Probe+" "+r.Target+" "+r.Path+": "+r.Detail)
				}
			}
		}
		slices.Sort(out)
		return out
	}
	if got := failed(base); got != nil {
		t.Errorf("within the budget: %q", got)
	}

	in := bulkInput(t)
	in.Spent = 1e12 - 5.8e9
	p := mustMake(t, in)
	// Five of six throughput runs fit, and of what is left all smaller runs but those of the last probe.
	want := []string{
		"eastus users-api api public", "northeurope rate westeurope vpn: the run may send 1GB, and of the 1TB that a month may send (budget.month) 999GB are planned already",
		"northeurope users-api api public", "westeurope users-api api public",
	}
	if got := failed(p); !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got %q, want %q", got, want)
	}
	if in.Spent+p.BulkBytes() > in.Config.Budget.Month {
		t.Errorf("planned %d beyond %d", p.BulkBytes(), in.Spent)
	}
	if b, err := Encode(p); err != nil {
		t.Error(err)
	} else if again, err := Decode(b); err != nil || again.BulkBytes() != p.BulkBytes() {
		t.Errorf("decoded: %v", err)
	}
	if !slices.Equal(failed(p), failed(mustMake(t, in))) {
		t.Error("planned again it is another plan")
	}

	in = bulkInput(t)
	in.Config.Budget.Sweep = 1e9
	p = mustMake(t, in)
	if got := failed(p); p.BulkBytes() != 1e9 || len(got) != 12 || !strings.Contains(got[0], "(budget.sweep)") {
		t.Errorf("planned %d bytes, %d failed: %q", p.BulkBytes(), len(got), got)
	}

	in.Spent = 2e12 // more than there is
	if p = mustMake(t, in); p.BulkBytes() != 0 {
		t.Errorf("the month is used up, and %d bytes are planned", p.BulkBytes())
	}
}

// Late enough, the next bulk slot comes before the runs: they would run into it.
func TestASweepThatIsPlannedTooLateMakesNoBulkRuns(t *testing.T) {
	in := bulkInput(t)
	in.Now = slot.Add(24*time.Hour - 2*time.Minute)
	p := mustMake(t, in)
	made, canceled := 0, 0
	for _, a := range p.Assignments {
		switch r := a.Runs[0]; {
		case !a.Spec.Kind.IsBulk():
		case r.Failure == "":
			made++
			if a.Deadline.After(slot.Add(24*time.Hour + 28*time.Second)) {
				t.Errorf("%s ends %s, beyond the next slot's first run", a.Probe, a.Deadline)
			}
		case r.Failure == wire.FailureCanceled:
			canceled++
		}
	}
	if made > 4 || canceled < 8 {
		t.Errorf("%d are made, %d canceled", made, canceled)
	}
	if _, err := Encode(p); err != nil {
		t.Error(err)
	}
}

func TestHostileBulkPlansAreRefused(t *testing.T) {
	b, err := Encode(mustMake(t, bulkInput(t)))
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	for _, c := range []struct{ old, new, want string }{
		{`"max_bytes":1000000000`, `"max_bytes":0`, "max_bytes 0: want 1 to"},
		{`"kind":"throughput"`, `"kind":"throughput","method":"GET"`, `method "GET": kind "throughput" has none`},
		{`"kind":"saturate"`, `"kind":"stream"`, "no such option"},
		{`"url":"https://api.example.com/health"`, `"url":"https://api.example.com/health","address":"192.0.2.4:1"`, `kind "load" has none, its source resolves the URL`},
		{`"failure":"target_down"`, `"failure":"expired"`, `failure "expired"`},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("the plan has no %s", c.old)
		}
		if _, err := Decode([]byte(strings.Replace(good, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.new, err, c.want)
		}
	}
	p := mustMake(t, bulkInput(t))
	for i := range p.Assignments {
		if a := &p.Assignments[i]; a.Spec.Kind == wire.KindThroughput {
			a.Runs = append(a.Runs, Run{Target: "northeurope", Path: "peering", Address: "192.0.2.9:1"})
			break
		}
	}
	if _, err := Encode(p); err == nil || !strings.Contains(err.Error(), "an assignment of its own") {
		t.Errorf("two runs in a bulk assignment: %v", err)
	}
}
