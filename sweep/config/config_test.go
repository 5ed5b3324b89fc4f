package config

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"isochrone/prober/wire"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func prefixes(texts ...string) (out []Allowed) {
	for _, s := range texts {
		out = append(out, Allowed{Prefix: netip.MustParsePrefix(s)})
	}
	return out
}

func TestGoodFileMeansWhatItSays(t *testing.T) {
	got, err := Parse(read(t, "good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Version: 1, Environment: "dev", Alerts: DefaultAlerts(),
		Timing: Timing{Lead: 45 * time.Second, Late: 150 * time.Second, Grace: 5 * time.Minute},
		Probers: []Prober{
			{ID: "westeurope", Region: "westeurope", Addresses: map[string][]Allowed{
				"public":  append(prefixes("20.50.0.0/16", "2603:1020:200::/46"), Allowed{Name: "weu.example.com"}),
				"peering": prefixes("10.1.0.0/16"),
			}},
			{ID: "westeurope-vpn", Region: "westeurope", Addresses: map[string][]Allowed{"vpn": prefixes("10.9.0.4/32")}},
			{ID: "northeurope", Region: "northeurope", Addresses: map[string][]Allowed{
				"public":  append(prefixes("20.50.0.0/16"), Allowed{Name: "neu.example.com"}),
				"peering": prefixes("10.2.0.0/16"), "vpn": prefixes("10.10.0.0/24"), "expressroute": prefixes("192.168.7.0/24"),
			}},
			{ID: "eastus", Region: "eastus", Addresses: map[string][]Allowed{
				"public": prefixes("20.42.0.0/17"), "expressroute": prefixes("192.168.8.0/24"),
			}},
		},
		Probes: []Probe{
			{Name: "tcp-64", Schedule: "*/10 * * * *", Paths: []string{"public", "peering", "vpn"}, Spec: wire.Spec{
				Kind: wire.KindTCP, Count: 100, Warmup: 10, Interval: 20 * time.Millisecond, Timeout: time.Second,
				RequestBytes: 64, ResponseBytes: 32,
			}},
			{Name: "handshake", Schedule: "CRON_TZ=Europe/Amsterdam 30 2 * * mon-fri", Paths: []string{"expressroute", "public"},
				From: []string{"eastus"}, To: []string{"northeurope", "westeurope"}, Spec: wire.Spec{
					Kind: wire.KindConnect, Count: 1000, Warmup: 5, Interval: 100 * time.Millisecond, Timeout: 2 * time.Second,
				}},
		},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Probe{}, "Cron"), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	for i, next := range []string{"2026-11-30T10:20:00Z", "2026-12-01T01:30:00Z"} {
		if got := got.Probes[i].Cron.Next(time.Date(2026, 11, 30, 10, 10, 0, 0, time.UTC)).Format(time.RFC3339); got != next {
			t.Errorf("%s is due at %s, want %s", want.Probes[i].Name, got, next)
		}
	}
}

func TestLeastFileHasTheDefaults(t *testing.T) {
	c, err := Parse(read(t, "least.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Timing{Lead: 30 * time.Second, Late: 3 * time.Minute, Grace: 2 * time.Minute}); c.Timing != want || c.Loopback {
		t.Errorf("timing %+v, loopback %t; want %+v, false", c.Timing, c.Loopback, want)
	}
	want := wire.Spec{Kind: wire.KindTCP, Count: 100, Warmup: 5, Interval: 20 * time.Millisecond, Timeout: 2 * time.Second, RequestBytes: 64, ResponseBytes: 16}
	if c.Probes[0].Spec != want {
		t.Errorf("spec %+v, want %+v", c.Probes[0].Spec, want)
	}
	if c.Probes[0].From != nil || c.Probes[0].To != nil {
		t.Errorf("from %q to %q, want all", c.Probes[0].From, c.Probes[0].To)
	}
}

// One bad file a rule; the expected message lies beside it. A file without faults fails too.
func TestBadFilesAreRefusedWithTheExactMessage(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d bad files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			want := string(read(t, "bad/"+name+".txt"))
			c, err := Parse(read(t, "bad/"+name+".yaml"))
			if err == nil {
				t.Fatalf("accepted; want\n%s", want)
			}
			if c != nil {
				t.Error("a configuration came with the error")
			}
			if got := err.Error() + "\n"; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			var faults Faults
			if !errors.As(err, &faults) || len(faults) != strings.Count(want, "\n") {
				t.Errorf("%T of %d faults, want Faults, one a line", err, len(faults))
			}
			if !slices.IsSortedFunc(faults, func(a, b Fault) int { return a.Line - b.Line }) {
				t.Error("not in the order of the lines")
			}
		})
	}
}

func TestOversizedFileIsRefusedUnread(t *testing.T) {
	body := append(read(t, "least.yaml"), bytes.Repeat([]byte("#"), MaxBytes)...)
	want := fmt.Sprintf("sweep.yaml: %d bytes: want at most 1048576", len(body))
	if _, err := Parse(body); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := Parse(body[:MaxBytes]); err != nil {
		t.Errorf("a file of %d bytes: %v", MaxBytes, err)
	}
}

