package answers

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
	"isochrone/sweep/plan"
	"isochrone/sweep/tables"
)

// The stores satisfy what a coverage asks for.
var (
	_ CoverageRows  = (*tables.Store)(nil)
	_ CoverageBlobs = (*archive.Store)(nil)
)

// covered is a store with sweeps, runs and a quarantine.
type covered struct {
	*store
	held []archive.Held
}

func (s *covered) Outcomes(_ context.Context, q tables.RunQuery) iter.Seq2[tables.Row, error] {
	rows := slices.Clone(s.runs)
	slices.SortFunc(rows, func(a, b tables.Row) int {
		key := func(r *tables.Row) string { return seriesKey(r.Series.Target, r.Series.Path, r.Series.Probe) }
		if d := compareSeries(a.Series.Source, key(&a), b.Series.Source, key(&b)); d != 0 {
			return d
		}
		return b.Slot.Compare(a.Slot)
	})
	return func(yield func(tables.Row, error) bool) {
		for _, r := range rows {
			fits := !r.Slot.Before(q.Since) && r.Slot.Before(q.Until) && (q.Source == "" || q.Source == r.Series.Source) &&
				(q.Path == "" || q.Path == r.Series.Path) && (q.Probe == "" || q.Probe == r.Series.Probe)
			if fits && !yield(r, nil) {
				return
			}
		}
	}
}

func (s *covered) Quarantined(context.Context, time.Time, string) iter.Seq2[archive.Held, error] {
	return func(yield func(archive.Held, error) bool) {
		for _, h := range s.held {
			if !yield(h, nil) {
				return
			}
		}
	}
}

func newCovered() *covered {
	hash := Hash([]byte(threeRegions))
	return &covered{store: &store{entries: map[time.Time][]ledger.Entry{}, pinned: map[string][]byte{hash: []byte(threeRegions)}, config: []byte(threeRegions)}}
}

func (s *covered) header(at time.Time, state ledger.State) {
	h := ledger.Header{Slot: at, State: state, ConfigHash: Hash([]byte(threeRegions))}
	if state == ledger.Missed {
		h.ConfigHash, h.Reason = "", "the app was not running"
	}
	s.headers = slices.Insert(s.headers, 0, h) // newest first
}

func (s *covered) run(at time.Time, source, target string, failure wire.Failure) {
	r := tables.Row{Series: series(source, target, "public", "tcp-64"), Slot: at, Failure: failure}
	if failure == wire.FailureExpired {
		r.Assignment = wire.AssignmentID("dev", at, source, "tcp-64", 0)
	}
	s.runs = append(s.runs, r)
}

