package experiment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/infra/local/wan/topology"
	"isochrone/sweep/config"
	"isochrone/sweep/plan"
)

func read(t *testing.T, e Experiment, name string) []byte {
	t.Helper()
	root, err := azuritetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(root, e.file(name)))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Every experiment's files are what the stack takes: probes, probers, paths and services agree.
func TestFilesOfTheExperiments(t *testing.T) {
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			c, err := config.Parse(read(t, e, configFile))
			if err != nil {
				t.Fatal(err)
			}
			var members []topology.Member
			for _, p := range c.Probers {
				m := topology.Member{Name: p.ID, Region: p.Region}
				for path := range p.Addresses {
					m.Paths = append(m.Paths, path)
				}
				members = append(members, m)
			}
			for _, s := range e.Services {
				members = append(members, topology.Member{Name: s.Name, Paths: s.Paths})
			}
			network, err := topology.Parse(read(t, e, networkFile), members)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range c.Probers {
				n, _ := network.Node(p.ID)
				for path, at := range n.Addresses {
					if !p.Permits(path, at.String(), at, c.Loopback) {
						t.Errorf("prober %s has %s on path %s, which the configuration does not allow", p.ID, at, path)
					}
				}
			}
			var planned, probes []string
			for _, names := range e.Phases {
				planned = append(planned, names...)
			}
			for _, p := range c.Probes {
				probes = append(probes, p.Name)
				if len(c.Pairs(&p)) == 0 {
					t.Errorf("probe %s has no pair", p.Name)
				}
			}
			slices.Sort(planned)
			slices.Sort(probes)
			if !slices.Equal(planned, probes) {
				t.Errorf("the phases have probes %q, the configuration %q", planned, probes)
			}
			text := string(read(t, e, readmeFile))
			if !strings.Contains(text, "make experiment NAME="+e.Name+"\n") || !strings.Contains(text, measuredBegins) || !strings.Contains(text, measuredEnds) {
				t.Errorf("the README lacks the command, or the place of what is measured")
			}
		})
	}
}

func TestServicesAreWhereEndpointsLead(t *testing.T) {
	e, err := Find("load")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(read(t, e, configFile))
	if err != nil {
		t.Fatal(err)
	}
	subnets := topology.DefaultSubnets()
	for _, endpoint := range c.Endpoints {
		at := topology.Address(subnets[endpoint.Path], len(c.Probers)).String()
		if want := "http://" + at + ":8080/work"; endpoint.URL != want {
			t.Errorf("endpoint %s is %s, the service is at %s", endpoint.Name, endpoint.URL, want)
		}
	}
}

// Exactly the probes of a phase are due at its slot, whatever hour their file names.
func TestAPhaseIsDueNow(t *testing.T) {
	slot := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) // the day before is in another month
	for _, e := range All() {
		for _, names := range e.Phases {
			body, err := dueAt(read(t, e, configFile), names, slot)
			if err != nil {
				t.Fatal(err)
			}
			c, err := config.Parse(body)
			if err != nil {
				t.Fatalf("%s: %v\n%s", e.Name, err, body)
			}
			var due []string
			for _, p := range plan.Due(c, slot) {
				due = append(due, p.Name)
			}
			if !slices.Equal(due, names) {
				t.Errorf("%s: %q are due, want %q", e.Name, due, names)
			}
		}
	}
	if _, err := dueAt([]byte("probes: [{name: a, schedule: x}]"), []string{"a", "b"}, slot); err == nil || !strings.Contains(err.Error(), "1 of the probes") {
		t.Errorf("a probe that is not there: %v", err)
	}
}

func TestUnknownExperimentsAreExplained(t *testing.T) {
	_, err := Find("path")
	if want := `experiment "path": there is none of that name; want one of paths, saturation, stream, load`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
