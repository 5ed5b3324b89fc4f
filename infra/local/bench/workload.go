package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"isochrone/infra/local/simulated"
	"isochrone/prober/wire"
	"isochrone/sweep/plan"
)

// workload is one sweep: its plan, and the document of each of its assignments.
type workload struct {
	plan      []byte
	slot      time.Time
	documents map[string][]byte // by inbox name
	rows      int
	samples   int
}

// newWorkload makes a sweep of n probers that measure each other with one probe of count
// samples. The same seed gives the same documents.
func newWorkload(environment string, slot time.Time, n, count int, seed uint64) (workload, error) {
	w := workload{slot: slot, documents: map[string][]byte{}, rows: n * (n - 1), samples: n * (n - 1) * count}
	spec := wire.Spec{Kind: wire.KindTCP, Count: count, Warmup: 5, Interval: 20 * time.Millisecond, Timeout: time.Second, RequestBytes: 64, ResponseBytes: 16}
	start := slot.Add(30 * time.Second)
	p := plan.Plan{Version: plan.Version, Environment: environment, Slot: slot, Seed: wire.Key{1}, ConfigHash: fmt.Sprintf("%064x", 1)}
	random := rand.New(rand.NewPCG(seed, 1))
	for source := range n {
		a := plan.Assignment{Source: prober(source), Probe: "tcp-64", Spec: spec, Start: start, LatestStart: start.Add(time.Minute),
			Deadline: start.Add(2 * time.Minute), Expires: start.Add(3 * time.Minute)}
		a.ID = wire.AssignmentID(environment, slot, a.Source, a.Probe, 0)
		d := wire.Document{Version: wire.DocumentVersion, Environment: environment, Slot: slot, Source: a.Source, Probe: a.Probe, Assignment: a.ID, Attempt: "00000001",
			Provenance: wire.Provenance{ProberVersion: "bench"}}
		for target := range n {
			if target == source {
				continue
			}
			r := plan.Run{Target: prober(target), Path: "public", Address: fmt.Sprintf("192.0.2.%d:7700", target+1)}
			a.Runs = append(a.Runs, r)
			measured, err := simulated.Run(a.Source, wire.AssignedRun{Target: r.Target, Path: r.Path, Address: r.Address}, spec, start, random)
			if err != nil {
				return workload{}, err
			}
			d.Runs = append(d.Runs, measured)
		}
		p.Assignments = append(p.Assignments, a)
		if err := d.Validate(); err != nil {
			return workload{}, fmt.Errorf("making a document: %w", err)
		}
		body, err := simulated.Encode(&d)
		if err != nil {
			return workload{}, err
		}
		w.documents[wire.InboxBlob(a.Source, slot, a.ID, d.Attempt)] = body
	}
	var err error
	w.plan, err = plan.Encode(&p)
	return w, err
}

func prober(i int) string { return fmt.Sprintf("region-%02d", i) }
