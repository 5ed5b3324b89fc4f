package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"isochrone/prober/mailbox"
	"isochrone/prober/spool"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
)

// prober is a prober that measures nothing: it is told its assignments, and keeps and delivers documents, with
// the spool and the mailbox of the real one. Its clock is the rehearsal's.
type prober struct {
	id, environment, address string

	box      *mailbox.Mailbox
	spool    *spool.Spool
	known    map[string]bool
	pending  []wire.Assignment
	finished map[string]bool // assignments with a document, by id
}

func openProber(a account.Account, environment, id, address, dir string, now func() time.Time, begun time.Time) (*prober, error) {
	p := &prober{id: id, environment: environment, address: address, known: map[string]bool{}, finished: map[string]bool{}}
	var err error
	if p.box, err = mailbox.Open(a, environment, id, nil); err != nil {
		return nil, err
	}
	p.spool, err = spool.Open(spool.Options{Dir: filepath.Join(dir, "spool", id), TTL: 7 * 24 * time.Hour, Now: now,
		Uptime: func() time.Duration { return now().Sub(begun) }})
	return p, err
}

// step is what the prober does at a moment: it says that it is there, looks for assignments, finishes those
// that are over, and delivers. Storage that is away stops it nowhere; the next step tries again.
func (p *prober) step(ctx context.Context, now time.Time) error {
	_ = p.box.Register(ctx, wire.Registration{Version: wire.RegistrationVersion, Environment: p.environment, Prober: p.id, Region: p.id,
		Started: now.Add(-time.Hour), Heartbeat: now, HeartbeatInterval: time.Minute, ReadsAssignments: []int{wire.AssignmentsVersion},
		Addresses: []wire.PathAddress{{Path: "public", Host: p.address, TCPPort: 7700}}})
	if told, err := p.box.Poll(ctx); err == nil && told != nil {
		for _, a := range told.Assignments {
			if !p.known[a.ID] && now.Before(a.LatestStart) {
				p.known[a.ID] = true
				p.pending = append(p.pending, a)
			}
		}
	}
	waiting := p.pending[:0]
	for _, a := range p.pending {
		if now.Before(a.Start.Add(a.Spec.Span())) {
			waiting = append(waiting, a)
			continue
		}
		if err := p.finish(a); err != nil {
			return err
		}
	}
	p.pending = waiting
	return p.deliver(ctx)
}

// finish puts the document of an assignment into the spool.
func (p *prober) finish(a wire.Assignment) error {
	d := wire.Document{Version: wire.DocumentVersion, Environment: p.environment, Slot: a.Slot, Source: p.id, Probe: a.Probe, Part: a.Part,
		Assignment: a.ID, Attempt: fmt.Sprintf("%08x", len(p.finished)+1), Provenance: wire.Provenance{ProberVersion: "rehearsal"}}
	for _, r := range a.Runs {
		d.Runs = append(d.Runs, made(a, r))
	}
	if err := d.Validate(); err != nil {
		return fmt.Errorf("making a document of %q: %w", p.id, err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(z).Encode(d), z.Close()); err != nil {
		return fmt.Errorf("packing a document of %q: %w", p.id, err)
	}
	p.finished[a.ID] = true
	return p.spool.Put(wire.InboxBlob(p.id, a.Slot, a.ID, d.Attempt), packed.Bytes())
}

// made is a run in which everything came back after 10 ms.
func made(a wire.Assignment, r wire.AssignedRun) wire.Run {
	out := wire.Run{Target: r.Target, Path: r.Path, Kind: a.Spec.Kind, Address: r.Address, PlannedStart: a.Start, Failure: r.Failure, Detail: r.Detail}
	for i := range a.Spec.Count {
		s := &out.Samples
		due := int64(a.Spec.Warmup+i) * int64(a.Spec.Interval)
		sent, back := due+1000, int64(10*time.Millisecond)+int64(i)*1000
		if r.Failure != "" {
			sent, back = wire.Null, wire.Null
		}
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, due), append(s.SentNS, sent)
		s.RTTNS, s.Failure = append(s.RTTNS, back), append(s.Failure, r.Failure)
	}
	if r.Failure == "" {
		start, end := a.Start.Add(time.Millisecond), a.Start.Add(a.Spec.Span())
		out.Start, out.End = &start, &end
		out.Counts = wire.Counts{Warmup: a.Spec.Warmup, Sent: a.Spec.Count, Received: a.Spec.Count}
	}
	return out
}

// deliver moves what waits into the inbox, eight side by side, until storage does not take it.
func (p *prober) deliver(ctx context.Context) error {
	for {
		batch := p.spool.Next(8, 64<<20, nil)
		if len(batch) == 0 {
			return nil
		}
		faults := make([]error, len(batch))
		var work sync.WaitGroup
		for i := range batch {
			work.Go(func() { faults[i] = p.box.Deliver(ctx, batch[i].Name, batch[i].Body) })
		}
		work.Wait()
		for i, err := range faults {
			switch {
			case err == nil:
				p.spool.Remove(batch[i])
			case errors.Is(err, mailbox.ErrConflict):
				return fmt.Errorf("delivering %q: %w", batch[i].Name, err)
			default:
				return nil // storage is away
			}
		}
	}
}
