package transfer

import (
	"math"
	"net"

	"golang.org/x/sys/unix"
)

// capPacing sets SO_MAX_PACING_RATE (socket(7)): TCP spreads its segments by itself since Linux 4.13.
// A kernel that does not is no worse off.
func capPacing(conn *net.TCPConn, bytesPerS uint64) {
	raw, err := conn.SyscallConn()
	if err != nil || bytesPerS > math.MaxInt32 { // at such rates bursts are short
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, int(bytesPerS))
	})
}
