package doctor

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
)

// clockErrorNoticed is the bound on a prober's clock error above which one-way delays say little.
const clockErrorNoticed = 50 * time.Millisecond

// heartbeats reads which probers live.
func (e *examination) heartbeats(ctx context.Context) (err error) {
	if e.probers, err = answers.ReadProbers(ctx, e.Rows, e.Blobs, e.config, e.Environment, e.now); err != nil {
		return err
	}
	fresh := 0
	versions := map[string]bool{}
	for i := range e.probers {
		p := &e.probers[i]
		if p.State == answers.Fresh {
			fresh++
			versions[p.Registration.Provenance.ProberVersion] = true
		}
		for _, f := range proberFindings(p) {
			e.add(f)
		}
	}
	if fresh > 0 {
		e.ok(CheckProbers, "", "%s fresh", plural(fresh, "heartbeat is", "heartbeats are"))
	}
	if len(e.probers) == 0 {
		e.found(CheckProbers, "", Fault, "no prober has ever registered", "start one in each region, with the account's and the environment's name")
	}
	if len(versions) > 1 {
		var all []string
		for v := range versions {
			all = append(all, v)
		}
		slices.Sort(all)
		e.found(CheckProbers, "", Warning, "the probers are of different versions: "+strings.Join(all, ", "), "bring them to one version when the upgrade is through")
	}
	return nil
}

func proberFindings(p *answers.Prober) (out []Finding) {
	add := func(state State, remedy, format string, args ...any) {
		out = append(out, Finding{Check: CheckProbers, Subject: p.ID, State: state, Text: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	r := &p.Registration
	switch p.State {
	case answers.NeverRegistered:
		add(Fault, "start it with ISOCHRONE_PROBER="+p.ID+"; if it runs, its log says why it cannot write to the storage", "it has never registered")
		return out
	case answers.NotConfigured:
		add(Warning, "add it to sweep.yaml, or stop it", "it has registered, and the configuration has no such prober")
		return out
	case answers.Silent:
		switch {
		case p.Age < 0:
			add(Fault, "set its clock right, with NTP", "its heartbeat of %s lies %s ahead: nobody measures it", stamp(r.Heartbeat), age(-p.Age))
		case r.Stopped:
			add(Fault, "start it again", "it was stopped in good order %s ago", age(p.Age))
		default:
			add(Fault, "see whether its container runs and reaches the storage: its log, and its health page, say so",
				"its last heartbeat, due every %s, is %s old: others count it as down", r.HeartbeatInterval, age(p.Age))
		}
	}
	if !slices.Contains(r.ReadsAssignments, wire.AssignmentsVersion) {
		add(Fault, "bring prober and app to versions that know each other", "it reads assignments of version %v, and the app writes %d", r.ReadsAssignments, wire.AssignmentsVersion)
	}
	switch e := r.Provenance.ClockErrorNS; {
	case e == nil:
		add(Warning, "let NTP or PTP keep its clock: chrony, or the host's clock source", "its clock is not synchronised: round trips are right, one-way delays are not told")
	case time.Duration(*e) > clockErrorNoticed:
		add(Warning, "see that NTP or PTP keeps its clock", "its clock may be %s off: one-way delays say little", time.Duration(*e).Round(time.Millisecond))
	}
	return out
}

// Resolver looks up names (net.Resolver).
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// lookupTimeout bounds each look-up.
const lookupTimeout = 2 * time.Second

// addresses finds, as a sweep would, where each prober is reached on each path.
func (e *examination) addresses(ctx context.Context) error {
	registered := map[string]*answers.Prober{}
	for i := range e.probers {
		if e.probers[i].State != answers.NeverRegistered {
			registered[e.probers[i].ID] = &e.probers[i]
		}
	}
	for _, path := range config.Paths() {
		var effective []string
		members := 0
		for _, p := range e.config.Probers {
			if len(p.Addresses[path]) == 0 {
				continue
			}
			members++
			seen, ok := registered[p.ID]
			if !ok {
				continue // said above
			}
			address, fault := e.effective(ctx, p, &seen.Registration, path)
			if fault != nil {
				e.add(*fault)
				continue
			}
			effective = append(effective, p.ID+" "+address)
		}
		if len(effective) > 0 {
			e.ok(CheckAddresses, path, "%d of %s: %s", len(effective), plural(members, "prober", "probers"), strings.Join(effective, ", "))
		}
	}
	return nil
}

// effective is the address at which a prober is measured on a path.
func (e *examination) effective(ctx context.Context, p config.Prober, r *wire.Registration, path string) (string, *Finding) {
	subject := p.ID + " " + path
	i := slices.IndexFunc(r.Addresses, func(a wire.PathAddress) bool { return a.Path == path })
	if i < 0 {
		return "", unmeasured(subject, Fault, "the configuration has it on this path, and it registers no address there",
			fmt.Sprintf("add %s=HOST to its ISOCHRONE_ADDRESSES, or take the path away from it in sweep.yaml", path))
	}
	a := r.Addresses[i]
	found, err := e.lookup(ctx, a.Host)
	if err != nil {
		return "", unmeasured(subject, Warning, fmt.Sprintf("%q does not resolve from here: %v", a.Host, err),
			"nothing where only the app's network knows the name; else correct the name, or what the prober registers")
	}
	for _, ip := range found {
		if ip.Zone() == "" && p.Permits(path, a.Host, ip, e.config.Loopback) {
			if f := e.noUDP(p, path, a); f != nil {
				e.add(*f)
			}
			return net.JoinHostPort(ip.String(), strconv.Itoa(a.TCPPort)), nil
		}
	}
	return "", unmeasured(subject, Fault, fmt.Sprintf("it registers %q, %v, which lies outside what sweep.yaml permits: nothing is sent to it", a.Host, found),
		"permit it under probers, addresses in sweep.yaml, or correct its ISOCHRONE_ADDRESSES")
}

func unmeasured(subject string, state State, text, remedy string) *Finding {
	return &Finding{Check: CheckAddresses, Subject: subject, State: state, Text: text, Remedy: remedy}
}

// noUDP says that probes of kind udp cannot reach a prober.
func (e *examination) noUDP(p config.Prober, path string, a wire.PathAddress) *Finding {
	if a.UDPPort != 0 {
		return nil
	}
	for i := range e.config.Probes {
		probe := &e.config.Probes[i]
		if probe.Spec.Kind == wire.KindUDP && slices.Contains(probe.Paths, path) && (len(probe.To) == 0 || slices.Contains(probe.To, p.ID)) {
			return unmeasured(p.ID+" "+path, Fault, fmt.Sprintf("probe %s measures over UDP, and the prober has no UDP reflector there", probe.Name),
				"bring it to a version that has one")
		}
	}
	return nil
}

func (e *examination) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := e.Resolver.LookupNetIP(ctx, "ip", strings.TrimSuffix(host, "."))
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, err
}
