package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// westeurope is the run of eastus to westeurope, which the tests below change the target of.
func westeurope(t *testing.T, b *bench, kind wire.Kind) (address string, failure wire.Failure) {
	t.Helper()
	for _, a := range b.plan(t, slot).Assignments {
		for _, r := range a.Runs {
			if a.Source == "eastus" && r.Target == "westeurope" && a.Spec.Kind == kind {
				return r.Address, r.Failure
			}
		}
	}
	t.Fatal("there is no run from eastus to westeurope")
	return "", ""
}

func TestWhatAProberSaysIsChecked(t *testing.T) {
	const permitted = "127.0.0.11:7700"
	for name, c := range map[string]struct {
		change  func(r *wire.Registration)
		names   map[string][]string
		address string // empty: target_down
		log     string // part of what is logged
	}{
		"in order":                     {change: func(*wire.Registration) {}, address: permitted},
		"another environment":          {change: func(r *wire.Registration) { r.Environment = "prod" }, log: `environment \"prod\": want \"test1\"`},
		"another prober's":             {change: func(r *wire.Registration) { r.Prober = "eastus" }, log: `prober \"eastus\" in the folder of \"westeurope\"`},
		"another version":              {change: func(r *wire.Registration) { r.Version = 99 }, log: "version 99"},
		"port 0":                       {change: func(r *wire.Registration) { r.Addresses[0].TCPPort = 0 }, log: "TCP port 0"},
		"a provenance of a megabyte":   {change: func(r *wire.Registration) { r.Provenance.VMSize = strings.Repeat("x", 1<<20) }, log: "1048576 bytes"},
		"an address outside":           {change: func(r *wire.Registration) { r.Addresses[0].Host = "127.0.0.12" }, log: "[127.0.0.12] lies outside what sweep.yaml permits"},
		"a link-local address":         {change: func(r *wire.Registration) { r.Addresses[0].Host = "169.254.169.254" }, log: "[169.254.169.254] lies outside"},
		"the same address inside IPv6": {change: func(r *wire.Registration) { r.Addresses[0].Host = "::ffff:127.0.0.11" }, address: permitted},
		"an address with a zone":       {change: func(r *wire.Registration) { r.Addresses[0].Host = "fe80::1%eth0" }, log: "cannot be a target"},
		"a path that is not its own":   {change: func(r *wire.Registration) { r.Addresses[0].Path = "peering" }},
		"no address":                   {change: func(r *wire.Registration) { r.Addresses = nil }},
		"two addresses, the first counts": {change: func(r *wire.Registration) {
			r.Addresses = append(r.Addresses, wire.PathAddress{Path: "public", Host: "127.0.0.12", TCPPort: 1})
		}, address: permitted},
		"a permitted name":                     {change: func(r *wire.Registration) { r.Addresses[0].Host = "WEU.example.com." }, names: map[string][]string{"weu.example.com": {"127.0.0.99"}}, address: "127.0.0.99:7700"},
		"a permitted name of a forbidden host": {change: func(r *wire.Registration) { r.Addresses[0].Host = "weu.example.com" }, names: map[string][]string{"weu.example.com": {"169.254.169.254", "0.0.0.0"}}, log: "lies outside"},
		"a permitted name with two addresses":  {change: func(r *wire.Registration) { r.Addresses[0].Host = "weu.example.com" }, names: map[string][]string{"weu.example.com": {"::1", "127.0.0.8", "127.0.0.7"}}, address: "127.0.0.7:7700"},
		"any name of a permitted address":      {change: func(r *wire.Registration) { r.Addresses[0].Host = "other.example.com" }, names: map[string][]string{"other.example.com": {"127.0.0.11"}}, address: permitted},
		"a name of an address outside":         {change: func(r *wire.Registration) { r.Addresses[0].Host = "other.example.com" }, names: map[string][]string{"other.example.com": {"127.0.0.12"}}, log: "lies outside"},
		"a name that does not resolve":         {change: func(r *wire.Registration) { r.Addresses[0].Host = "gone.example.com" }, log: `resolving \"gone.example.com\": no such host`},
		"a heartbeat just young enough":        {change: func(r *wire.Registration) { r.Heartbeat = slot.Add(time.Second - 95*time.Second) }, address: permitted},
		"a heartbeat too old":                  {change: func(r *wire.Registration) { r.Heartbeat = slot.Add(time.Second - 95*time.Second - 1) }, log: `"heartbeat_age":"1m35.000000001s"`},
		"a heartbeat a little ahead":           {change: func(r *wire.Registration) { r.Heartbeat = slot.Add(4 * time.Second) }, address: permitted},
		"a heartbeat of next year":             {change: func(r *wire.Registration) { r.Heartbeat = slot.AddDate(1, 0, 0) }, log: "set its clock right"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.names = c.names
			r := b.registration("westeurope")
			c.change(&r)
			b.store.Register("westeurope", encode(t, r))
			b.sweep(t)
			address, failure := westeurope(t, b, wire.KindTCP)
			if address != c.address || (failure == wire.FailureTargetDown) != (c.address == "") {
				t.Errorf("the run's address is %q, its failure %q: want address %q", address, failure, c.address)
			}
			if !strings.Contains(b.logged(), c.log) || c.log == "" && c.address != "" && b.logged() != "" {
				t.Errorf("the log is %s\nwant %q in it", b.logged(), c.log)
			}
			if strings.Contains(c.log, "lies outside") && !strings.Contains(b.logged(), `"remedy":"permit it under probers, addresses in sweep.yaml`) {
				t.Errorf("the log has no remedy: %s", b.logged())
			}
			b.told(t, slot) // and as a source it has its assignments, whatever it says
			if got := len(b.plan(t, slot).Assignments); got != 6 {
				t.Errorf("%d assignments: want 6", got)
			}
		})
	}
}