func (s *covered) read(t *testing.T, q CoverageQuery) *Coverage {
	t.Helper()
	c, err := ReadCoverage(t.Context(), s, s, "dev", q, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var lastHour = CoverageQuery{Since: slot.Add(-20 * time.Minute), Until: now}

// Three slots of three sources with two runs each, and handshake's three runs at 10:05.
func TestCoverageSaysWhatBecameOfEveryRun(t *testing.T) {
	s := newCovered()
	at := func(minute int) time.Time { return slot.Add(time.Duration(minute-20) * time.Minute) }
	s.header(at(0), ledger.Complete)
	s.header(at(5), ledger.Missed)
	s.header(at(10), ledger.Complete)
	s.header(at(20), ledger.Dispatched)
	for _, source := range []string{"westeurope", "eastus", "southeastasia"} {
		s.entries[at(0)] = append(s.entries[at(0)], entry(source, "tcp-64", ledger.Received, 2, ""))
	}
	s.run(at(0), "westeurope", "eastus", "")
	s.run(at(0), "westeurope", "southeastasia", "")
	s.run(at(0), "eastus", "westeurope", wire.FailureRefused)
	s.run(at(0), "eastus", "southeastasia", wire.FailureTargetDown)
	s.run(at(0), "southeastasia", "eastus", "") // the other row is not there
	s.entries[at(10)] = []ledger.Entry{entry("westeurope", "tcp-64", ledger.Expired, 2, ""), entry("eastus", "tcp-64", ledger.Expired, 2, "")}
	for _, target := range []string{"eastus", "southeastasia"} {
		s.run(at(10), "westeurope", target, wire.FailureExpired)
	}
	s.run(at(10), "eastus", "westeurope", "")
	s.run(at(10), "eastus", "southeastasia", wire.FailureExpired)
	s.entries[at(20)] = []ledger.Entry{entry("westeurope", "tcp-64", ledger.Dispatched, 2, ""), entry("eastus", "tcp-64", ledger.Received, 2, "")}
	s.run(at(20), "eastus", "westeurope", "")
	s.run(at(20), "eastus", "southeastasia", "")
	s.run(at(2), "eastus", "westeurope", "") // nobody planned this one
	s.runs = append(s.runs, tables.Row{Series: series("eastus", "westeurope", "public", "ext.ping"), Slot: at(2)})
	s.held = []archive.Held{{Why: archive.Reason{Origin: "westeurope/1010_" + wire.AssignmentID("dev", at(10), "westeurope", "tcp-64", 0) + "_0a.json.gz", Stage: "plan"}}}

	want := []CoverageRow{
		{Prober: "eastus", From: at(0), Planned: 6, Measured: 3, Failed: 2, Expired: 1, Unplanned: 1, Why: []CoverageReason{
			{FateExpired, "no document came in time; eastus never registered", 1}, {FateFailed, "refused", 1}, {FateFailed, "target_down", 1},
			{FateUnplanned, "a row that no sweep planned", 1}}},
		{Prober: "southeastasia", From: at(0), Planned: 6, Measured: 1, Lost: 5, Why: []CoverageReason{
			{FateLost, "the ledger does not have its assignment", 4}, {FateLost, "the ledger has it as received, and its row is not there", 1}}},
		{Prober: "westeurope", From: at(0), Planned: 9, Measured: 2, Expired: 2, Missed: 3, Open: 2, Why: []CoverageReason{
			{FateMissed, "the app was not running", 3}, {FateExpired, "its document is in quarantine (plan)", 2}, {FateOpen, "no document yet; westeurope never registered", 2}}},
	}
	got := s.read(t, lastHour)
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for i, want := range []bool{false, false, true} {
		if got.Rows[i].AddsUp() != want {
			t.Errorf("%s adds up: %v", got.Rows[i].Prober, !want)
		}
	}
	if got := s.read(t, CoverageQuery{Since: lastHour.Since, Until: now, Prober: "westeurope", Path: "peering"}); len(got.Rows) != 1 ||
		got.Rows[0].Planned != 1 || got.Rows[0].Missed != 1 {
		t.Errorf("of westeurope over peering: %+v", got.Rows)
	}
}

// Whatever the rows and the ledger hold, every planned run is counted once, and every other row beside.
func TestCoverageAddsUpWhateverIsStored(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	failures := []wire.Failure{"", "", "", wire.FailureTimeout, wire.FailureExpired}
	states := []ledger.State{ledger.Planned, ledger.Dispatched, ledger.Received, ledger.Expired}
	ids := []string{"westeurope", "eastus", "southeastasia"}
	for range 300 {
		s := newCovered()
		planned, others := 0, 0
		for back := 240; back >= 30; back -= 10 {
			at := slot.Add(-time.Duration(back) * time.Minute)
			switch random.IntN(5) {
			case 0:
				s.header(at, ledger.Missed)
			case 1: // the ledger knows nothing
			default:
				s.header(at, ledger.Dispatched)
			}
			planned += 6
			for _, source := range ids {
				if random.IntN(3) > 0 {
					s.entries[at] = append(s.entries[at], entry(source, "tcp-64", states[random.IntN(len(states))], 2, ""))
				}
				for _, target := range ids {
					if random.IntN(3) == 0 {
						continue
					}
					if s.run(at, source, target, failures[random.IntN(len(failures))]); target == source {
						others++
					}
				}
			}
		}
		// The first header is where the environment begins: before it nothing was planned.
		first := s.headers[len(s.headers)-1].Slot
		for _, r := range s.runs {
			if r.Slot.Before(first) && r.Series.Source != r.Series.Target {
				others++
			}
		}
		planned -= 6 * int(first.Sub(slot.Add(-240*time.Minute))/(10*time.Minute))
		q := CoverageQuery{Since: slot.Add(-240 * time.Minute), Until: slot.Add(-30*time.Minute + time.Second), Probe: "tcp-64"}
		var sum, lost, unplanned int
		for _, r := range s.read(t, q).Rows {
			if got := r.Measured + r.Failed + r.Expired + r.Missed + r.Open + r.Lost; got != r.Planned {
				t.Fatalf("%d of %d planned: %+v", got, r.Planned, r)
			}
			sum, lost, unplanned = sum+r.Planned, lost+r.Lost, unplanned+r.Unplanned
			why := 0
			for _, w := range r.Why {
				why += w.Runs
			}
			if why != r.Planned-r.Measured+r.Unplanned {
				t.Fatalf("%d runs have a reason: %+v", why, r)
			}
		}
		if sum != planned || unplanned != others {
			t.Fatalf("%d planned, %d unplanned; want %d, %d", sum, unplanned, planned, others)
		}
	}
}

// A configuration's pairs, which a coverage counts, are what the app plans, bulk probes too.
func TestWhatACoverageCountsIsWhatAPlanHolds(t *testing.T) {
	c := parse(t, threeRegions+`  - {name: bulk, kind: throughput, schedule: "20 10 * * *", paths: [public], duration: 5s, max_bytes: 100MB}
budget: {sweep: 1GB, month: 10GB}
`)
	p, err := planned(c, slot, 0)
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for i := range p.Assignments {
		for j := range p.Assignments[i].Runs {
			made = append(made, p.Series(&p.Assignments[i], &p.Assignments[i].Runs[j]).String())
		}
	}
	line := &timeline{sets: map[*config.Probe]*pairSet{}}
	s, err := line.recorded(t.Context(), ledger.Header{Slot: slot, State: ledger.Missed}, c)
	if err != nil || s != c {
		t.Fatal(err)
	}
	var counted []string
	for _, set := range line.slots[0].sets {
		for _, pair := range set.pairs {
			counted = append(counted, series(pair.Source, pair.Target, pair.Path, set.probe).String())
		}
	}
	slices.Sort(made)
	slices.Sort(counted)
	if diff := cmp.Diff(made, counted); diff != "" || len(made) != 12 || len(plan.Due(c, slot)) != len(line.slots[0].sets) {
		t.Errorf("%d runs (-plan +counted)\n%s", len(made), diff)
	}
}

func TestCoverageOfSlotsThatTheLedgerDoesNotHave(t *testing.T) {
	s := newCovered()
	s.header(slot.Add(-3*time.Hour), ledger.Complete) // before the question's time: it says what runs since
	got := s.read(t, CoverageQuery{Since: slot.Add(-time.Hour), Until: now, Prober: "eastus"})
	var missed, open, planned int
	for _, r := range got.Rows {
		missed, open, planned = missed+r.Missed, open+r.Open, planned+r.Planned
		if !r.AddsUp() || r.Why[0].Fate == FateMissed && !strings.Contains(r.Why[0].Reason, "ledger does not have the slot") {
			t.Errorf("%+v", r)
		}
	}
	// 09:20 to 10:20, of which 10:10 and 10:20 are not 15 minutes old.
	if planned != 14 || missed != 10 || open != 4 {
		t.Errorf("%d planned, %d missed, %d open: want 14, 10, 4", planned, missed, open)
	}

	gone := newCovered()
	gone.pinned = nil
	gone.header(slot, ledger.Complete)
	gone.run(slot, "eastus", "westeurope", "")
	if got := gone.read(t, lastHour); len(got.Rows) != 0 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "sweeps left out: 1") {
		t.Errorf("without its configuration: %+v", got)
	}
	if got := newCovered().read(t, lastHour); len(got.Rows)+len(got.Notes) != 0 {
		t.Errorf("before the first sweep: %+v", got)
	}
}
