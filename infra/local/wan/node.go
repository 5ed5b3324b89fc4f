package wan

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"isochrone/infra/local/wan/topology"
)

// node is a namespace with its TUN.
type node struct {
	*namespace
	addresses map[string]netip.Addr
}

// The name of the TUN inside every namespace.
const tunName = "wan0"

// tunQueue is how many packets the kernel keeps for the relay before it drops some: more than a
// sender has under way at once.
const tunQueue = 10_000

// handed is what the relay gets of a node, and whoever made the node closes.
type handed struct{ tun, statistics *os.File }

func (h handed) close() error {
	var errs []error
	for _, f := range []*os.File{h.tun, h.statistics} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// newNode makes a namespace and sets it up.
func newNode(t *topology.Topology, n topology.Node, machine *namespace) (made *node, h handed, err error) {
	ns, err := create(machine, func() (err error) {
		if h.tun, err = setUp(t, n); err != nil {
			return err
		}
		// The kernel's counters of the namespace in which it is opened, whoever reads it.
		h.statistics, err = os.Open("/proc/thread-self/net/dev")
		return err
	})
	if err != nil {
		return nil, handed{}, errors.Join(err, h.close())
	}
	return &node{namespace: ns, addresses: n.Addresses}, h, nil
}

// setUp makes loopback, TUN, addresses and routes in the namespace of the calling thread.
func setUp(t *topology.Topology, n topology.Node) (*os.File, error) {
	// The relay would drop what IPv6 says of its own accord. A kernel without it needs nothing.
	err := os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EROFS) {
		return nil, fmt.Errorf("turning IPv6 off: %w", err)
	}
	if err := chooseCongestion(); err != nil {
		return nil, fmt.Errorf("choosing the congestion control: %w", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, fmt.Errorf("finding loopback: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return nil, fmt.Errorf("setting loopback up: %w", err)
	}
	tun, err := openTUN()
	if err != nil {
		return nil, err
	}
	link, err := netlink.LinkByName(tunName)
	if err != nil {
		return tun, fmt.Errorf("finding the TUN: %w", err)
	}
	if err := netlink.LinkSetMTU(link, topology.MTU); err != nil {
		return tun, fmt.Errorf("setting the TUN's MTU: %w", err)
	}
	if err := netlink.LinkSetTxQLen(link, tunQueue); err != nil {
		return tun, fmt.Errorf("setting the TUN's queue: %w", err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return tun, fmt.Errorf("setting the TUN up: %w", err)
	}
	for path, a := range n.Addresses {
		if err := addPath(link, a, t.Subnets[path]); err != nil {
			return tun, fmt.Errorf("setting up path %q: %w", path, err)
		}
	}
	return tun, nil
}

// chooseCongestion gives the namespace of the calling thread Linux's own default, cubic: with whatever
// the machine has, two machines would measure different things. A machine may keep cubic from
// namespaces (net.ipv4.tcp_allowed_congestion_control); every one allows reno.
func chooseCongestion() error {
	const setting = "/proc/sys/net/ipv4/tcp_congestion_control"
	err := os.WriteFile(setting, []byte("cubic"), 0)
	if err != nil && !errors.Is(err, unix.EROFS) {
		err = os.WriteFile(setting, []byte("reno"), 0)
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.EROFS) { // a sandbox's kernel
		return nil
	}
	return err
}

func addPath(link netlink.Link, a netip.Addr, subnet netip.Prefix) error {
	own := &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(32, 32)}}
	if err := netlink.AddrAdd(link, own); err != nil {
		return fmt.Errorf("adding address %s: %w", a, err)
	}
	route := &netlink.Route{
		LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK, Src: a.AsSlice(),
		Dst: &net.IPNet{IP: subnet.Addr().AsSlice(), Mask: net.CIDRMask(subnet.Bits(), 32)},
	}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("adding the route to %s: %w", subnet, err)
	}
	return nil
}

const tunDevice = "/dev/net/tun"

// openTUN makes the TUN in the namespace of the calling thread. It goes with its descriptor.
func openTUN() (*os.File, error) {
	fd, err := unix.Open(tunDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", tunDevice, err)
	}
	f := os.NewFile(uintptr(fd), tunDevice)
	request, err := unix.NewIfreq(tunName)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err == nil {
		// The relay takes what a network card would: packets of TCP that are still to be cut into
		// segments, and to be summed.
		err = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a TUN: %w", err), f.Close())
	}
	return f, nil
}

// Overrun is how many packets the kernel dropped because the relay did not read them in time,
// since the start, a super-packet as one. The relay knows nothing of them: where it is not 0, its
// counters are short.
func (w *WAN) Overrun(name string) (packets uint64, err error) {
	err = w.Do(name, func() error {
		link, err := netlink.LinkByName(tunName)
		if err != nil {
			return fmt.Errorf("finding the TUN: %w", err)
		}
		if s := link.Attrs().Statistics; s != nil {
			packets = s.TxDropped
		}
		return nil
	})
	return packets, err
}
