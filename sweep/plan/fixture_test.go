package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	slot = time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)
	hash = strings.Repeat("0123456789abcdef", 4)
	seed = wire.Key{1, 2, 3}
)

func readConfig(t testing.TB) *config.Config {
	t.Helper()
	body, err := os.ReadFile("testdata/sweep.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// input is a sweep in which eastus's heartbeat is old, brazilsouth has another version and
// northeurope registered no address on the vpn path.
func input(t testing.TB) Input {
	return Input{
		Config: readConfig(t), ConfigHash: hash, Slot: slot, Now: slot.Add(1500 * time.Microsecond), Seed: seed,
		Targets: map[string]Target{
			"westeurope":  {Assignments: 1, Addresses: addresses("public", "192.0.2.4:7700", "vpn", "10.1.0.4:7700")},
			"northeurope": {Assignments: 1, Addresses: addresses("public", "198.51.100.4:7701")},
			"eastus":      {Assignments: 1, Down: true, Reason: "its heartbeat is old", Addresses: addresses("public", "203.0.113.4:7700")},
			"brazilsouth": {Assignments: 2, Addresses: addresses("public", "[2001:db8::4]:7700")},
		},
	}
}

// addresses are those of a prober that has a UDP reflector a port above the TCP one; paths and
// addresses take turns.
func addresses(of ...string) map[string]Address {
	out := map[string]Address{}
	for i := 0; i < len(of); i += 2 {
		a := netip.MustParseAddrPort(of[i+1])
		out[of[i]] = Address{IP: a.Addr(), TCPPort: int(a.Port()), UDPPort: int(a.Port()) + 1}
	}
	return out
}

func mustMake(t testing.TB, in Input) *Plan {
	t.Helper()
	p, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// everyoneUp makes a configuration of n probers with one probe over one path, all of them up.
func everyoneUp(n int, spec wire.Spec) Input {
	c := &config.Config{Version: 1, Environment: "test", Timing: config.Timing{Lead: time.Minute, Late: time.Minute, Grace: time.Minute}}
	targets := map[string]Target{}
	for i := range n {
		id := fmt.Sprintf("p%03d", i)
		c.Probers = append(c.Probers, config.Prober{ID: id, Addresses: map[string][]config.Allowed{"public": {{Name: id}}}})
		targets[id] = Target{Assignments: 1, Addresses: addresses("public", fmt.Sprintf("192.0.2.%d:7700", i%250+1))}
	}
	c.Probes = []config.Probe{{Name: "rtt", Cron: always{}, Paths: []string{"public"}, Spec: spec}}
	return Input{Config: c, ConfigHash: hash, Slot: slot, Now: slot, Seed: seed, Targets: targets}
}

// always is due every minute.
type always struct{}

func (always) Next(t time.Time) time.Time { return t.Truncate(time.Minute).Add(time.Minute) }

func golden(t *testing.T, name string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it, then run the test with -update\n%s", name, got)
	}
}
