package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"isochrone/prober/mailbox"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/config"
)

// HeartbeatInterval is what simulated probers promise: one that registered is no longer a target three
// of these later.
const HeartbeatInterval = time.Hour

// The ports that simulated probers say they listen on. Nothing is ever sent there.
const (
	tcpPort = 7700
	udpPort = 7701
)

// Prober is one simulated prober. Poll must not be called by two goroutines at once; the rest may.
type Prober struct {
	ID   string
	Seed uint64 // of its documents

	environment string
	region      string
	addresses   []wire.PathAddress
	started     time.Time
	mailbox     *mailbox.Mailbox // nil without storage
	known       map[string]time.Time
}

// Delivery is a document as it is delivered.
type Delivery struct {
	Name    string // in the inbox
	Body    []byte
	Runs    int
	Samples int
}

// Open prepares a prober of a configuration and its mailbox, without input or output.
func Open(a account.Account, c *config.Config, id string, seed uint64) (*Prober, error) {
	p, err := of(c, id, seed)
	if err != nil {
		return nil, err
	}
	if p.mailbox, err = mailbox.Open(a, c.Environment, id, nil); err != nil {
		return nil, err
	}
	return p, nil
}

// OpenAll opens all probers of a configuration, with the same seed.
func OpenAll(a account.Account, c *config.Config, seed uint64) ([]*Prober, error) {
	out := make([]*Prober, len(c.Probers))
	for i := range out {
		var err error
		if out[i], err = Open(a, c, c.Probers[i].ID, seed); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func of(c *config.Config, id string, seed uint64) (*Prober, error) {
	in, ok := c.Prober(id)
	if !ok {
		return nil, fmt.Errorf("simulating prober %q: the configuration has none of that name", id)
	}
	p := &Prober{ID: id, Seed: seed, environment: c.Environment, region: in.Region, started: time.Now().UTC().Truncate(time.Second), known: map[string]time.Time{}}
	for path, allowed := range in.Addresses {
		if len(allowed) == 0 {
			continue
		}
		host := allowed[0].Name
		if allowed[0].Prefix.IsValid() {
			host = allowed[0].Prefix.Addr().String()
		}
		p.addresses = append(p.addresses, wire.PathAddress{Path: path, Host: host, TCPPort: tcpPort, UDPPort: udpPort})
	}
	slices.SortFunc(p.addresses, func(a, b wire.PathAddress) int { return strings.Compare(a.Path, b.Path) })
	return p, nil
}

// Registration is what the prober says of itself at a time: the first address that the configuration
// permits on each path.
func (p *Prober) Registration(now time.Time) wire.Registration {
	return wire.Registration{
		Version: wire.RegistrationVersion, Environment: p.environment, Prober: p.ID, Region: p.region, Started: p.started, Heartbeat: now.UTC(),
		HeartbeatInterval: HeartbeatInterval, Addresses: p.addresses, ReadsAssignments: []int{wire.AssignmentsVersion},
		Provenance: wire.Provenance{ProberVersion: Version, VMSize: "simulated"},
	}
}

// Register writes the registration: at start, and as a heartbeat.
func (p *Prober) Register(ctx context.Context, now time.Time) error {
	return p.mailbox.Register(ctx, p.Registration(now))
}

// Poll reads what the prober is to do, and returns what is new of it.
func (p *Prober) Poll(ctx context.Context) ([]wire.Assignment, error) {
	current, err := p.mailbox.Poll(ctx)
	if err != nil || current == nil {
		return nil, err
	}
	return p.fresh(current.Assignments), nil
}

// fresh keeps those that were not seen before, and forgets what is long over.
func (p *Prober) fresh(all []wire.Assignment) (out []wire.Assignment) {
	for i := range all {
		if _, ok := p.known[all[i].ID]; !ok {
			out = append(out, all[i])
		}
		p.known[all[i].ID] = all[i].Deadline
	}
	for id, deadline := range p.known {
		gone := !slices.ContainsFunc(all, func(a wire.Assignment) bool { return a.ID == id })
		if gone && time.Since(deadline) > time.Hour {
			delete(p.known, id)
		}
	}
	return out
}

// Measure makes the document of an assignment.
func (p *Prober) Measure(a wire.Assignment) (Delivery, error) {
	d, err := Document(p.environment, p.ID, a, p.Seed)
	if err != nil {
		return Delivery{}, err
	}
	body, err := Encode(&d)
	if err != nil {
		return Delivery{}, err
	}
	out := Delivery{Name: wire.InboxBlob(p.ID, a.Slot, a.ID, d.Attempt), Body: body, Runs: len(d.Runs)}
	for i := range d.Runs {
		out.Samples += d.Runs[i].Samples.Len()
	}
	return out, nil
}

// Deliver puts a document into the inbox. It makes one attempt, as the mailbox does.
func (p *Prober) Deliver(ctx context.Context, d Delivery) error {
	return p.mailbox.Deliver(ctx, d.Name, d.Body)
}
