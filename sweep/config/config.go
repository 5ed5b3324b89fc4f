// Package config reads sweep.yaml: the probers, the paths between them, the endpoints, and the
// probes with their schedules. A configuration is validated once, here, and every fault is reported at once
// with its line; what Parse returns can be planned.
package config

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"isochrone/prober/wire"
)

// Version of sweep.yaml that this program reads.
const Version = 1

// MaxBytes is the largest sweep.yaml that is read.
const MaxBytes = 1 << 20

// MaxProbers and MaxProbes bound what one sweep may hold: beyond them a plan no longer fits
// the memory and the minutes that a Functions worker has. The design point is 60 probers.
const (
	MaxProbers = 200
	MaxProbes  = 100
)

// Config is a valid sweep.yaml.
type Config struct {
	Version     int
	Environment string // must equal the app's
	// Loopback allows addresses on 127.0.0.0/8 and ::1, and private ones on the public path:
	// everything runs on one machine.
	Loopback bool
	Timing   Timing
	Budget   Budget
	Probers  []Prober // in the file's order, at least one
	// Endpoints are targets that are no probers, in the file's order. Their names are no prober's
	// and no region's.
	Endpoints []Endpoint
	Probes    []Probe // in the file's order, at least one
	// Alerts says what is worth an alert, and Objectives, in the file's order, what a recovery plan asks of lines.
	Alerts     Alerts
	Objectives []Objective
}

// Timing is how long the parts of a sweep wait for each other.
type Timing struct {
	Lead  time.Duration // a run starts this long after the slot, or after the planning if that is later
	Late  time.Duration // a latency run may begin this much later
	Grace time.Duration // the app waits this long for a document after the deadline
}

// Prober is a prober that takes part.
type Prober struct {
	ID     string // the region's name unless the file says otherwise
	Region string // in the catalog
	// Addresses are what the prober may register, by path: it takes part in exactly the
	// paths that have an entry.
	Addresses map[string][]Allowed
}

// Allowed is an address range or a DNS name that a prober may register: one of the two is set.
type Allowed struct {
	Prefix netip.Prefix
	Name   string // lower case, without a dot at the end
}

// Probe is what is measured, how, when, and between whom.
type Probe struct {
	Name     string
	Schedule string        // as written
	Cron     cron.Schedule // in its own time zone; UTC unless the schedule names one. Due and Next say when the probe is due
	// Rotate: of the times that the schedule names in a day only one is due, another each day.
	Rotate bool
	Paths  []string
	From   []string // prober ids; empty means all
	To     []string // prober ids and names of endpoints; empty means all probers, and no endpoint
	Spec   wire.Spec
}

// Paths lists the paths that an address can be given for.
func Paths() []string { return []string{"public", "peering", "vpn", "expressroute"} }

// Prober finds a prober by its id.
func (c *Config) Prober(id string) (Prober, bool) {
	for _, p := range c.Probers {
		if p.ID == id {
			return p, true
		}
	}
	return Prober{}, false
}

// Pair is a run that a probe asks for: source and target both list the path. Target is a prober's
// id or an endpoint's name.
type Pair struct{ Source, Target, Path string }

// Pairs lists the runs of a probe: every ordered pair of two probers that both list one of the
// probe's paths, sources limited to From and targets to To; and every source with each endpoint
// that To names, over the endpoint's path. They come in the order of source, target, path.
func (c *Config) Pairs(p *Probe) []Pair {
	var pairs []Pair
	for _, source := range c.Probers {
		if !named(p.From, source.ID) {
			continue
		}
		for _, target := range c.Probers {
			if target.ID == source.ID || !named(p.To, target.ID) {
				continue
			}
			for _, path := range p.Paths {
				if source.has(path) && target.has(path) {
					pairs = append(pairs, Pair{Source: source.ID, Target: target.ID, Path: path})
				}
			}
		}
		for _, e := range c.Endpoints {
			if slices.Contains(p.To, e.Name) && slices.Contains(p.Paths, e.Path) && source.has(e.Path) {
				pairs = append(pairs, Pair{Source: source.ID, Target: e.Name, Path: e.Path})
			}
		}
	}
	slices.SortFunc(pairs, Pair.compare)
	return pairs
}

func (p Pair) compare(q Pair) int {
	return cmp.Or(strings.Compare(p.Source, q.Source), strings.Compare(p.Target, q.Target), strings.Compare(p.Path, q.Path))
}

func named(ids []string, id string) bool { return len(ids) == 0 || slices.Contains(ids, id) }

func (p Prober) has(path string) bool { return len(p.Addresses[path]) > 0 }
