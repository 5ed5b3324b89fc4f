package topology

import (
	"errors"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/sweep/catalog"
	"isochrone/sweep/config"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var members = []Member{
	{Name: "westeurope", Region: "westeurope", Paths: []string{"public", "peering"}},
	{Name: "northeurope", Region: "northeurope", Paths: []string{"public", "peering"}},
	{Name: "eastus", Region: "eastus", Paths: []string{"public", "vpn"}},
}

func TestGoodFileMeansWhatItSays(t *testing.T) {
	got, err := Parse(read(t, "testdata/good.yaml"), members)
	if err != nil {
		t.Fatal(err)
	}
	base := Link{Jitter: 200 * time.Microsecond, Queue: 64_000}
	with := func(change func(*Link)) Link { l := base; change(&l); return l }
	want := map[Between]bool{}
	for _, b := range []Between{
		{"westeurope", "eastus", "public", with(func(l *Link) { l.Delay = 50 * time.Millisecond })},
		{"eastus", "westeurope", "public", with(func(l *Link) { l.Delay = 45 * time.Millisecond })}, // (89 + 91) ÷ 4
		{"westeurope", "northeurope", "public", with(func(l *Link) { l.Delay, l.Loss, l.Rate = 9750*time.Microsecond, 0.01, 200_000_000 })},
		{"westeurope", "northeurope", "peering", with(func(l *Link) { l.Delay = 9750 * time.Microsecond })}, // (19 + 20) ÷ 4
		{"northeurope", "westeurope", "peering", with(func(l *Link) { l.Delay = 9750 * time.Microsecond })},
		{"northeurope", "westeurope", "public", with(func(l *Link) {
			l.Delay, l.Loss, l.Rate, l.Duplicate, l.Reorder, l.ReorderBy, l.Queue = 9750*time.Microsecond, 0.01, 200_000_000, 0.002, 0.1, 5*time.Millisecond, 1_500_000
		})},
	} {
		want[b] = true
	}
	for _, b := range got.Links {
		if ends := b.From + " " + b.To; !strings.Contains(ends, "eastus northeurope") && !strings.Contains(ends, "northeurope eastus") && !want[b] {
			t.Errorf("%+v is not as wanted", b)
		}
	}
	if len(got.Links) != 8 || got.Seed != 42 || got.Default != base {
		t.Errorf("%d links, want 8; seed %d, default %+v", len(got.Links), got.Seed, got.Default)
	}
	if n, _ := got.Node("eastus"); n.Addresses["public"] != netip.MustParseAddr("10.90.0.13") || n.Addresses["vpn"] != netip.MustParseAddr("10.99.0.13") || len(n.Addresses) != 2 {
		t.Errorf("addresses %v", n.Addresses)
	}
}

func TestDelays(t *testing.T) {
	region := func(name string) catalog.Region { r, _ := catalog.Lookup(name); return r }
	a, b := region("westeurope"), region("southeastasia")
	if got, want := published(a, b, MedianStretch), 90750*time.Microsecond; got != want { // (181 + 182) ÷ 4
		t.Errorf("published: %s, want %s", got, want)
	}
	// 2 × distance ÷ 204 km/ms × stretch, half of it each way.
	want := catalog.Distance(a, b) / 204 * 1.84
	if got := byDistance(a, b, MedianStretch).Seconds() * 1000; math.Abs(got-want) > 0.001 {
		t.Errorf("by distance: %g ms, want %g", got, want)
	}
	unpublished := catalog.Region{Name: "elsewhere", Latitude: a.Latitude + 10, Longitude: a.Longitude}
	if got, want := published(a, unpublished, 2), byDistance(a, unpublished, 2); got != want || got < 10*time.Millisecond {
		t.Errorf("unpublished: %s, want %s", got, want)
	}
	if got := byDistance(a, a, MedianStretch); got != 250*time.Microsecond {
		t.Errorf("at one place: %s, want 250µs", got)
	}
	if got := published(a, b, 1); got == byDistance(a, b, 1) {
		t.Error("the published value is the distance's")
	}
}

func TestStretchAndNone(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"version: 1\ndelays: none\n":                                                                      0,
		"version: 1\ndelays: none\ndefault: {delay: 7ms}\n":                                               7 * time.Millisecond,
		"version: 1\ndelays: distance\n":                                                                  stretched(1.84),
		"version: 1\ndelays: distance\nstretch: 3\n":                                                      stretched(3),
		"version: 1\ndelays: distance\ndefault: {delay: 7ms}\n":                                           stretched(1.84),
		"version: 1\ndelays: none\npairs: [{from: westeurope, to: eastus, path: public, delay: 1.5ms}]\n": 1500 * time.Microsecond,
	} {
		got, err := Parse([]byte(text), members)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if d := got.Link("westeurope", "eastus", "public").Delay; d != want {
			t.Errorf("%s: %s, want %s", text, d, want)
		}
	}
}

