package socket

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stamps says whether this system has kernel time stamps.
const Stamps = true

// Set sets the options on a socket of package net. It may be a stream's, where only Arrivals has a
// meaning. Stamps and ICMP errors are wishes: a kernel that does not know them (a sandbox's) is no
// error, and they do not come.
func Set(c syscall.RawConn, o Options) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = set(int(fd), o) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("setting socket options: %w", err)
	}
	return nil
}

func set(fd int, o Options) error {
	if err := stamp(fd, o); err != nil && !isUnknown(err) {
		return err
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	// A socket of IPv6 may carry IPv4 too, with that protocol's own options.
	for _, option := range []struct {
		wanted            bool
		ipv4, ipv6, value int
	}{
		{o.TTL, unix.IP_RECVTTL, unix.IPV6_RECVHOPLIMIT, 1},
		{o.Local, unix.IP_PKTINFO, unix.IPV6_RECVPKTINFO, 1},
		{o.Errors, unix.IP_RECVERR, unix.IPV6_RECVERR, 1},
		{o.SendTTL > 0, unix.IP_TTL, unix.IPV6_UNICAST_HOPS, o.SendTTL},
	} {
		if !option.wanted {
			continue
		}
		// Where the socket is of IPv6 alone, IPv4's has no meaning, and fails.
		err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, option.ipv4, option.value)
		if domain == unix.AF_INET6 {
			err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, option.ipv6, option.value)
		}
		if err != nil && !(option.ipv4 == unix.IP_RECVERR && isUnknown(err)) {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}

// isUnknown says whether the kernel does not know an option.
func isUnknown(err error) bool {
	return errors.Is(err, unix.ENOPROTOOPT) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL)
}

// stamp asks for time stamps. Switching OPT_ID on anew begins to number packets from 0 again.
func stamp(fd int, o Options) error {
	flags := 0
	if o.Arrivals {
		flags |= unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE
	}
	if o.Departures {
		flags |= unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_TX_SOFTWARE |
			unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_TSONLY
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags&^unix.SOF_TIMESTAMPING_OPT_ID&^unix.SOF_TIMESTAMPING_TX_SOFTWARE); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if flags == 0 {
		return nil
	}
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags))
}
