package answers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
)

// Liveness says whether a prober speaks.
type Liveness string

// What is known of a prober's life, against the configuration that the environment runs on.
const (
	// Fresh: the last heartbeat is young enough for a sweep to measure it.
	Fresh Liveness = "fresh"
	// Silent: three heartbeats are missing, or the last lies in the future: a sweep holds it down.
	Silent Liveness = "silent"
	// NeverRegistered: the configuration has the prober, and it has never said that it lives.
	NeverRegistered Liveness = "never registered"
	// NotConfigured: it has registered, and the configuration has no such prober.
	NotConfigured Liveness = "not configured"
)

// The app's rule of when a prober is down, as package dispatch has it.
const (
	missedHeartbeats = 3
	clockSkew        = 5 * time.Second
)

// Prober is what is known of one prober. Registration is the zero value when it never registered.
type Prober struct {
	ID           string
	State        Liveness
	Age          time.Duration // of the heartbeat when it was asked; negative when that lies ahead
	Registration wire.Registration
}

// Registrations is where probers say that they live. archive.Store satisfies it. Nothing in a
// body has been checked.
type Registrations interface {
	Registrations(ctx context.Context) ([]archive.Registered, error)
}

// SeenProbers is where the app keeps what it last saw of the probers, at its last sweep.
// tables.Store satisfies it.
type SeenProbers interface {
	Probers(ctx context.Context) ([]wire.Registration, error)
}

// ReadProbers answers which probers live: those of the configuration in its order, and then those
// that it does not have. A nil configuration has none, and says nothing against anyone.
//
// The app's table is as old as the last sweep, so that a prober's own registration counts when it
// is valid and not older.
func ReadProbers(ctx context.Context, seen SeenProbers, own Registrations, c *config.Config, environment string, now time.Time) ([]Prober, error) {
	kept, err := seen.Probers(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading what the app saw of the probers: %w", err)
	}
	registered, err := own.Registrations(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the probers' registrations: %w", err)
	}
	newest := make(map[string]wire.Registration, len(kept))
	for _, r := range kept {
		newest[r.Prober] = r
	}
	for _, r := range registered {
		var live wire.Registration
		if json.Unmarshal(r.Body, &live) != nil || live.Validate(environment, r.Prober) != nil {
			continue // the app ignores it too, and says so in its log
		}
		if old, ok := newest[r.Prober]; !ok || !live.Heartbeat.Before(old.Heartbeat) || old.Heartbeat.After(now.Add(clockSkew)) {
			newest[r.Prober] = live
		}
	}
	var out []Prober
	if c != nil {
		for _, p := range c.Probers {
			r, ok := newest[p.ID]
			out = append(out, proberOf(p.ID, r, ok, now))
			delete(newest, p.ID)
		}
	}
	configured := len(out)
	for id, r := range newest {
		p := proberOf(id, r, true, now)
		if c != nil {
			p.State = NotConfigured
		}
		out = append(out, p)
	}
	slices.SortFunc(out[configured:], func(a, b Prober) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

func proberOf(id string, r wire.Registration, registered bool, now time.Time) Prober {
	if !registered {
		return Prober{ID: id, State: NeverRegistered}
	}
	p := Prober{ID: id, State: Fresh, Age: now.Sub(r.Heartbeat), Registration: r}
	if p.Age.Abs() > missedHeartbeats*r.HeartbeatInterval+clockSkew {
		p.State = Silent
	}
	return p
}

// silenceMatters is how long after its slot a sweep still waits for a document, at the most: a
// prober that spoke later than that was alive for it.
const silenceMatters = time.Hour

// silence says of a prober what may be why its document is not there; "" when it lives, or lived
// through the sweep.
func (p *Prober) silence(slot time.Time) string {
	switch {
	case p.State == NeverRegistered:
		return p.ID + " never registered"
	case p.State == Silent && p.Age < 0:
		return p.ID + " has a clock that is ahead"
	case p.State == Silent && p.Registration.Heartbeat.Before(slot.Add(silenceMatters)):
		last, layout := p.Registration.Heartbeat.UTC(), "15:04:05Z"
		if last.Truncate(24*time.Hour) != slot.UTC().Truncate(24*time.Hour) {
			layout = time.RFC3339 // the hour of another day would be taken for this one's
		}
		return p.ID + " silent since " + last.Format(layout)
	}
	return ""
}

// explain appends to the gaps for which nobody has given a reason what is known of the silence of
// their sources.
func (s *Sweep) explain(probers []Prober) {
	for i := range s.Gaps {
		g := &s.Gaps[i]
		if g.Reason != noReason(g.State) {
			continue
		}
		for j := range probers {
			if probers[j].ID != g.Source {
				continue
			}
			if why := probers[j].silence(s.Slot); why != "" {
				g.Reason += "; " + why
			}
		}
	}
}

// noReason is what stands for a state when nobody has given a reason.
func noReason(state ledger.State) string {
	switch state {
	case ledger.Planned:
		return "not handed to the prober yet"
	case ledger.Dispatched:
		return "no document yet"
	case ledger.Expired:
		return "no document came in time"
	}
	return "in state " + string(state)
}

// Finding is what is wrong with a prober, and what to do; "" when it lives and its clock is synchronised.
func (p *Prober) Finding() string {
	switch {
	case p.State == NeverRegistered:
		return "it never registered: see that its container runs and can write its registration"
	case p.State == NotConfigured:
		return "it registers, and the configuration has no such prober: add it, or stop it"
	case p.State == Silent && p.Age < 0:
		return "its clock is ahead: synchronise it"
	case p.State == Silent:
		return "three heartbeats are missing: sweeps leave it out until it speaks again"
	case p.Registration.Provenance.ClockErrorNS == nil:
		return "its clock is not synchronised: one-way delays cannot be relied on"
	}
	return ""
}
