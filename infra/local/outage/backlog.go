package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/config"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/ledger"
	"isochrone/sweep/plan"
	"isochrone/sweep/tables"
)

// invocation is what host.json gives a tick, less what the app keeps for its answer.
const invocation = 5*time.Minute - 20*time.Second

// backlog is what a tick has to do that comes late: slots of n probers, each with a run to every other.
type backlog struct {
	slots, n    int
	rows, runs  int
	missing     time.Duration // recording the slots as missed
	expiring    time.Duration // giving expired rows to as many slots that were planned
	invocations int
	incomplete  int // sweeps that are not complete then
	notMissed   int // slots without a header that says missed
}

// measureBacklog measures both ways in which a day may have been lost: nobody swept its slots; and all were
// planned, and nobody came back. Ticks end after maxInvocation and are resumed by the next.
func measureBacklog(ctx context.Context, server *azurite.Server, environment string, slots, n int, maxInvocation time.Duration) (*backlog, error) {
	out := &backlog{slots: slots, n: n}
	blobs, err := archive.Open(server.Account(), environment)
	if err != nil {
		return nil, err
	}
	rows, err := tables.Open(server.Account(), environment)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Hour)
	if err := blobs.Ensure(ctx); err != nil {
		return nil, err
	}
	if err := rows.Ensure(ctx, now); err != nil {
		return nil, err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "version: 1\nenvironment: %s\nloopback: true\nprobers:\n", environment)
	for i := range n {
		fmt.Fprintf(&text, "  - {id: westeurope-%02d, region: westeurope, addresses: {public: [127.0.1.%d/32]}}\n", i, i+1)
	}
	text.WriteString("probes:\n  - {name: tcp-64, kind: tcp, schedule: \"*/10 * * * *\", paths: [public], count: 20, interval: 20ms, timeout: 1s, warmup: 1, request: 64, response: 16}\n")
	c, err := config.Parse([]byte(text.String()))
	if err != nil {
		return nil, err
	}
	hash, err := blobs.PinConfig(ctx, []byte(text.String()))
	if err != nil {
		return nil, err
	}
	d := &dispatch.Dispatcher{Environment: environment, Mailbox: blobs, Ledger: rows, Rows: rows, Resolver: net.DefaultResolver,
		Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), NewSeed: wire.NewSeed}

	var unswept []time.Time
	for i := range slots {
		unswept = append(unswept, now.Add(-3*24*time.Hour+time.Duration(i)*period))
	}
	begun := time.Now()
	if _, err := d.Miss(ctx, unswept); err != nil {
		return nil, err
	}
	out.missing = time.Since(begun)

	day := now.Add(-25 * time.Hour)
	targets := map[string]plan.Target{}
	for i, p := range c.Probers {
		targets[p.ID] = plan.Target{Assignments: wire.AssignmentsVersion,
			Addresses: map[string]plan.Address{"public": {IP: netip.AddrFrom4([4]byte{127, 0, 1, byte(i + 1)}), TCPPort: 7700}}}
	}
	for i := range slots {
		slot := day.Add(time.Duration(i) * period)
		p, err := plan.Make(plan.Input{Config: c, ConfigHash: hash, Slot: slot, Now: slot, Seed: wire.NewSeed(), Targets: targets})
		if err != nil {
			return nil, err
		}
		body, err := plan.Encode(p)
		if err != nil {
			return nil, err
		}
		if err := rows.MarkOpen(ctx, slot); err != nil {
			return nil, err
		}
		if _, err := blobs.CreatePlan(ctx, slot, body); err != nil {
			return nil, err
		}
		out.runs += p.Runs()
	}
	for begun := time.Now(); ; {
		tick, cancel := context.WithTimeout(ctx, maxInvocation)
		_, err := d.Resume(tick)
		late := tick.Err() != nil
		cancel()
		out.invocations++
		out.expiring = time.Since(begun)
		if err != nil && !late {
			return nil, err
		}
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return out, out.check(ctx, rows, day, unswept)
}

// check counts what is stored.
func (b *backlog) check(ctx context.Context, rows *tables.Store, day time.Time, unswept []time.Time) error {
	headers, err := rows.Sweeps(ctx, unswept[0], day.Add(25*time.Hour))
	if err != nil {
		return err
	}
	b.incomplete, b.notMissed = b.slots, len(unswept)
	for _, h := range headers {
		switch {
		case h.State == ledger.Complete && !h.Slot.Before(day):
			b.incomplete--
		case h.State == ledger.Missed && h.Slot.Before(day):
			b.notMissed--
		}
	}
	for _, err := range rows.Outcomes(ctx, tables.RunQuery{Since: day, Until: day.Add(25 * time.Hour)}) {
		if err != nil {
			return err
		}
		b.rows++
	}
	return nil
}
