package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"time"

	"github.com/vishvananda/netlink"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/topology"
)

const nearNode, farNode = "near", "far"

// emulated makes two nodes with a link there and one back.
func emulated(ctx context.Context, there, back topology.Link, o wan.Options) (*wan.WAN, place, error) {
	t := topology.Topology{
		Seed: 1, Subnets: topology.DefaultSubnets(), Default: there,
		Nodes: []topology.Node{
			{Name: nearNode, Addresses: map[string]netip.Addr{"public": netip.MustParseAddr("10.90.0.11")}},
			{Name: farNode, Addresses: map[string]netip.Addr{"public": netip.MustParseAddr("10.90.0.12")}},
		},
		Links: []topology.Between{{From: farNode, To: nearNode, Path: "public", Link: back}},
	}
	w, err := wan.Start(ctx, t, o)
	if err != nil {
		return nil, place{}, err
	}
	return w, inside(w, "emulated", "10.90.0.12"), nil
}

func inside(w *wan.WAN, name, far string) place {
	start := func(node string) func(*exec.Cmd, func()) error {
		return func(cmd *exec.Cmd, exited func()) error { return w.StartIn(node, cmd, exited) }
	}
	return place{name: name, far: far, startNear: start(nearNode), startFar: start(farNode)}
}

// veth makes two namespaces that a pair of virtual Ethernet devices joins: nothing but the
// kernel is between them.
func veth(ctx context.Context) (p place, closePlace func() error, err error) {
	w, _, err := emulated(ctx, topology.Link{}, topology.Link{}, wan.Options{Log: os.Stderr})
	if err != nil {
		return p, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Stop())
		}
	}()
	var far *os.File // the namespace
	if err := w.Do(farNode, func() (err error) {
		far, err = os.Open("/proc/thread-self/ns/net")
		return err
	}); err != nil {
		return p, nil, fmt.Errorf("opening the far namespace: %w", err)
	}
	defer func() { _ = far.Close() }()
	if err := w.Do(nearNode, func() error {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = "bench0"
		pair := &netlink.Veth{LinkAttrs: attributes, PeerName: "bench0", PeerNamespace: netlink.NsFd(far.Fd())}
		if err := netlink.LinkAdd(pair); err != nil {
			return err
		}
		return raise("10.99.0.1")
	}); err != nil {
		return p, nil, fmt.Errorf("joining the namespaces: %w", err)
	}
	if err := w.Do(farNode, func() error { return raise("10.99.0.2") }); err != nil {
		return p, nil, fmt.Errorf("joining the namespaces: %w", err)
	}
	return inside(w, "namespaces", "10.99.0.2"), w.Stop, nil
}

// raise gives the pair's end in this thread's namespace its address.
func raise(address string) error {
	link, err := netlink.LinkByName("bench0")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(address), Mask: net.CIDRMask(24, 32)}}); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return err
	}
	time.Sleep(200 * time.Millisecond) // for the carrier
	return nil
}
