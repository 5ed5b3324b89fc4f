package transfer

import (
	"net"

	"golang.org/x/sys/unix"
)

// unsent is what the kernel has taken of a connection and never sent so far; 0 where it does not say.
func unsent(conn *net.TCPConn) (n int64) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			n = int64(info.Notsent_bytes)
		}
	})
	return n
}
