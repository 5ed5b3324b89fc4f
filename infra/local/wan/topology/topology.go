// Package topology describes an emulated network: its nodes, their addresses, and what each link
// between two of them does to packets.
package topology

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// MaxNodes bounds a network: every node costs a namespace and a TUN, every pair two links.
const MaxNodes = 200

// Topology is an emulated network. Validate says whether it can be made.
type Topology struct {
	// Seed is what the random numbers of all links derive from: the same seed and the same
	// packets in the same order meet the same fate.
	Seed    uint64                  `json:"seed"`
	Subnets map[string]netip.Prefix `json:"subnets"` // by path; IPv4, and none overlaps another
	Nodes   []Node                  `json:"nodes"`
	// Default is how links are that Links does not hold.
	Default Link      `json:"default"`
	Links   []Between `json:"links"`
}

// Node is one end of links: a network namespace of its own.
type Node struct {
	Name   string `json:"name"`   // the prober's id
	Region string `json:"region"` // in sweep/catalog; only delays that derive from it need it
	// Addresses are the node's own, one a path. Two nodes are linked by the paths that both have.
	Addresses map[string]netip.Addr `json:"addresses"`
}

// Between is the link from one node to another over a path. It says nothing of the way back.
type Between struct {
	From string `json:"from"`
	To   string `json:"to"`
	Path string `json:"path"`
	Link
}

// Link is what happens to the packets of one direction, in this order:
//
//  1. Loss: the packet is gone, before it takes any of the rate.
//  2. Queue: the packet is dropped if it finds no room (tail drop); otherwise it waits for those
//     before it.
//  3. Rate: its bits leave one after the other, those of the whole IP packet. Packets of TCP that
//     the sender hands over together and that take up to 0.2 ms arrive together, when the last does.
//  4. Duplicate: a copy is made, which travels right behind the packet whatever happens to it. A
//     copy takes none of the rate, and is neither lost nor copied again.
//  5. Delay and Jitter.
//  6. Reorder: the packet leaves ReorderBy later than it would, and those behind it do not wait
//     for it.
//
// Whether a packet is lost, duplicated or reordered is decided by numbers drawn apart for every
// packet, whatever becomes of it: none depends on another.
type Link struct {
	Delay time.Duration `json:"delay_ns"` // one way
	// Jitter is the width of a uniform distribution: a packet takes Delay to Delay + Jitter.
	// Packets keep their order, so one that would overtake another leaves with it instead.
	Jitter    time.Duration `json:"jitter_ns"`
	Loss      float64       `json:"loss"`      // probability
	Duplicate float64       `json:"duplicate"` // probability
	Reorder   float64       `json:"reorder"`   // probability
	ReorderBy time.Duration `json:"reorder_by_ns"`
	Rate      int64         `json:"rate"` // bits/s; 0: no limit
	// Queue is how many bytes may wait for the rate, with what is left of the packet under way;
	// 0: what 100 ms at Rate carry, and at least ten full packets.
	Queue int64 `json:"queue"`
}

// The bounds of a link: beyond them an emulator would hold more than it can.
const (
	MaxDelay = 10 * time.Second
	MinRate  = 1_000           // bits/s
	MaxRate  = 100_000_000_000 // bits/s
	MaxQueue = 1 << 30         // bytes
)

// MTU is the largest IP packet of every link, in bytes.
const MTU = 1500

// Room is how many bytes may wait: Queue, or what stands for it when it is 0.
func (l Link) Room() int64 {
	if l.Queue > 0 {
		return l.Queue
	}
	return max(l.Rate/80, 10*MTU)
}

// Validate names the first field that is out of bounds.
func (l Link) Validate() error {
	for _, d := range []struct {
		name string
		v    time.Duration
	}{{"delay", l.Delay}, {"jitter", l.Jitter}, {"reorder_by", l.ReorderBy}} {
		if d.v < 0 || d.v > MaxDelay {
			return fmt.Errorf("%s %s: want 0s to %s", d.name, d.v, MaxDelay)
		}
	}
	for _, p := range []struct {
		name string
		v    float64
	}{{"loss", l.Loss}, {"duplicate", l.Duplicate}, {"reorder", l.Reorder}} {
		if !(p.v >= 0 && p.v <= 1) { // so written that NaN fails
			return fmt.Errorf("%s %g: want a probability, 0 to 1", p.name, p.v)
		}
	}
	if l.Reorder > 0 && l.ReorderBy == 0 {
		return fmt.Errorf("reorder %g: needs reorder_by, how much later a reordered packet leaves, such as 5ms", l.Reorder)
	}
	if l.Rate != 0 && (l.Rate < MinRate || l.Rate > MaxRate) {
		return fmt.Errorf("rate %d: want %d to %d bits/s, or 0 for no limit", l.Rate, MinRate, MaxRate)
	}
	if l.Queue != 0 && (l.Queue < MTU || l.Queue > MaxQueue) {
		return fmt.Errorf("queue %d: want %d to %d bytes: less holds no full packet", l.Queue, MTU, MaxQueue)
	}
	return nil
}

// Link is the link from one node to another over a path. It does not say whether there is one.
func (t *Topology) Link(from, to, path string) Link {
	for _, b := range t.Links {
		if b.From == from && b.To == to && b.Path == path {
			return b.Link
		}
	}
	return t.Default
}

// Node finds a node by its name.
func (t *Topology) Node(name string) (Node, bool) {
	i := slices.IndexFunc(t.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, false
	}
	return t.Nodes[i], true
}

// firstHost is the number of the first node's host in each subnet: those below it are left to
// people.
const firstHost = 11

// DefaultSubnets are the subnets of the paths where nothing else is said.
func DefaultSubnets() map[string]netip.Prefix {
	return map[string]netip.Prefix{
		"public":       netip.MustParsePrefix("10.90.0.0/16"),
		"peering":      netip.MustParsePrefix("10.91.0.0/16"),
		"vpn":          netip.MustParsePrefix("10.92.0.0/16"),
		"expressroute": netip.MustParsePrefix("10.93.0.0/16"),
	}
}

// Address is the address of the node at place i, from 0, in the subnet of a path: the 11th and
// so on, such as 10.90.0.11. The subnet has room for MaxNodes if Validate accepts it.
func Address(subnet netip.Prefix, i int) netip.Addr {
	b := subnet.Masked().Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+uint32(firstHost+i))
	return netip.AddrFrom4(b)
}
