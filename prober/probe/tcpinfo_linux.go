package probe

import (
	"math"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"isochrone/prober/wire"
)

// tcpInfo asks the kernel about the connection; nil if it does not say.
func tcpInfo(conn *net.TCPConn) *wire.TCPInfo {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	var out *wire.TCPInfo
	_ = raw.Control(func(fd uintptr) { out = tcpInfoOf(int(fd)) })
	return out
}

func tcpInfoOf(fd int) *wire.TCPInfo {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.Min_rtt == math.MaxUint32 { // the kernel's "not yet measured"
		return nil
	}
	out := &wire.TCPInfo{
		RTTUS: int64(info.Rtt), MinRTTUS: int64(info.Min_rtt), RTTVarUS: int64(info.Rttvar),
		Retransmits: int64(info.Total_retrans), DeliveryRateBPS: int64(min(info.Delivery_rate, math.MaxInt64/8)) * 8,
		MSSBytes: int64(info.Snd_mss), CongestionWindow: int64(info.Snd_cwnd),
	}
	if name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err == nil {
		out.CongestionControl = strings.TrimRight(name, "\x00")
	}
	return out
}

// handshakesTimed says that this system knows how long a handshake took.
const handshakesTimed = true

// handshakeTime is the round trip of a new connection's handshake as the kernel measured it, by its
// monotonic clock. Where a SYN was sent again it is left unknown: the dial was then waiting for
// longer than a round trip, and that was not this program's doing.
func handshakeTime(conn *net.TCPConn) (rtt time.Duration, ok bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, false
	}
	_ = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && info.Total_retrans == 0 && info.Rtt > 0 {
			rtt, ok = time.Duration(info.Rtt)*time.Microsecond, true
		}
	})
	return rtt, ok
}
