package stack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/topology"
	"isochrone/sweep/config"
)

// startNetwork starts the emulated network, a node a prober, if one is asked for. The storage
// emulator stays on the machine's own loopback: inside every node, its address is forwarded to it.
func (s *Stack) startNetwork(ctx context.Context) error {
	if s.o.Network == nil {
		return nil
	}
	var members []topology.Member
	for _, p := range s.Config.Probers {
		m := topology.Member{Name: p.ID, Region: p.Region}
		for path := range p.Addresses {
			m.Paths = append(m.Paths, path)
		}
		slices.Sort(m.Paths)
		members = append(members, m)
	}
	for _, service := range s.o.Services {
		members = append(members, topology.Member{Name: service.Name, Paths: slices.Sorted(slices.Values(service.Paths))})
	}
	t, err := topology.Parse(s.o.Network, members)
	if err != nil {
		return fmt.Errorf("reading the description of the network: %w", err)
	}
	if s.WAN, err = wan.Start(ctx, *t, wan.Options{Log: s.o.NetworkLog, Awake: s.o.Awake}); err != nil {
		return err
	}
	storage, err := storageAddress(s.Azurite.BlobURL)
	if err != nil {
		return err
	}
	for _, m := range members[:len(s.Config.Probers)] {
		if _, err := s.WAN.Forward(context.WithoutCancel(ctx), wan.Endpoint{Node: m.Name, Address: storage}, wan.Endpoint{Address: storage}); err != nil {
			return fmt.Errorf("making the storage emulator reachable from node %q: %w", m.Name, err)
		}
	}
	for _, service := range s.o.Services {
		if err := s.serve(service); err != nil {
			return err
		}
	}
	s.o.Report(fmt.Sprintf("emulated network: %d nodes, delays as in %s", len(members), s.o.NetworkName))
	return nil
}

func storageAddress(blobURL string) (netip.AddrPort, error) {
	u, err := url.Parse(blobURL)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("reading the storage emulator's address: %w", err)
	}
	a, err := netip.ParseAddrPort(u.Host)
	if err != nil {
		return a, fmt.Errorf("reading the storage emulator's address: %w", err)
	}
	return a, nil
}

// place is where a prober listens, and what it registers.
type place struct{ listen, registers string }

// placeOf finds a prober's place: its node's addresses in the emulated network, or else the one
// loopback address that the configuration gives it.
func (s *Stack) placeOf(p config.Prober) (place, error) {
	if s.WAN == nil {
		return loopbackPlace(p)
	}
	var registers []string
	for path := range p.Addresses {
		at := s.WAN.Address(p.ID, path)
		if !p.Permits(path, at.String(), at, s.Config.Loopback) {
			return place{}, fmt.Errorf("starting prober %q: the emulated network has it at %s, which sweep.yaml does not allow: add %s/32 to its addresses on path %q", p.ID, at, at, path)
		}
		registers = append(registers, path+"="+at.String())
	}
	slices.Sort(registers)
	return place{":0", strings.Join(registers, ",")}, nil
}

// loopbackPlace is a prefix of full length, the same on all paths.
func loopbackPlace(p config.Prober) (out place, err error) {
	host := ""
	var registers []string
	for path, allowed := range p.Addresses {
		at := netip.Addr{}
		for _, a := range allowed {
			if a.Prefix.IsValid() && a.Prefix.IsSingleIP() && a.Prefix.Addr().IsLoopback() {
				at = a.Prefix.Addr()
			}
		}
		if !at.IsValid() || (host != "" && host != at.String()) {
			return out, fmt.Errorf("starting prober %q: on one machine it needs one loopback address such as 127.0.0.11/32, the same on every path", p.ID)
		}
		host = at.String()
		registers = append(registers, path+"="+host)
	}
	slices.Sort(registers)
	return place{host + ":0", strings.Join(registers, ",")}, nil
}

// ErrNetwork says that nothing can be measured any more: no packet leaves a node.
var ErrNetwork = errors.New("the relay of the emulated network ended, and nothing can be measured without it: start again")

// NetworkExited is closed when the emulated network has ended of itself. It is nil without one.
func (s *Stack) NetworkExited() <-chan struct{} {
	if s.WAN == nil {
		return nil
	}
	return s.WAN.Exited()
}

// stopNetwork ends the emulated network, after everything inside has ended.
func (s *Stack) stopNetwork() error {
	for _, server := range s.services {
		_ = server.Close() // the listener ends with it; who is connected is of no matter any more
	}
	if s.WAN == nil {
		return nil
	}
	if err := s.WAN.Stop(); err != nil {
		return fmt.Errorf("stopping the emulated network: %w", err)
	}
	return nil
}
