package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"isochrone/infra/local/simulated"
	"isochrone/prober/mailbox"
	"isochrone/prober/spool"
	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// proberChild is a prober with a real mailbox and a real spool on disk. What it measures is made up, and
// takes no time.
type proberChild struct {
	task    task
	clock   *clock
	log     *slog.Logger
	mailbox *mailbox.Mailbox
	spool   *spool.Spool
	journal *journal
	seed    uint64
	self    wire.Registration

	mu      sync.Mutex // one step at a time
	since   time.Time  // what starts before it was for an earlier process
	looked  bool       // for an earlier process
	held    []wire.Assignment
	taken   map[string]time.Time
	dropped int // documents that the spool gave up
}

func newProber(_ context.Context, t task, c *clock, log *slog.Logger) (*proberChild, error) {
	cfg, err := config.Parse([]byte(t.Config))
	if err != nil {
		return nil, err
	}
	in, ok := cfg.Prober(t.Name)
	if !ok {
		return nil, fmt.Errorf("the configuration has no prober %q", t.Name)
	}
	p := &proberChild{task: t, clock: c, log: log, seed: t.Seed, taken: map[string]time.Time{}, since: c.now()}
	if p.mailbox, err = mailbox.Open(t.Account, t.Environment, t.Name, nil); err != nil {
		return nil, err
	}
	if p.journal, err = openJournal(t.Journal); err != nil {
		return nil, err
	}
	if p.spool, err = spool.Open(spool.Options{
		Dir: t.Spool, Bytes: 1 << 30, MemoryBytes: 64 << 20, TTL: 7 * 24 * time.Hour, Now: c.now,
		Uptime: func() time.Duration { return c.month().Sub(t.Now) }, Log: log,
		Dropped: func(name string, reason spool.Reason, err error) {
			p.dropped++ // within a call of the spool's, and all of those are ours, one at a time
			log.Error("the spool gave up a document", "document", name, "reason", reason, "error", err)
		},
	}); err != nil {
		return nil, err
	}
	p.self = wire.Registration{Version: wire.RegistrationVersion, Environment: t.Environment, Prober: t.Name, Region: in.Region,
		Started: c.now(), HeartbeatInterval: heartbeat, ReadsAssignments: []int{wire.AssignmentsVersion},
		Addresses:  []wire.PathAddress{{Path: "public", Host: in.Addresses["public"][0].Prefix.Addr().String(), TCPPort: 7700, UDPPort: 7701}},
		Provenance: wire.Provenance{ProberVersion: simulated.Version}}
	return p, nil
}

// heartbeat is what probers promise. They beat before each slot: one whose beats failed, or whose clock is
// far behind, is down as a target.
const heartbeat = time.Minute

func (p *proberChild) do(ctx context.Context, o order) (map[string]int, error) {
	if o.Do != doStep {
		return nil, fmt.Errorf("a prober does not %q", o.Do)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := map[string]int{}
	var faults []error
	if o.Beat || !p.looked {
		faults = append(faults, p.beat(ctx))
	}
	current, err := p.mailbox.Poll(ctx)
	faults = append(faults, err)
	if current != nil {
		p.held = current.Assignments
	}
	if p.looked {
		faults = append(faults, p.work(counts))
	}
	faults = append(faults, p.deliver(ctx, counts))
	counts["spooled"], counts["dropped"] = p.spool.Len(), p.dropped
	return counts, errors.Join(faults...)
}

// beat registers. Before the first time it looks for an earlier process: what began before that one's last
// sign of life was its own.
func (p *proberChild) beat(ctx context.Context) error {
	if !p.looked {
		stored, _, err := p.mailbox.Registered(ctx)
		if err != nil {
			return err
		}
		if stored != nil {
			seen := stored.Heartbeat
			if now := p.clock.now(); now.Before(seen) {
				seen = now // its clock was wrong, or ours is
			}
			if seen.After(p.since) {
				p.since = seen
			}
		}
		p.looked = true
	}
	r := p.self
	r.Heartbeat = p.clock.now()
	return p.mailbox.Register(ctx, r)
}

// work makes what is due of what is held.
func (p *proberChild) work(counts map[string]int) error {
	now := p.clock.now()
	for id, deadline := range p.taken {
		if now.Sub(deadline) > time.Hour { // a clock that goes back does not bring it again
			delete(p.taken, id)
		}
	}
	var later []wire.Assignment
	var faults []error
	for _, a := range p.held {
		_, known := p.taken[a.ID]
		switch {
		case known || now.After(a.Deadline) || a.Start.Before(p.since):
		case now.Before(a.Start):
			later = append(later, a)
		default:
			p.taken[a.ID] = a.Deadline
			faults = append(faults, p.measure(a, now))
			counts["finished"]++
		}
	}
	p.held = later
	return errors.Join(faults...)
}

// measure makes an assignment's document and has the spool keep it.
func (p *proberChild) measure(a wire.Assignment, now time.Time) error {
	planned := a.Start
	if now.After(a.LatestStart) {
		for i := range a.Runs {
			a.Runs[i].Failure, a.Runs[i].Detail = wire.FailureCanceled, "it would have begun too late"
		}
	}
	d, err := simulated.Document(p.task.Environment, p.task.Name, a, p.seed)
	if err != nil {
		return err
	}
	samples, sent := 0, 0
	for i := range d.Runs {
		d.Runs[i].PlannedStart = planned
		samples += d.Runs[i].Samples.Len()
		sent += d.Runs[i].Counts.Sent
	}
	body, err := simulated.Encode(&d)
	if err != nil {
		return err
	}
	name := wire.InboxBlob(p.task.Name, a.Slot, a.ID, d.Attempt)
	if err := p.spool.Put(name, body); err != nil {
		return err
	}
	// Only now: what the spool has not taken yet may be lost with the process.
	return p.journal.add(finished{Name: name, Source: p.task.Name, Slot: a.Slot, Assignment: a.ID, SHA256: sum(body), Samples: samples, Sent: sent})
}

// deliver makes one attempt at what waits. What storage refused for good stays set aside in the spool.
func (p *proberChild) deliver(ctx context.Context, counts map[string]int) error {
	var faults []error
	tried := map[string]bool{}
	for {
		batch := p.spool.Next(8, 4<<20, func(name string) bool { return tried[name] })
		if len(batch) == 0 {
			return errors.Join(faults...)
		}
		failed := make([]error, len(batch))
		var all sync.WaitGroup
		for i, d := range batch {
			tried[d.Name] = true
			all.Go(func() { failed[i] = p.mailbox.Deliver(ctx, d.Name, d.Body) })
		}
		all.Wait()
		worked := false
		for i, d := range batch {
			switch {
			case failed[i] == nil:
				p.spool.Remove(d)
				counts["delivered"]++
				worked = true
			case errors.Is(failed[i], mailbox.ErrConflict):
				p.spool.Refuse(d, failed[i])
				counts["refused"]++
			default:
				faults = append(faults, failed[i])
			}
		}
		if !worked { // storage is away
			return errors.Join(faults...)
		}
	}
}
