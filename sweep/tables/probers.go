package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"isochrone/prober/wire"
)

// proberPartition is the one partition of the probers table.
const proberPartition = "prober"

// proberRow is what is stored of a registration: what a person looks for in columns, and the
// whole of it as the app saw it.
type proberRow struct {
	Region             string
	Started, Heartbeat time.Time
	IntervalS          *float64
	Registration       string
}

// clockSkew is how far a prober's clock may be ahead of the service's: both follow NTP, and are
// seldom more than a second apart.
const clockSkew = 5 * time.Second

// storedAt is when the service stored a row, by its own clock. Rows have it without our writing it.
type storedAt struct{ Timestamp time.Time }

var proberFields = slices.Concat([]field[proberRow]{
	text("region", "the prober's Azure region", func(p *proberRow) *string { return &p.Region }),
	instant("started", "when its program started", func(p *proberRow) *time.Time { return &p.Started }),
	instant("heartbeat", "when it last said that it lives, by its own clock", func(p *proberRow) *time.Time { return &p.Heartbeat }),
	number("heartbeat_interval_s", "s", "how often it says so; three without one and it is down", func(p *proberRow) **float64 { return &p.IntervalS }),
}, splitText("registration", "the whole registration as JSON, version 1", func(p *proberRow) *string { return &p.Registration }))

// PutProbers stores registrations, each unless a later heartbeat of the same prober is stored. A
// heartbeat that lay in the future when it was stored was a wrong clock's, and gives way to any. One that is not valid, or another environment's, is refused, and none is written.
func (s *Store) PutProbers(ctx context.Context, rs []wire.Registration) error {
	updates := make([]update, 0, len(rs))
	newest := map[string]int{}
	for i := range rs {
		if err := s.own(rs[i].Environment); err != nil {
			return fmt.Errorf("storing prober %q: %w", rs[i].Prober, err)
		}
		err := wire.ValidateName("prober", rs[i].Prober)
		if err == nil {
			err = rs[i].Validate(s.environment, rs[i].Prober)
		}
		if err != nil {
			return fmt.Errorf("storing prober %q: %w: %w", rs[i].Prober, ErrRefused, err)
		}
		if old, twice := newest[rs[i].Prober]; !twice || rs[i].Heartbeat.After(rs[old].Heartbeat) {
			newest[rs[i].Prober] = i
		}
	}
	for _, i := range newest {
		u, err := proberUpdate(rs[i])
		if err != nil {
			return fmt.Errorf("storing prober %q: %w", rs[i].Prober, err)
		}
		updates = append(updates, u)
	}
	if err := s.advance(ctx, s.name(probersTable), proberPartition, updates); err != nil {
		return fmt.Errorf("storing %d probers: %w", len(updates), err)
	}
	return nil
}

func proberUpdate(r wire.Registration) (update, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return update{}, err
	}
	interval := r.HeartbeatInterval.Seconds()
	e, err := encode(proberPartition, r.Prober, proberFields, &proberRow{
		Region: r.Region, Started: r.Started, Heartbeat: r.Heartbeat, IntervalS: &interval, Registration: string(body)})
	if err != nil {
		return update{}, err
	}
	heartbeat := r.Heartbeat.Truncate(100 * time.Nanosecond) // as it is stored
	return update{r.Prober, func(old []byte) (entity, bool, error) {
		if old == nil {
			return e, true, nil
		}
		var was proberRow
		if err := decode(old, proberFields, &was); err != nil {
			return entity{}, false, err
		}
		var at storedAt
		if err := json.Unmarshal(old, &at); err != nil {
			return entity{}, false, fmt.Errorf("reading when a row was stored: %w", err)
		}
		future := !at.Timestamp.IsZero() && was.Heartbeat.After(at.Timestamp.Add(clockSkew))
		return e, heartbeat.After(was.Heartbeat) || future && !heartbeat.Equal(was.Heartbeat), nil
	}}, nil
}

// Probers reads the registrations as they were last stored, by prober.
func (s *Store) Probers(ctx context.Context) ([]wire.Registration, error) {
	rows, err := collect(scanAs(ctx, s, s.name(probersTable), keyRange{partition: proberPartition}.filter(), 0, proberFields))
	if err != nil {
		return nil, fmt.Errorf("reading the probers: %w", err)
	}
	out := make([]wire.Registration, len(rows))
	for i := range rows {
		if err := json.Unmarshal([]byte(rows[i].Registration), &out[i]); err != nil {
			return nil, fmt.Errorf("reading the probers: registration %d: %w", i, err)
		}
	}
	return out, nil
}
