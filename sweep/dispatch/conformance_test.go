package dispatch_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

// stores is all that a dispatcher works on, and how results come to meet expired rows.
type stores interface {
	dispatch.Mailbox
	dispatch.Ledger
	dispatch.Rows
	dispatch.Clock
	PutResults(ctx context.Context, rs []result.Result) error
}

// world is a kind of stores, and what the tests do to it from outside.
type world struct {
	environment string
	stores      stores
	configure   func(body []byte)
	register    func(prober string, body []byte)
	rows        func() (all, latest []string)
}

func memory(environment string) world {
	s := storetest.New(environment)
	s.Clock = time.Now
	return world{environment, s, s.SetConfig, s.Register, func() (all, latest []string) {
		for _, r := range s.Rows() {
			all = append(all, rowLine(r.Series, r.Slot, r.Run.Failure, r.Assignment))
		}
		for _, r := range s.Latest() {
			latest = append(latest, rowLine(r.Series, r.Slot, r.Run.Failure, r.Assignment))
		}
		return all, latest
	}}
}

func azure(t *testing.T) world {
	t.Helper()
	a, environment := azuritetest.Environment(t)
	blobs, err := archive.Open(a, environment)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tables.Open(a, environment)
	if err != nil {
		t.Fatal(err)
	}
	if err := blobs.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := rows.Ensure(t.Context(), slot); err != nil {
		t.Fatal(err)
	}
	return world{environment, struct {
		*archiveStore
		*tableStore
	}{&archiveStore{blobs}, &tableStore{rows}},
		func(body []byte) {
			if err := blobs.PutConfig(t.Context(), body); err != nil {
				t.Fatal(err)
			}
		},
		func(prober string, body []byte) {
			azuritetest.Upload(t, a, wire.ProbersContainer(environment), wire.RegistrationBlob(prober), body)
		},
		func() (all, latest []string) {
			for r, err := range rows.Runs(t.Context(), tables.RunQuery{}) {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, rowLine(r.Series, r.Slot, r.Failure, r.Assignment))
			}
			newest, err := rows.Latest(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range newest {
				latest = append(latest, rowLine(r.Series, r.Slot, r.Failure, r.Assignment))
			}
			return all, latest
		}}
}

// Both have names of their own, so that the two stores can be one value.
type (
	archiveStore struct{ *archive.Store }
	tableStore   struct{ *tables.Store }
)

func rowLine(s wire.Series, slot time.Time, failure wire.Failure, assignment string) string {
	return fmt.Sprintf("%s %s %s %s", s, wire.SlotName(slot), failure, assignment)
}

// state is all that can be read back, a line each.
func (w world) state(t *testing.T, slots ...time.Time) (lines []string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range slots {
		body, found, err := w.stores.ReadPlan(t.Context(), at)
		check(err)
		header, entries, _, err := w.stores.Sweep(t.Context(), at)
		check(err)
		lines = append(lines, fmt.Sprintf("plan %s %v %s", wire.SlotName(at), found, body), fmt.Sprintf("header %+v", header))
		slices.SortFunc(entries, func(a, b ledger.Entry) int {
			return cmp.Or(cmp.Compare(a.Key.Source, b.Key.Source), cmp.Compare(a.Key.Probe, b.Key.Probe))
		})
		for _, e := range entries {
			lines = append(lines, fmt.Sprintf("entry %+v", e))
		}
	}
	open, err := w.stores.OpenSweeps(t.Context())
	check(err)
	lines = append(lines, fmt.Sprintf("open %v", open))
	for id := range probers {
		body, _, err := w.stores.ReadCurrent(t.Context(), id)
		check(err)
		lines = append(lines, fmt.Sprintf("current %s %s", id, body))
	}
	all, latest := w.rows()
	for _, line := range all {
		lines = append(lines, "row "+line)
	}
	for _, line := range latest {
		lines = append(lines, "latest "+line)
	}
	slices.Sort(lines)
	return lines
}

