package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

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
			measured, err := measuredRun(r, spec, start, random)
			if err != nil {
				return workload{}, err
			}
			d.Runs = append(d.Runs, measured)
		}
		p.Assignments = append(p.Assignments, a)
		if err := d.Validate(); err != nil {
			return workload{}, fmt.Errorf("making a document: %w", err)
		}
		body, err := zip(d)
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

func measuredRun(r plan.Run, spec wire.Spec, start time.Time, random *rand.Rand) (wire.Run, error) {
	end := start.Add(spec.Span())
	run := wire.Run{Target: r.Target, Path: r.Path, Kind: spec.Kind, Address: r.Address, PlannedStart: start, Start: &start, End: &end,
		Counts: wire.Counts{Warmup: spec.Warmup, Sent: spec.Count, Received: spec.Count}, Timestamps: wire.TimestampsUser}
	base := 2e6 + 2e8*random.Float64()
	for i := range spec.Count {
		due := int64(spec.Interval) * int64(i+spec.Warmup)
		run.Samples.Sequence = append(run.Samples.Sequence, int64(i))
		run.Samples.DueNS = append(run.Samples.DueNS, due)
		run.Samples.SentNS = append(run.Samples.SentNS, due+random.Int64N(100_000))
		run.Samples.RTTNS = append(run.Samples.RTTNS, int64(base*(1+0.02*random.ExpFloat64())))
		run.Samples.ServerNS = append(run.Samples.ServerNS, 8_000+random.Int64N(10_000))
		run.Samples.ClientNS = append(run.Samples.ClientNS, 30_000+random.Int64N(200_000))
		run.Samples.Failure = append(run.Samples.Failure, "")
	}
	var err error
	run.RTTHistogram, run.ExcessHistogram, err = wire.Histograms(run.Samples.RTTNS)
	return run, err
}

func zip(d wire.Document) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(d); err != nil {
		return nil, fmt.Errorf("encoding a document: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compressing a document: %w", err)
	}
	return b.Bytes(), nil
}
