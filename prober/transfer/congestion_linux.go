package transfer

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"isochrone/prober/wire"
)

// SetCongestion asks for a congestion control; the empty name for none. The error names those that
// there are.
func SetCongestion(conn *net.TCPConn, name string) error {
	if name == "" {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("asking for congestion control %q: %w", name, err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	}); err != nil {
		return fmt.Errorf("asking for congestion control %q: %w", name, err)
	}
	if failed != nil {
		return fmt.Errorf("asking for congestion control %q: %w; there are: %s", name, failed, available())
	}
	return nil
}

// available are the congestion controls of this system.
func available() string {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(bytes.TrimSpace(b))), ", ")
}

// Sending sums up what the kernel says of connections that send; nil if it says nothing.
func Sending(conns []*net.TCPConn) *wire.Sending {
	var out wire.Sending
	n := int64(0)
	for _, c := range conns {
		raw, err := c.SyscallConn()
		if err != nil {
			continue
		}
		_ = raw.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				return
			}
			n++
			out.RTTNS += int64(info.Rtt) * 1000
			out.CongestionWindow += int64(info.Snd_cwnd) * int64(info.Snd_mss)
			out.Retransmits += int64(info.Total_retrans)
			out.DeliveryRateBPS += int64(min(info.Delivery_rate, 1<<50)) * 8
			out.BusyNS += int64(min(info.Busy_time, 1<<50)) * 1000
			out.LimitedNS += int64(min(info.Rwnd_limited, 1<<50)+min(info.Sndbuf_limited, 1<<50)) * 1000
			if name, err := unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION); err == nil {
				out.CongestionControl = strings.TrimRight(name, "\x00")
			}
		})
	}
	if n == 0 {
		return nil
	}
	out.RTTNS /= n
	return &out
}
