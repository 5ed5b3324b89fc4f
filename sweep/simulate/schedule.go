package simulate

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/plan"
)

// Slot is one sweep of a history: what is due at an instant.
type Slot struct {
	At     time.Time
	Probes []config.Probe
}

// Slots are the sweeps of a configuration in a window, oldest first.
func Slots(c *config.Config, since, until time.Time) []Slot {
	at := map[time.Time][]config.Probe{}
	for _, p := range c.Probes {
		for t := p.Next(since.Add(-time.Second)); !t.IsZero() && t.Before(until); t = p.Next(t) {
			at[t] = append(at[t], p)
		}
	}
	out := make([]Slot, 0, len(at))
	for t, probes := range at {
		out = append(out, Slot{t, probes})
	}
	slices.SortFunc(out, func(a, b Slot) int { return a.At.Compare(b.At) })
	return out
}

// planner makes the plans of slots, in their order: what bulk runs may send is counted over a month.
type planner struct {
	model  *Model
	config *config.Config
	hash   string // of the pinned configuration

	month time.Month
	spent int64
	until time.Time
}

// plan is the plan of a slot as the app would have made it at its time.
func (p *planner) plan(s Slot) (*plan.Plan, error) {
	if s.At.Month() != p.month {
		p.month, p.spent = s.At.Month(), 0
	}
	made, err := plan.Make(plan.Input{Config: p.config, ConfigHash: p.hash, Slot: s.At, Now: s.At, Seed: p.seed(s.At), Targets: p.targets(s.At), Spent: p.spent, BulkUntil: p.until})
	if err != nil {
		return nil, fmt.Errorf("planning slot %q: %w", wire.SlotName(s.At), err)
	}
	p.spent += made.BulkBytes()
	if until := made.BulkUntil(); until.After(p.until) {
		p.until = until
	}
	return made, nil
}

// seed follows from all that the history follows from, so that a plan of another history is another plan. It is
// no secret, and need not be: nobody is told of the sessions whose keys are derived from it.
func (p *planner) seed(slot time.Time) wire.Key {
	m := p.model
	words := []string{"isochrone simulated history 1", m.Environment, fmt.Sprint(m.Seed), wire.SlotName(m.Since), wire.SlotName(m.Until), p.hash, wire.SlotName(slot)}
	return sha256.Sum256([]byte(strings.Join(words, "|")))
}

// The ports that simulated probers listen on. Nothing is ever sent there.
const (
	tcpPort = 7700
	udpPort = 7701
	// silentAfter is how long a prober is away before the app plans it as down: three heartbeats.
	silentAfter = 90 * time.Second
)

// targets is what the app would have known of the probers: an address that the configuration permits, and who is away.
func (p *planner) targets(at time.Time) map[string]plan.Target {
	out := map[string]plan.Target{}
	for i, prober := range p.config.Probers {
		t := plan.Target{Assignments: wire.AssignmentsVersion, Addresses: map[string]plan.Address{}}
		if since, away := p.model.away(prober.ID, at); away && at.Sub(since) > silentAfter {
			out[prober.ID] = plan.Target{Down: true, Reason: fmt.Sprintf("its last heartbeat was at %s", since.Format(time.RFC3339))}
			continue
		}
		for path, allowed := range prober.Addresses {
			if len(allowed) > 0 {
				t.Addresses[path] = plan.Address{IP: addressOf(allowed[0], i), TCPPort: tcpPort, UDPPort: udpPort}
			}
		}
		out[prober.ID] = t
	}
	return out
}

// addressOf is an address that a prober may have; where it may have any of a name, one of those that are for documentation (RFC 5737).
func addressOf(a config.Allowed, number int) netip.Addr {
	switch {
	case !a.Prefix.IsValid():
		return netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + number%254)})
	case a.Prefix.IsSingleIP():
		return a.Prefix.Addr()
	}
	return a.Prefix.Masked().Addr().Next()
}
