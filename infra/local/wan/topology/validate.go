package topology

import (
	"fmt"
	"net/netip"
	"slices"
)

// Validate says what hinders the network from being made.
func (t *Topology) Validate() error {
	if len(t.Nodes) == 0 || len(t.Nodes) > MaxNodes {
		return fmt.Errorf("%d nodes: want 1 to %d", len(t.Nodes), MaxNodes)
	}
	if err := t.validateSubnets(); err != nil {
		return err
	}
	if err := t.validateNodes(); err != nil {
		return err
	}
	if err := t.Default.Validate(); err != nil {
		return fmt.Errorf("default link: %w", err)
	}
	return t.validateLinks()
}

func (t *Topology) validateSubnets() error {
	for path, s := range t.Subnets {
		if err := validateSubnet(s); err != nil {
			return fmt.Errorf("subnet %s of path %q %w", s, path, err)
		}
		for other, o := range t.Subnets {
			if other != path && s.Overlaps(o) {
				return fmt.Errorf("subnet %s of path %q overlaps %s of path %q: give each its own", s, path, o, other)
			}
		}
	}
	return nil
}

// What an emulator may take: whatever the address, packets to it never leave the namespaces,
// but a reader of results must see that it is no public one.
var permitted = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"),
}

// validateSubnet says what is wrong with a subnet, in words that go on from its name.
func validateSubnet(s netip.Prefix) error {
	if !s.IsValid() || !s.Addr().Is4() {
		return fmt.Errorf("is not IPv4: want one such as 10.90.0.0/16")
	}
	if s.Masked() != s {
		return fmt.Errorf("has bits behind its length: write %s", s.Masked())
	}
	if s.Bits() > 24 {
		return fmt.Errorf("is too small for %d nodes: want /24 or larger", MaxNodes)
	}
	if !slices.ContainsFunc(permitted, func(p netip.Prefix) bool { return p.Contains(s.Addr()) && p.Bits() <= s.Bits() }) {
		return fmt.Errorf("is not private (RFC 1918, RFC 6598): want one such as 10.90.0.0/16")
	}
	return nil
}

func (t *Topology) validateNodes() error {
	names, owners := map[string]bool{}, map[netip.Addr]string{}
	for _, n := range t.Nodes {
		if n.Name == "" || names[n.Name] {
			return fmt.Errorf("node %q: want a name that no other node has", n.Name)
		}
		names[n.Name] = true
		for path, a := range n.Addresses {
			subnet, ok := t.Subnets[path]
			if !ok {
				return fmt.Errorf("node %q: path %q has no subnet", n.Name, path)
			}
			if !subnet.Contains(a) {
				return fmt.Errorf("node %q: address %s is not in %s, the subnet of path %q", n.Name, a, subnet, path)
			}
			if other, taken := owners[a]; taken {
				return fmt.Errorf("node %q: address %s is that of node %q", n.Name, a, other)
			}
			owners[a] = n.Name
		}
	}
	return nil
}

func (t *Topology) validateLinks() error {
	type ends struct{ from, to, path string }
	seen := map[ends]bool{}
	for _, b := range t.Links {
		name := fmt.Sprintf("link from %q to %q over %q", b.From, b.To, b.Path)
		from, fromKnown := t.Node(b.From)
		to, toKnown := t.Node(b.To)
		switch {
		case !fromKnown || !toKnown:
			return fmt.Errorf("%s: want the names of two nodes", name)
		case b.From == b.To:
			return fmt.Errorf("%s: a node has no link to itself", name)
		case !from.Addresses[b.Path].IsValid() || !to.Addresses[b.Path].IsValid():
			return fmt.Errorf("%s: want a path for which both have addresses", name)
		case seen[ends{b.From, b.To, b.Path}]:
			return fmt.Errorf("%s: is there twice", name)
		}
		seen[ends{b.From, b.To, b.Path}] = true
		if err := b.Validate(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
