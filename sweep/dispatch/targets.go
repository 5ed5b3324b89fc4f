package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/inbox"
	"isochrone/sweep/plan"
)

const (
	// missedHeartbeats make a prober a target that is down.
	missedHeartbeats = 3
	// clockSkew is how far the prober's clock and ours may disagree on top of that: both follow
	// NTP, and are seldom more than a second apart.
	clockSkew = 5 * time.Second
	// resolveTimeout bounds all name look-ups of a sweep together: names that do not resolve are
	// down, and must not hold up the others.
	resolveTimeout = 10 * time.Second
	// lookupTimeout bounds each, so that those who wait for their turn have one.
	lookupTimeout = 2 * time.Second
	// resolveAtOnce bounds the look-ups of probers at a time, and as many of endpoints. 200 names that
	// hang, the most endpoints that there may be, are done with within resolveTimeout.
	resolveAtOnce = 50
	// maxProvenanceBytes is the longest text of a registration's provenance. It is stored.
	maxProvenanceBytes = 200
)

// targets reads what the probers say of themselves and makes of it what a plan may rely on, and
// finds where the endpoints are that the probes that are due name. A registration is hostile until
// it has been checked: one that is not valid is not relied on, with a line in the log, and its prober
// is down as a target.
func (d *Dispatcher) targets(ctx context.Context, c *config.Config, due []config.Probe) (map[string]plan.Target, error) {
	registered, err := d.Mailbox.Registrations(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the registrations: %w", err)
	}
	var valid []wire.Registration
	out := map[string]plan.Target{}
	for _, r := range registered {
		registration, err := d.registration(c, r)
		if err != nil {
			d.Log.Warn("ignoring a registration", "prober", r.Prober, "reason", err.Error())
			out[r.Prober] = plan.Target{Down: true, Reason: oneLine("the target's registration is refused: " + err.Error())}
			continue
		}
		valid = append(valid, registration)
	}
	// What is known of the probers is for people to look at. The sweep does not depend on it.
	if err := d.Ledger.PutProbers(ctx, valid); err != nil {
		d.Log.Warn("keeping the registrations failed", "reason", err.Error())
	}
	d.resolveAll(ctx, c, valid, endpoints(c, due), out)
	return out, nil
}

func (d *Dispatcher) registration(c *config.Config, r inbox.Registered) (wire.Registration, error) {
	var out wire.Registration
	if _, ok := c.Prober(r.Prober); !ok {
		return out, errors.New("sweep.yaml has no such prober: add it there, or stop it")
	}
	if len(r.Body) == 0 {
		return out, errors.New("it is empty, or larger than any could be")
	}
	// Unknown fields are fine: a prober may be newer than the app.
	if err := json.Unmarshal(r.Body, &out); err != nil {
		return out, fmt.Errorf("reading it as JSON: %w", err)
	}
	if err := out.Validate(d.Environment, r.Prober); err != nil {
		return out, err
	}
	for _, text := range []string{out.Provenance.ProberVersion, out.Provenance.ImageDigest, out.Provenance.VMSize} {
		if len(text) > maxProvenanceBytes {
			return out, fmt.Errorf("a text of its provenance has %d bytes: want at most %d", len(text), maxProvenanceBytes)
		}
	}
	return out, nil
}

