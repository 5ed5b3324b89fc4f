package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"isochrone/prober/probe"
	"isochrone/prober/wire"
)

// work waits for the assignment's start, and until nothing that is under way forbids it, makes its
// runs and hands the document to the courier.
//
// If the program is told to stop before the start, nothing is delivered: the process that takes
// over may still be in time, and a document of ours would stand in its way. After the start, the
// document says how far the runs came.
func (a *agent) work(ctx context.Context, as *wire.Assignment) {
	if !sleepUntil(ctx, a.now, as.Start) {
		return
	}
	reason := ""
	if sends(as) {
		reason = a.exclusion.enter(ctx, a.now, as)
	}
	before := readCPUTimes()
	runs := a.runs(ctx, as, reason)
	if sends(as) {
		a.exclusion.leave(as, reason == "")
	}
	document := wire.Document{
		Version: wire.DocumentVersion, Environment: a.settings.environment, Slot: as.Slot.UTC(), Source: a.settings.prober,
		Probe: as.Probe, Part: as.Part, Assignment: as.ID, Attempt: newAttempt(), Provenance: provenance(a.settings), Runs: runs,
	}
	document.Provenance.ClockErrorNS = clockErrorNS()
	document.Provenance.CPUStealRatio = stealSince(before, readCPUTimes())
	received := 0
	for i := range runs {
		a.metrics.samplesSent.Add(float64(runs[i].Counts.Sent))
		a.metrics.samplesReceived.Add(float64(runs[i].Counts.Received))
		if runs[i].Counts.Received > 0 {
			received++
		}
	}
	body, err := encode(&document)
	if err != nil {
		a.log.Error("gave up an assignment", "assignment", as.ID, "error", err)
		return
	}
	a.metrics.assignmentsFinished.Inc()
	a.log.Info("finished an assignment", "assignment", as.ID, "probe", as.Probe, "runs", len(runs), "runs_with_replies", received)
	a.courier.put(wire.InboxBlob(a.settings.prober, as.Slot, as.ID, document.Attempt), body)
}

// runs makes all runs at the same time, their sends spread evenly over one interval: 59 targets
// probed in the same instant would queue behind each other in this machine's network interface,
// and the queue would be measured. With a reason why not, none is made.
func (a *agent) runs(ctx context.Context, as *wire.Assignment, reason string) []wire.Run {
	out := make([]wire.Run, len(as.Runs))
	now := a.now()
	begin := now.Add(max(as.Start.Sub(now), 0))
	var all sync.WaitGroup
	for i := range as.Runs {
		r := &as.Runs[i]
		req := probe.Request{
			Target: r.Target, Path: r.Path, Spec: as.Spec, Address: r.Address, URL: r.URL, Loopback: r.Loopback, Session: r.Session, Key: r.Key,
			PlannedStart: as.Start, LatestStart: as.LatestStart, Deadline: as.Deadline,
			First: begin.Add(time.Duration(i) * as.Spec.Interval / time.Duration(len(as.Runs))),
		}
		switch {
		case r.Failure != "":
			out[i] = probe.NotMade(req, r.Failure, cmp.Or(r.Detail, "the app knew of it when the sweep was planned"))
		case reason != "":
			out[i] = probe.NotMade(req, wire.FailureCanceled, reason)
		default:
			all.Go(func() { out[i] = a.prober.Make(ctx, req) })
		}
	}
	all.Wait()
	return out
}

// sleepUntil returns false if ctx ends first.
func sleepUntil(ctx context.Context, now func() time.Time, t time.Time) bool {
	timer := time.NewTimer(t.Sub(now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// newAttempt names this process's attempt at an assignment.
func newAttempt() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

// encode is the document as it travels: JSON, gzipped without a time stamp, so that the same
// document gives the same bytes.
func encode(d *wire.Document) ([]byte, error) {
	if err := d.Validate(); err != nil { // the app would quarantine it: better to learn of it here
		return nil, fmt.Errorf("checking the document of %q: %w", d.Assignment, err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := json.NewEncoder(z).Encode(d); err != nil {
		return nil, fmt.Errorf("encoding the document of %q: %w", d.Assignment, err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("packing the document of %q: %w", d.Assignment, err)
	}
	return packed.Bytes(), nil
}