func TestRegistrationsThatAreNoRegistrations(t *testing.T) {
	for name, body := range map[string]string{"empty": "", "cut": `{"version":1,"env`, "an array": `[]`, "binary": "\x00\xff"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.store.Register("westeurope", []byte(body))
			report := b.sweep(t)
			if _, failure := westeurope(t, b, wire.KindConnect); failure != wire.FailureTargetDown || report.Down != 1 {
				t.Errorf("failure is %q, report %+v", failure, report)
			}
			if !strings.Contains(b.logged(), `"msg":"ignoring a registration","prober":"westeurope"`) {
				t.Errorf("the log is %s", b.logged())
			}
		})
	}
}

// It may come back before its assignments are late; if not, they expire.
func TestASourceThatNeverRegisteredGetsItsAssignments(t *testing.T) {
	b := newBench(t)
	b.store = reregister(t, b, "eastus", "northeurope")
	report := b.sweep(t)
	if report.Down != 1 || report.Planned != runsPlanned {
		t.Errorf("report is %+v", report)
	}
	if current := string(b.store.Current("westeurope")); strings.Count(current, `"target":`) != 4 {
		t.Errorf("westeurope is told %s: want four runs", current)
	}
	if _, failure := westeurope(t, b, wire.KindTCP); failure != wire.FailureTargetDown {
		t.Errorf("as a target its failure is %q", failure)
	}
}

// A registration under an id that sweep.yaml does not know is nobody's.
func TestAStrangersRegistrationIsIgnored(t *testing.T) {
	b := newBench(t)
	r := b.registration("eastus")
	r.Prober, r.Region = "stranger", "stranger"
	b.store.Register("stranger", encode(t, r))
	if report := b.sweep(t); report.Down != 0 || report.Planned != runsPlanned {
		t.Errorf("report is %+v", report)
	}
	if !strings.Contains(b.logged(), "sweep.yaml has no such prober") || strings.Contains(string(b.store.Plan(wire.SlotName(slot))), "stranger") {
		t.Errorf("log %s", b.logged())
	}
}

func TestAProberThatCannotReadAssignmentsAdmitsNoSessions(t *testing.T) {
	b := newBench(t)
	r := b.registration("westeurope")
	r.ReadsAssignments = []int{wire.AssignmentsVersion + 1}
	b.store.Register("westeurope", encode(t, r))
	b.sweep(t)
	if _, failure := westeurope(t, b, wire.KindTCP); failure != wire.FailureTargetDown {
		t.Errorf("tcp: failure is %q", failure)
	}
	if _, failure := westeurope(t, b, wire.KindConnect); failure != "" {
		t.Errorf("connect, which needs no session: failure is %q", failure)
	}
	if !strings.Contains(b.logged(), "cannot read our assignments") {
		t.Errorf("log %s", b.logged())
	}
}
