package stack

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
	"isochrone/sweep/plan"
	"isochrone/sweep/tables"
)

// Progress is how far a sweep is, in assignments. What the probers say of themselves counts
// from when the sweep was asked for.
type Progress struct {
	Slot      time.Time // zero until the app has planned the sweep
	Planned   int
	Taken     int // by their probers
	Finished  int // measured
	Delivered int // in the inbox
	Converted int // rows stored
	Expired   int
}

// Sweep fires the Sweep timer by hand and follows the sweep until every assignment is received
// or expired, or the Functions host or the emulated network has ended. report is called whenever something has changed.
func (s *Stack) Sweep(ctx context.Context, report func(Progress)) (Outcome, error) {
	before := s.counters(ctx)
	earliest := wire.Slot(time.Now())
	if err := s.Host.Fire(ctx, "Sweep"); err != nil {
		return Outcome{}, err
	}
	var last Progress
	for {
		header, entries, err := s.find(ctx, earliest)
		if err != nil {
			return Outcome{}, err
		}
		now := progress(header, entries, before, s.counters(ctx))
		if now != last && report != nil {
			report(now)
		}
		last = now
		if header.State == ledger.Complete {
			return s.Outcome(ctx, header.Slot)
		}
		select {
		case <-ctx.Done():
			return Outcome{}, fmt.Errorf("waiting for the sweep: %w (so far: %+v)", ctx.Err(), last)
		case <-s.Host.Exited():
			return Outcome{}, errors.New("waiting for the sweep: the Functions host ended")
		case <-s.NetworkExited():
			return Outcome{}, fmt.Errorf("waiting for the sweep: %w", ErrNetwork)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// find returns the first sweep from the given slot on; the app may serve the minute in which it
// was asked, or the next.
func (s *Stack) find(ctx context.Context, earliest time.Time) (ledger.Header, []ledger.Entry, error) {
	for _, slot := range []time.Time{earliest, earliest.Add(time.Minute)} {
		header, entries, found, err := s.Tables.Sweep(ctx, slot)
		if err != nil {
			return ledger.Header{}, nil, err
		}
		if found && header.State != ledger.Missed {
			return header, entries, nil
		}
	}
	return ledger.Header{}, nil, nil
}

func progress(h ledger.Header, entries []ledger.Entry, before, now map[string]float64) Progress {
	p := Progress{Slot: h.Slot, Planned: len(entries)}
	for _, e := range entries {
		switch e.State {
		case ledger.Received:
			p.Converted++
		case ledger.Expired:
			p.Expired++
		}
	}
	// The next scheduled sweep may begin meanwhile: no stage can be ahead of the one before.
	since := func(name string, most int) int { return min(int(now[name]-before[name]), most) }
	p.Taken = max(since("isochrone_assignments_taken_total", p.Planned), p.Converted)
	p.Finished = max(since("isochrone_assignments_finished_total", p.Taken), p.Converted)
	p.Delivered = max(since("isochrone_documents_delivered_total", p.Finished), p.Converted)
	return p
}

// counters sums the counters of all probers; one that does not answer counts as nothing.
func (s *Stack) counters(ctx context.Context) map[string]float64 {
	s.mu.Lock()
	probers := make([]*Prober, 0, len(s.probers))
	for _, p := range s.probers {
		probers = append(probers, p)
	}
	s.mu.Unlock()
	sum := map[string]float64{}
	for _, p := range probers {
		c, err := p.Counters(ctx)
		if err != nil {
			continue
		}
		for name, v := range c {
			sum[name] += v
		}
	}
	return sum
}

// Outcome is what a sweep left behind.
type Outcome struct {
	Slot    time.Time
	Planned int // runs
	Rows    int
	Failed  int           // rows with a failure code
	Missing []wire.Series // planned runs without a result
}

// Archived counts the documents of a slot in the archive, and the rows of its Parquet files.
func (s *Stack) Archived(ctx context.Context, slot time.Time) (documents, samples int, err error) {
	if documents, err = s.Archive.Count(ctx, archive.Documents, slot); err != nil {
		return 0, 0, err
	}
	minute := slot.UTC().Format("1504") + "_"
	for b, err := range s.Archive.Blobs(ctx, archive.Samples, slot) {
		if err != nil {
			return 0, 0, err
		}
		if !strings.HasPrefix(path.Base(b.Name), minute) {
			continue
		}
		rows, _, err := s.Archive.ReadSamples(ctx, b.Name)
		if err != nil {
			return 0, 0, err
		}
		samples += len(rows)
	}
	return documents, samples, nil
}

// Outcome counts what is stored of a slot, and which planned runs have no row or no result.
func (s *Stack) Outcome(ctx context.Context, slot time.Time) (Outcome, error) {
	o := Outcome{Slot: slot}
	have := map[wire.Series]bool{}
	for row, err := range s.Tables.Runs(ctx, tables.RunQuery{Since: slot, Until: slot.Add(time.Minute)}) {
		if err != nil {
			return Outcome{}, err
		}
		o.Rows++
		if row.Failure != "" {
			o.Failed++
			continue
		}
		have[row.Series] = true
	}
	for _, series := range planned(s.Config, slot) {
		o.Planned++
		if !have[series] {
			o.Missing = append(o.Missing, series)
		}
	}
	return o, nil
}

// planned are the series that a sweep of the slot measures.
func planned(c *config.Config, slot time.Time) (out []wire.Series) {
	for _, probe := range plan.Due(c, slot) {
		for _, pair := range c.Pairs(&probe) {
			out = append(out, wire.Series{Environment: c.Environment, Source: pair.Source, Target: pair.Target, Path: pair.Path, Probe: probe.Name})
		}
	}
	return out
}