func stretched(by float64) time.Duration {
	a, _ := catalog.Lookup("westeurope")
	b, _ := catalog.Lookup("eastus")
	return byDistance(a, b, by)
}

func TestBadFilesAreExplained(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) != 15 {
		t.Fatalf("%d bad files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			who := members
			if strings.Contains(file, "no-region") {
				who = []Member{members[0], {Name: "office", Region: "basement", Paths: []string{"public"}}}
			}
			got, err := Parse(read(t, file), who)
			var faults Faults
			if !errors.As(err, &faults) || got != nil {
				t.Fatalf("%v, want Faults", err)
			}
			want := string(read(t, strings.TrimSuffix(file, ".yaml")+".txt"))
			if text := err.Error() + "\n"; text != want {
				t.Errorf("got\n%swant\n%s", text, want)
			}
			if !slices.IsSortedFunc(faults, func(a, b Fault) int { return a.Line - b.Line }) {
				t.Error("not in the order of the lines")
			}
		})
	}
	_, err = Parse(make([]byte, MaxBytes+1), members)
	if err == nil || err.Error() != "wan.yaml: 1048577 bytes: want at most 1048576" {
		t.Errorf("%v", err)
	}
}

// The file that the stack starts with is about the probers that it starts with.
func TestShippedFileFitsTheShippedProbers(t *testing.T) {
	c, err := config.Parse(read(t, "../../sweep.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []Member
	for _, p := range c.Probers {
		all = append(all, Member{Name: p.ID, Region: p.Region, Paths: []string{"public"}})
	}
	got, err := Parse(read(t, "../../wan.yaml"), all)
	if err != nil {
		t.Fatal(err)
	}
	if l := got.Link("westeurope", "southeastasia", "public"); l.Delay != 90750*time.Microsecond || l.Jitter == 0 || l.Loss != 0 {
		t.Errorf("%+v", l)
	}
	if l := got.Link("eastus", "brazilsouth", "public"); l.Loss == 0 {
		t.Errorf("%+v", l)
	}
}

func TestValidateNamesTheFault(t *testing.T) {
	good := func() Topology {
		subnets := DefaultSubnets()
		return Topology{Subnets: subnets, Nodes: []Node{
			{Name: "a", Addresses: map[string]netip.Addr{"public": Address(subnets["public"], 0)}},
			{Name: "b", Addresses: map[string]netip.Addr{"public": Address(subnets["public"], 1), "vpn": Address(subnets["vpn"], 1)}},
		}}
	}
	if g := good(); g.Validate() != nil {
		t.Fatal(g.Validate())
	}
	for want, spoil := range map[string]func(*Topology){
		`node "a": want a name that no other node has`:                                                           func(n *Topology) { n.Nodes[1].Name = "a" },
		`node "b": address 10.90.0.11 is that of node "a"`:                                                       func(n *Topology) { n.Nodes[1].Addresses["public"] = n.Nodes[0].Addresses["public"] },
		`node "a": path "sea" has no subnet`:                                                                     func(n *Topology) { n.Nodes[0].Addresses["sea"] = netip.MustParseAddr("10.1.1.1") },
		`node "a": address 10.1.1.1 is not in 10.92.0.0/16, the subnet of path "vpn"`:                            func(n *Topology) { n.Nodes[0].Addresses["vpn"] = netip.MustParseAddr("10.1.1.1") },
		`link from "a" to "b" over "vpn": want a path for which both have addresses`:                             func(n *Topology) { n.Links = []Between{{From: "a", To: "b", Path: "vpn"}} },
		`link from "a" to "a" over "public": a node has no link to itself`:                                       func(n *Topology) { n.Links = []Between{{From: "a", To: "a", Path: "public"}} },
		`link from "a" to "b" over "public": loss 1.5: want a probability, 0 to 1`:                               func(n *Topology) { n.Links = []Between{{From: "a", To: "b", Path: "public", Link: Link{Loss: 1.5}}} },
		`default link: reorder 0.5: needs reorder_by, how much later a reordered packet leaves, such as 5ms`:     func(n *Topology) { n.Default.Reorder = 0.5 },
		`default link: delay -1ns: want 0s to 10s`:                                                               func(n *Topology) { n.Default.Delay = -1 },
		`subnet 20.1.0.0/16 of path "public" is not private (RFC 1918, RFC 6598): want one such as 10.90.0.0/16`: func(n *Topology) { n.Subnets["public"] = netip.MustParsePrefix("20.1.0.0/16") },
	} {
		n := good()
		spoil(&n)
		if err := n.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
