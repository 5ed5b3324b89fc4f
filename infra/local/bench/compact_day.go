package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/result"
)

// A source's day at the design point: 59 targets, two paths, three latency kinds, every ten minutes. The planner
// keeps a document under 100,000 samples, so a slot has two a probe.
const (
	compactTargets = 59
	compactSlots   = 144
	compactCount   = 1000
	compactSource  = "westeurope"
)

var (
	compactProbes = []string{"icmp-64", "tcp-64", "udp-64"}
	compactPaths  = []string{"peering", "public"} // a part each
	compactDate   = archive.SourceDay{Source: compactSource, Day: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
)

// assignment is one document's samples.
type assignment struct {
	id      string
	slot    time.Time
	results []result.Result
}

// assignmentsOf gives each assignment of so many slots to take, a few at once.
func assignmentsOf(environment string, slots int, take func(assignment) error) error {
	var g errgroup.Group
	g.SetLimit(2)
	for i := range slots {
		for p := range compactProbes {
			for part := range compactPaths {
				g.Go(func() error {
					slot := compactDate.Day.Add(time.Duration(i) * 24 * time.Hour / compactSlots)
					return take(newAssignment(environment, slot, p, part))
				})
			}
		}
	}
	return g.Wait()
}

func newAssignment(environment string, slot time.Time, probe, part int) assignment {
	random := rand.New(rand.NewPCG(uint64(slot.Unix()), uint64(probe*10+part)))
	name := compactProbes[probe]
	a := assignment{id: wire.AssignmentID(environment, slot, compactSource, name, part), slot: slot}
	for target := range compactTargets {
		start := slot.Add(30*time.Second + time.Duration(random.Int64N(1e6)))
		base := 2e6 + 2e8*random.Float64()
		run := wire.Run{Target: prober(target), Path: compactPaths[part], Kind: wire.KindTCP, PlannedStart: start, Start: &start}
		s := &run.Samples
		for i := range compactCount {
			due := int64(i) * int64(20*time.Millisecond)
			rtt, failure := int64(base*(1+0.02*random.ExpFloat64())), wire.Failure("")
			if random.IntN(1000) == 0 {
				rtt, failure = wire.Null, wire.FailureTimeout
			}
			s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, due), append(s.SentNS, due+random.Int64N(100_000))
			s.RTTNS, s.Failure = append(s.RTTNS, rtt), append(s.Failure, failure)
			server, client := 8_000+random.Int64N(10_000), 30_000+random.Int64N(200_000)
			if failure != "" {
				server, client = wire.Null, wire.Null
			}
			s.ServerNS, s.ClientNS = append(s.ServerNS, server), append(s.ClientNS, client)
		}
		a.results = append(a.results, result.Result{Series: wire.Series{Environment: environment, Source: compactSource, Target: run.Target, Path: run.Path, Probe: name},
			Slot: slot, Assignment: a.id, Run: run})
	}
	return a
}

// makeDay writes the raw files of a day into a folder, and says how many samples they have.
func makeDay(f *folder, slots int) (rows int, err error) {
	dir := f.path(compactDate, "raw")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	err = assignmentsOf("bench", slots, func(a assignment) error {
		body, _, err := archive.EncodeSamples(a.results)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, a.slot.Format("1504")+"_"+a.id+".parquet"), body, 0o600)
	})
	if err != nil {
		return 0, fmt.Errorf("making a day: %w", err)
	}
	return slots * len(compactProbes) * len(compactPaths) * compactTargets * compactCount, nil
}