// resolveAll adds to out what targets valid registrations and endpoints make. They are looked up in
// groups of their own: whoever answers for an endpoint's name answers, or not, for no prober.
func (d *Dispatcher) resolveAll(ctx context.Context, c *config.Config, registrations []wire.Registration, endpoints []config.Endpoint, out map[string]plan.Target) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	var (
		lock           sync.Mutex
		probers, goals errgroup.Group
	)
	probers.SetLimit(resolveAtOnce)
	goals.SetLimit(resolveAtOnce)
	// From elsewhere, for Go waits where a group is full.
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		for _, e := range endpoints {
			goals.Go(func() error {
				t := d.endpoint(ctx, c, e)
				lock.Lock()
				defer lock.Unlock()
				out[e.Name] = t
				return nil
			})
		}
	}()
	blind := d.blind(registrations)
	for _, r := range registrations {
		t := plan.Target{Addresses: map[string]plan.Address{}, Refused: map[string]string{}}
		if slices.Contains(r.ReadsAssignments, wire.AssignmentsVersion) {
			t.Assignments = wire.AssignmentsVersion
		} else {
			d.Log.Warn("a prober cannot read our assignments", "prober", r.Prober, "reads", r.ReadsAssignments,
				"writes", wire.AssignmentsVersion, "remedy", "bring prober and app to versions that know each other")
		}
		if age := d.Now().Sub(r.Heartbeat); !blind && !alive(age, r.HeartbeatInterval) {
			d.Log.Warn("a prober is down", "prober", r.Prober, "heartbeat_age", age.String(), "heartbeat_interval", r.HeartbeatInterval.String(),
				"remedy", "start it, or set its clock right")
			t.Down, t.Reason = true, stale(r, age)
		}
		lock.Lock()
		out[r.Prober] = t
		lock.Unlock()
		if t.Down {
			continue
		}
		p, _ := c.Prober(r.Prober)
		for i, a := range r.Addresses {
			if len(p.Addresses[a.Path]) == 0 || slices.ContainsFunc(r.Addresses[:i], func(b wire.PathAddress) bool { return a.Path == b.Path }) {
				continue // not a path of this prober's; of two addresses on one, the first counts
			}
			probers.Go(func() error {
				address, err := d.resolve(ctx, c, p, a)
				lock.Lock()
				defer lock.Unlock()
				if err != nil {
					t.Refused[a.Path] = oneLine(fmt.Sprintf("the target's address %q is not usable: %s", a.Host, err))
					d.Log.Warn("an address cannot be measured", "prober", r.Prober, "path", a.Path, "host", a.Host, "reason", err.Error(),
						"remedy", "permit it under probers, addresses in sweep.yaml, or correct what the prober registers")
					return nil
				}
				t.Addresses[a.Path] = address
				return nil
			})
		}
	}
	<-begun
	_, _ = probers.Wait(), goals.Wait() // the errors are logged, each with its address
}

// blind says whether every registered prober, of two or more, seems to be down at once. Then the
// fault likely lies in what the app sees: while storage was away no prober could renew its
// heartbeat, though all of them went on working. They count as alive where they last were; a run
// to one that is down after all is refused or times out, which is true of it. One fresh heartbeat
// shows that heartbeats arrive.
func (d *Dispatcher) blind(registrations []wire.Registration) bool {
	if len(registrations) < 2 {
		return false
	}
	now := d.Now()
	for _, r := range registrations {
		if alive(now.Sub(r.Heartbeat), r.HeartbeatInterval) {
			return false
		}
	}
	d.Log.Warn("every prober's heartbeat is stale: measuring them at their last addresses all the same", "probers", len(registrations),
		"remedy", "none after an outage of storage; else start the probers, or set the app's clock right")
	return true
}

// stale says of a heartbeat that does not count why it does not.
func stale(r wire.Registration, age time.Duration) string {
	at := r.Heartbeat.UTC().Format(time.RFC3339)
	if age < 0 {
		return fmt.Sprintf("the target's heartbeat of %s lies ahead of the app's clock by more than three intervals of %s", at, r.HeartbeatInterval)
	}
	return fmt.Sprintf("the target's heartbeat of %s is older than three intervals of %s", at, r.HeartbeatInterval)
}

// oneLine makes a reason of a text that may hold what a prober says of itself.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ReplaceAll(s, "\n", "; "))
}

// alive says whether a prober whose heartbeat is that old may be measured. A heartbeat as far in
// the future proves nothing either.
func alive(age, interval time.Duration) bool { return age.Abs() <= missedHeartbeats*interval+clockSkew }

// resolve turns what a prober registered into a numeric address that the configuration permits.
func (d *Dispatcher) resolve(ctx context.Context, c *config.Config, p config.Prober, a wire.PathAddress) (plan.Address, error) {
	host := strings.ToLower(strings.TrimSuffix(a.Host, "."))
	found, err := d.lookup(ctx, host)
	if err != nil {
		return plan.Address{}, err
	}
	for _, ip := range found {
		if ip.Zone() == "" && p.Permits(a.Path, host, ip, c.Loopback) {
			return plan.Address{IP: ip, TCPPort: a.TCPPort, UDPPort: a.UDPPort}, nil
		}
	}
	return plan.Address{}, fmt.Errorf("%v lies outside what sweep.yaml permits", found)
}

// lookup finds the numeric addresses of a host. IPv4 comes first, then in order: the same answer in
// another order is the same address.
func (d *Dispatcher) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	var found []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{ip}
	} else {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		if found, err = d.Resolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil, fmt.Errorf("resolving %q: %w", host, err)
		}
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	slices.SortFunc(found, func(a, b netip.Addr) int { return cmp.Or(cmp.Compare(a.BitLen(), b.BitLen()), a.Compare(b)) })
	return found, nil
}
