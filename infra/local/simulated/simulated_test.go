package simulated

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/config"
	"isochrone/sweep/ingest"
	"isochrone/sweep/plan"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

const probes = `version: 1
environment: %s
loopback: true
probers:
  - {region: westeurope, addresses: {public: [127.0.1.1/32], peering: [127.0.2.1/32]}}
  - {region: northeurope, addresses: {public: [127.0.1.2/32], peering: [127.0.2.2/32]}}
  - {region: eastus, addresses: {public: [127.0.1.3/32]}}
probes:
  - {name: udp, kind: udp, schedule: "* * * * *", paths: [public, peering], count: 2000, interval: 20ms, timeout: 1s, warmup: 5}
  - {name: tcp, kind: tcp, schedule: "* * * * *", paths: [public, peering], count: 50, interval: 20ms, timeout: 1s, request: 64, response: 16}
  - {name: connect, kind: connect, schedule: "* * * * *", paths: [public], count: 50, interval: 20ms, timeout: 1s}
  - {name: icmp, kind: icmp, schedule: "* * * * *", paths: [public], count: 50, interval: 20ms, timeout: 1s}
`

var slot = time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)

// planned is a plan of three probers of which one is down, and the configuration.
func planned(t *testing.T, environment string) (*config.Config, *plan.Plan) {
	t.Helper()
	c, err := config.Parse(fmt.Appendf(nil, probes, environment))
	if err != nil {
		t.Fatal(err)
	}
	in := plan.Input{Config: c, ConfigHash: fmt.Sprintf("%064x", 1), Slot: slot, Now: slot, Seed: wire.Key{1}, Targets: map[string]plan.Target{}}
	for i, p := range c.Probers {
		target := plan.Target{Assignments: wire.AssignmentsVersion, Addresses: map[string]plan.Address{}, Down: p.ID == "eastus"}
		for path := range p.Addresses {
			target.Addresses[path] = plan.Address{IP: netip.AddrFrom4([4]byte{127, 0, 1, byte(i + 1)}), TCPPort: tcpPort, UDPPort: udpPort}
		}
		in.Targets[p.ID] = target
	}
	out, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return c, out
}

// stored is where the app reads the one plan.
type stored []byte

func (s stored) ReadPlan(context.Context, time.Time) ([]byte, bool, error) { return s, true, nil }

func TestTheAppTakesWhatIsSimulated(t *testing.T) {
	c, p := planned(t, "dev")
	body, err := plan.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	again := ingest.NewAgain("dev", stored(body), func() time.Time { return slot.Add(time.Minute) })
	rows, lost, failed, kinds := 0, 0, 0, map[wire.Kind]bool{}
	for _, in := range c.Probers {
		prober, err := of(c, in.ID, 7)
		if err != nil {
			t.Fatal(err)
		}
		r := prober.Registration(slot)
		if err := r.Validate("dev", in.ID); err != nil {
			t.Error(err)
		}
		current, err := plan.Current("dev", in.ID, []*plan.Plan{p}, slot)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range current.Assignments {
			d, err := prober.Measure(a)
			if err != nil {
				t.Fatal(err)
			}
			twice, err := prober.Measure(a)
			if err != nil || !bytes.Equal(d.Body, twice.Body) || d.Name != twice.Name {
				t.Errorf("%s of %s: measured again it is another document (%v)", a.Probe, in.ID, err)
			}
			got, leave, err := again.Waiting(t.Context(), d.Name, d.Body)
			if err != nil {
				t.Fatalf("%s of %s: %v", a.Probe, in.ID, err)
			}
			for _, r := range got.Results {
				rows++
				lost += r.Run.Counts.Lost
				kinds[r.Run.Kind] = true
				if r.Run.Failure == wire.FailureTargetDown {
					failed++
				}
			}
			leave()
		}
	}
	if want := p.Runs(); rows != want || len(kinds) != 4 {
		t.Errorf("%d rows of kinds %v; planned are %d of four kinds", rows, kinds, want)
	}
	if lost == 0 || lost > 100 {
		t.Errorf("%d samples of more than 10,000 were lost: want some, and few", lost)
	}
	if failed == 0 {
		t.Error("nothing has failed, though a target was down")
	}
}

func TestAnotherSeedIsAnotherMeasurement(t *testing.T) {
	c, p := planned(t, "dev")
	current, err := plan.Current("dev", "westeurope", []*plan.Plan{p}, slot)
	if err != nil {
		t.Fatal(err)
	}
	var bodies [2][]byte
	for seed := range bodies {
		prober, err := of(c, "westeurope", uint64(seed))
		if err != nil {
			t.Fatal(err)
		}
		d, err := prober.Measure(current.Assignments[0])
		if err != nil {
			t.Fatal(err)
		}
		bodies[seed] = d.Body
	}
	if bytes.Equal(bodies[0], bodies[1]) {
		t.Error("two seeds gave the same document")
	}
	if there, back := roundTrip("a", "b", "public"), roundTrip("b", "a", "public"); there != back || there == roundTrip("a", "b", "peering") {
		t.Errorf("round trips are %g there and %g back: want the same, and another on another path", there, back)
	}
}

func TestAProberThroughStorage(t *testing.T) {
	account, environment := azuritetest.Environment(t)
	c, p := planned(t, environment)
	blobs, err := archive.Open(account, environment)
	if err != nil {
		t.Fatal(err)
	}
	if err := blobs.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	probers, err := OpenAll(account, c, 7)
	if err != nil || len(probers) != 3 {
		t.Fatalf("%d probers, %v; want 3", len(probers), err)
	}
	one := probers[0]
	if err := one.Register(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if found, err := blobs.Registrations(t.Context()); err != nil || len(found) != 1 || found[0].Prober != one.ID {
		t.Errorf("registered are %v, %v", found, err)
	}
	tell(t, blobs, p, one.ID)
	got, err := one.Poll(t.Context())
	if err != nil || len(got) != 4 {
		t.Fatalf("%d assignments, %v; want 4", len(got), err)
	}
	d, err := one.Measure(got[0])
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // delivering again is fine
		if err := one.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := blobs.InboxSize(t.Context()); err != nil || n != 1 {
		t.Errorf("%d documents in the inbox, %v; want 1", n, err)
	}
	if got, err := one.Poll(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("polled again, %d assignments are new, %v; want none", len(got), err)
	}
}

func tell(t *testing.T, blobs *archive.Store, p *plan.Plan, id string) {
	t.Helper()
	current, err := plan.Current(p.Environment, id, []*plan.Plan{p}, slot)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(current)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.WriteCurrent(t.Context(), id, body, ""); err != nil {
		t.Fatal(err)
	}
}
