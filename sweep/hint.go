package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

// hintTime bounds what a hint may ask of the storage: the answer is there already.
const hintTime = 3 * time.Second

// hintEmpty says why there may be no run that fits: a name that the configuration has not, or a
// look that goes not far enough back. An empty answer is an answer, and the exit code stays 0.
func (s *session) hintEmpty(ctx context.Context, st *stores, q tables.RunQuery, since string) {
	ctx, cancel := context.WithTimeout(ctx, hintTime)
	defer cancel()
	if c, err := answers.ReadConfig(ctx, st.archive, st.environment); err == nil { // without one there is nothing to compare with
		if hints := unknownNames(c, q); len(hints) > 0 {
			for _, hint := range hints {
				s.warn("%s", hint)
			}
			return
		}
	}
	s.warn("no run fits since %s (--since %s): raise --since to look further back", stamp(q.Since), visible(since))
}

// unknownNames has a line for each name of the query that the configuration does not have. The
// probers and probes of foreign documents are in no configuration.
func unknownNames(c *config.Config, q tables.RunQuery) (hints []string) {
	var probers, probes, paths []string
	for _, p := range c.Probers {
		probers = append(probers, p.ID)
	}
	target, targets := "prober", slices.Clone(probers)
	for _, e := range c.Endpoints {
		target = "prober or endpoint"
		targets = append(targets, e.Name)
	}
	for _, p := range c.Probes {
		probes = append(probes, p.Name)
		for _, path := range p.Paths {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	foreign := strings.HasPrefix(q.Probe, wire.ForeignPrefix)
	for _, f := range []struct {
		flag, what, given string
		known             []string
	}{{"source", "prober", q.Source, probers}, {"target", target, q.Target, targets}, {"path", "path", q.Path, paths}, {"probe", "probe", q.Probe, probes}} {
		if f.given != "" && !foreign && !slices.Contains(f.known, f.given) {
			hints = append(hints, `--`+f.flag+` "`+f.given+`": no such `+f.what+` in the configuration of environment "`+c.Environment+
				`"; its `+strings.ReplaceAll(f.what, " or ", "s and ")+`s are `+strings.Join(f.known, ", "))
		}
	}
	return hints
}