// The same on the fake and on the real stores: two sweeps, the first of them twice, a slot that
// was missed, a prober that is down, and expiry.
func TestTheFakeAndTheRealStoresEndInTheSameState(t *testing.T) {
	earlier, next := slot.Add(-10*time.Minute), slot.Add(10*time.Minute)
	scenario := func(t *testing.T, w world) (lines []string) {
		b := &bench{now: slot.Add(time.Second)}
		w.configure([]byte(strings.Replace(configuration, environment, w.environment, 1)))
		for _, id := range []string{"westeurope", "northeurope"} {
			r := b.registration(id)
			r.Environment = w.environment
			w.register(id, encode(t, r))
		}
		d := &dispatch.Dispatcher{Environment: w.environment, Mailbox: w.stores, Ledger: w.stores, Rows: w.stores, Resolver: net.DefaultResolver,
			Now: b.clock, Log: slog.New(slog.DiscardHandler), NewSeed: func() wire.Key { return wire.Key{1, 2, 3} }}
		sweep := func(at time.Time, missed ...time.Time) {
			t.Helper()
			if _, err := d.Sweep(t.Context(), at, missed); err != nil {
				t.Fatal(err)
			}
		}
		resume := func() {
			t.Helper()
			if _, err := d.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sweep(slot, earlier)
		sweep(slot, earlier)
		resume()
		lines = append(lines, w.state(t, earlier, slot)...)
		b.sleep(6 * time.Minute) // the first has expired
		resume()
		b.sleep(4 * time.Minute)
		sweep(next, earlier, slot)
		lines = append(lines, w.state(t, earlier, slot, next)...)
		b.sleep(time.Hour)
		resume()
		resume()
		return append(lines, w.state(t, earlier, slot, next)...)
	}
	genuine := azure(t)
	got, want := scenario(t, genuine), scenario(t, memory(genuine.environment))
	if len(want) < 100 {
		t.Errorf("the scenario has only %d lines", len(want))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("state (-fake +real):\n%s", diff)
	}
}

// What the interfaces' comments promise, of the fake and of the real stores.
func TestTheStoresKeepTheirPromises(t *testing.T) {
	genuine := azure(t)
	for name, w := range map[string]world{"fake": memory(genuine.environment), "real": genuine} {
		t.Run(name, func(t *testing.T) {
			t.Run("they tell the time", func(t *testing.T) { tellTime(t, w.stores) })
			t.Run("one plan a slot", func(t *testing.T) { onePlan(t, w.stores) })
			t.Run("no version is replaced unseen", func(t *testing.T) { noBlindWrite(t, w.stores) })
			t.Run("states only advance", func(t *testing.T) { statesAdvance(t, w.stores) })
			t.Run("expired replaces nothing", func(t *testing.T) { expiredYields(t, w) })
		})
	}
}

func tellTime(t *testing.T, s stores) {
	before := time.Now().Add(-time.Second)
	if now, err := s.ServiceTime(t.Context()); err != nil || now.Before(before) || now.After(time.Now()) {
		t.Errorf("the service says %s (%v), after %s", now, err, before)
	}
}

func onePlan(t *testing.T, s stores) {
	for _, c := range []struct {
		body string
		want bool
	}{{`{"a":1}`, true}, {`{"a":1}`, true}, {`{"a":2}`, false}} {
		if created, err := s.CreatePlan(t.Context(), slot, []byte(c.body)); err != nil || created != c.want {
			t.Errorf("creating %s: %v, %v: want %v", c.body, created, err, c.want)
		}
	}
	if body, found, err := s.ReadPlan(t.Context(), slot); err != nil || !found || string(body) != `{"a":1}` {
		t.Errorf("the plan is %s, %v, %v", body, found, err)
	}
	if _, found, err := s.ReadPlan(t.Context(), slot.Add(time.Minute)); err != nil || found {
		t.Errorf("another slot's plan: %v, %v", found, err)
	}
}

func noBlindWrite(t *testing.T, s stores) {
	body, etag, err := s.ReadCurrent(t.Context(), "eastus")
	if err != nil || body != nil || etag != "" {
		t.Fatalf("nothing was written: %q, %q, %v", body, etag, err)
	}
	write := func(body, etag string, want bool) {
		t.Helper()
		if written, err := s.WriteCurrent(t.Context(), "eastus", []byte(body), etag); err != nil || written != want {
			t.Errorf("writing %s over %q: %v, %v: want %v", body, etag, written, err, want)
		}
	}
	write(`{"a":1}`, "", true)
	write(`{"a":2}`, "", false)
	_, first, err := s.ReadCurrent(t.Context(), "eastus")
	if err != nil {
		t.Fatal(err)
	}
	write(`{"a":3}`, first, true)
	write(`{"a":4}`, first, false)
	write(`{"a":3}`, first, true) // as after an answer that was lost
	if body, _, err := s.ReadCurrent(t.Context(), "eastus"); err != nil || string(body) != `{"a":3}` {
		t.Errorf("it is %s, %v", body, err)
	}
}

func statesAdvance(t *testing.T, s stores) {
	at := slot.Add(time.Hour)
	for _, c := range []struct{ write, want ledger.State }{{ledger.Missed, ledger.Missed}, {ledger.Planned, ledger.Planned}, {ledger.Missed, ledger.Planned},
		{ledger.Complete, ledger.Complete}, {ledger.Dispatched, ledger.Complete}} {
		if err := s.AdvanceHeader(t.Context(), ledger.Header{Slot: at, State: c.write}); err != nil {
			t.Fatal(err)
		}
		if h, _, found, err := s.Sweep(t.Context(), at); err != nil || !found || h.State != c.want || !h.Slot.Equal(at) {
			t.Errorf("after %s: %+v, %v, %v: want %s", c.write, h, found, err, c.want)
		}
	}
	if h, es, found, err := s.Sweep(t.Context(), at.Add(time.Minute)); err != nil || found || h.State != "" || len(es) != 0 {
		t.Errorf("a sweep that is none: %+v, %v, %v, %v", h, es, found, err)
	}
	for range 2 {
		if err := s.MarkOpen(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if open, err := s.OpenSweeps(t.Context()); err != nil || len(open) != 1 || !open[0].Equal(at) {
		t.Errorf("open are %v, %v", open, err)
	}
	for range 2 {
		if err := s.ClearOpen(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if open, err := s.OpenSweeps(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("then open are %v, %v", open, err)
	}
}

func expiredYields(t *testing.T, w world) {
	series := wire.Series{Environment: w.environment, Source: "westeurope", Target: "eastus", Path: "public", Probe: "tcp-64"}
	id := wire.AssignmentID(w.environment, slot, "westeurope", "tcp-64", 0)
	expired := result.Expired(series, slot, id, 0, wire.KindTCP, slot)
	other := expired
	other.Series.Target, other.Run.Target = "northeurope", "northeurope"
	down := expired
	down.Run.Failure, down.Run.Detail = wire.FailureTargetDown, ""
	for _, step := range []error{
		w.stores.PutResults(t.Context(), []result.Result{down}), w.stores.PutLatest(t.Context(), []result.Result{down}),
		w.stores.AddExpired(t.Context(), []result.Result{expired, other}), w.stores.PutLatest(t.Context(), []result.Result{expired, other}),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	want := []string{rowLine(series, slot, wire.FailureTargetDown, id), rowLine(other.Series, slot, wire.FailureExpired, id)}
	all, latest := w.rows()
	slices.Sort(all)
	slices.Sort(latest)
	if !slices.Equal(all, want) || !slices.Equal(latest, want) {
		t.Errorf("rows %q, newest %q: want %q", all, latest, want)
	}
}