// A file of nested aliases that would unpack to a gigabyte costs what it is long.
func TestAliasesAreNotFollowed(t *testing.T) {
	var b strings.Builder
	b.WriteString("a: &a [x, x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c <= 'j'; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), c-1)
	}
	start := time.Now()
	_, err := Parse([]byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), `alias *a: write the value out`) {
		t.Errorf("%v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestTooManyProbersAndProbesAreRefused(t *testing.T) {
	least := string(read(t, "least.yaml"))
	head, probes, _ := strings.Cut(least, "probes:\n")
	var probers, more strings.Builder
	for i := range MaxProbers - 1 {
		fmt.Fprintf(&probers, "  - {region: eastus, id: p%d, addresses: {public: [20.1.0.0/16]}}\n", i)
	}
	for i := range MaxProbes {
		fmt.Fprintf(&more, "  - {name: n%d, kind: connect, schedule: \"0 * * * *\", paths: [public], count: 20, interval: 1s}\n", i)
	}
	_, err := Parse([]byte(head + probers.String() + "probes:\n" + probes + more.String()))
	want := "sweep.yaml:4: probers: has 201 entries; want at most 200\n" +
		"sweep.yaml:210: probes: has 101 entries; want at most 100"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestLoopbackPermitsOneMachineAndShortTimes(t *testing.T) {
	body := string(read(t, "least.yaml"))
	body = strings.Replace(body, "probers:", "loopback: true\ntiming: {lead: 1s, late: 1s, grace: 1s}\nprobers:", 1)
	body = strings.Replace(body, "[20.50.0.0/16]", "[127.0.0.0/8, \"::1/128\", localhost, 10.0.0.0/8]", 1)
	c, err := Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Timing{Lead: time.Second, Late: time.Second, Grace: time.Second}); !c.Loopback || c.Timing != want {
		t.Errorf("loopback %t, timing %+v", c.Loopback, c.Timing)
	}
	if !c.Probers[0].Permits("public", "127.0.0.2", netip.MustParseAddr("127.0.0.2"), c.Loopback) {
		t.Error("127.0.0.2 is not permitted")
	}
}

func TestPairsAreOrderedAndLimited(t *testing.T) {
	c, err := Parse(read(t, "good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]Pair{
		{
			{"eastus", "northeurope", "public"}, {"eastus", "westeurope", "public"},
			{"northeurope", "eastus", "public"}, {"northeurope", "westeurope", "peering"}, {"northeurope", "westeurope", "public"},
			{"northeurope", "westeurope-vpn", "vpn"},
			{"westeurope", "eastus", "public"}, {"westeurope", "northeurope", "peering"}, {"westeurope", "northeurope", "public"},
			{"westeurope-vpn", "northeurope", "vpn"},
		},
		{{"eastus", "northeurope", "expressroute"}, {"eastus", "northeurope", "public"}, {"eastus", "westeurope", "public"}},
	} {
		if d := cmp.Diff(want, c.Pairs(&c.Probes[i])); d != "" {
			t.Errorf("%s: -want +got\n%s", c.Probes[i].Name, d)
		}
	}
}

func TestProberIsFoundByItsID(t *testing.T) {
	c, err := Parse(read(t, "good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := c.Prober("westeurope-vpn"); !ok || p.Region != "westeurope" {
		t.Errorf("%+v, %t", p, ok)
	}
	if p, ok := c.Prober("westeurope-d8"); ok {
		t.Errorf("found %+v", p)
	}
}

// parseSeeds are every file that is refused, and every one that is not.
func parseSeeds(t testing.TB) (out [][]byte) {
	t.Helper()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "testdata/good.yaml", "testdata/least.yaml", "testdata/kinds.yaml", "testdata/bulk.yaml") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func TestTheFuzzTargetsHaveTheirSeeds(t *testing.T) {
	// Every rule that is added adds a file; none may go unnoticed.
	if files, lines, texts := len(parseSeeds(t)), len(bulkLines()), len(scheduleSeeds()); files < 239 || lines != 7 || texts != 26 {
		t.Errorf("%d files, %d lines and %d schedules; want at least 239, 7 and 26", files, lines, texts)
	}
}

// Whatever is in a file, Parse returns a valid configuration or faults, and what it returns
// can be planned: every probe has pairs and is due some day.
func FuzzParse(f *testing.F) {
	for _, body := range parseSeeds(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := Parse(body)
		if err != nil {
			var faults Faults
			if c != nil || !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("%v with %+v", err, c)
			}
			lines := bytes.Count(body, []byte("\n")) + 2
			for _, fault := range faults {
				if fault.Line < 0 || fault.Text == "" || strings.ContainsAny(fault.Text, "\n\x00") {
					t.Fatalf("fault %+v", fault)
				}
				// A lone carriage return, NEL and LS end a line of YAML as well.
				if !bytes.ContainsAny(body, "\r\u0085\u2028\u2029") && fault.Line > lines {
					t.Fatalf("fault %+v in a file of %d lines", fault, lines)
				}
			}
			return
		}
		for i := range c.Probes {
			p := &c.Probes[i]
			if err := p.Spec.Validate(); err != nil {
				t.Fatal(err)
			}
			if len(c.Pairs(p)) == 0 || p.Cron.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
				t.Fatalf("probe %+v yields nothing", p)
			}
		}
	})
}
