package questions

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"isochrone/prober/wire"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
)

// checkNames holds the names that were given against the configuration. All that are not there come at once.
func (a *asked) checkNames() *refusal {
	var faults []fault
	probers, targets := a.places()
	for _, of := range []struct {
		parameter, what string
		there           []string
	}{{"source", "prober", probers}, {"from", "prober", probers}, {"target", "prober or endpoint", targets},
		{"path", "path", a.allPaths()}, {"probe", "probe", a.allProbes("")}} {
		if of.parameter == "probe" && a.foreign() {
			continue // of foreign documents the configuration knows nothing
		}
		if name, given := a.values[of.parameter]; given && !slices.Contains(of.there, name) {
			faults = append(faults, absentFault(of.parameter, of.what, name, of.there))
		}
	}
	if len(faults) > 0 {
		return &refusal{http.StatusNotFound, faults}
	}
	if source, target := a.values["source"], a.values["target"]; source != "" && source == target {
		return badRequest("target", "want another than source", "source and target are both %q", source)
	}
	return nil
}

func (a *asked) places() (probers, targets []string) {
	for _, p := range a.config.Probers {
		probers = append(probers, p.ID)
	}
	targets = slices.Clone(probers)
	for _, e := range a.config.Endpoints {
		targets = append(targets, e.Name)
	}
	return probers, targets
}

func (a *asked) allPaths() []string { return answers.OverviewOf(a.config).Paths }

// allProbes are the probes that measure over a path, or all.
func (a *asked) allProbes(path string) (names []string) {
	for _, p := range a.config.Probes {
		if path == "" || slices.Contains(p.Paths, path) {
			names = append(names, p.Name)
		}
	}
	return names
}

// foreign says that the probe asked about is one of documents that other tools wrote.
func (a *asked) foreign() bool { return strings.HasPrefix(a.values["probe"], wire.ForeignPrefix) }

// combination is the path and the probe that are asked about, where none is named those that stand for it.
func (a *asked) combination() (path, probe string, err error) {
	path, probe = a.values["path"], a.values["probe"]
	switch {
	case path == "" && probe == "":
		path, probe = answers.Default(a.config)
	case probe == "":
		probe, _ = answers.DefaultProbe(a.config, path)
	case path == "":
		if at := slices.IndexFunc(a.config.Probes, func(p config.Probe) bool { return p.Name == probe }); at >= 0 {
			path = a.config.Probes[at].Paths[0]
		}
	}
	if there := a.allProbes(path); !slices.Contains(there, probe) {
		return "", "", notFound("probe", "probe over path "+path+" by the name", probe, there)
	}
	return path, probe, nil
}

// pair is the series that is asked about: source and target are named, and the probe measures them over the path.
func (a *asked) pair() (source, target, path, probe string, err error) {
	source, target = a.values["source"], a.values["target"]
	if a.foreign() {
		if path = a.values["path"]; path == "" {
			return "", "", "", "", badRequest("path", "name the path of the documents", "path is missing, and nothing stands for it with a probe of foreign documents")
		}
		return source, target, path, a.values["probe"], nil
	}
	if path, probe, err = a.combination(); err != nil {
		return "", "", "", "", err
	}
	var there []string
	for i := range a.config.Probes {
		p := &a.config.Probes[i]
		if p.Name != probe {
			continue
		}
		for _, of := range a.config.Pairs(p) {
			if of.Path != path || of.Source != source {
				continue
			}
			if of.Target == target {
				return source, target, path, probe, nil
			}
			there = append(there, of.Target)
		}
	}
	return "", "", "", "", notFound("target", fmt.Sprintf("measurement by probe %s over path %s from %s to", probe, path, source), target, there)
}

// regions are the probers' regions by id; none where everything is on one machine.
func (a *asked) regions() map[string]string {
	out := map[string]string{}
	if a.config.Loopback {
		return out
	}
	for _, p := range a.config.Probers {
		out[p.ID] = p.Region
	}
	return out
}
