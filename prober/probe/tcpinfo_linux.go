package probe

import (
	"math"
	"net"
	"strings"

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
	_ = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil || info.Min_rtt == math.MaxUint32 { // the kernel's "not yet measured"
			return
		}
		out = &wire.TCPInfo{
			RTTUS: int64(info.Rtt), MinRTTUS: int64(info.Min_rtt), RTTVarUS: int64(info.Rttvar),
			Retransmits: int64(info.Total_retrans), DeliveryRateBPS: int64(min(info.Delivery_rate, math.MaxInt64/8)) * 8,
			MSSBytes: int64(info.Snd_mss), CongestionWindow: int64(info.Snd_cwnd),
		}
		if name, err := unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION); err == nil {
			out.CongestionControl = strings.TrimRight(name, "\x00")
		}
	})
	return out
}
