package transfer

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// truncating has the kernel throw away what came (tcp(7), MSG_TRUNC), which saves copying it.
type truncating struct {
	raw  syscall.RawConn
	read func(fd uintptr) (done bool) // made once, so that reading allocates nothing
	to   []byte                       // nothing is written to it
	want int
	got  int
	err  error
}

func discarderOf(conn *net.TCPConn) (discarder, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &truncating{raw: raw, to: make([]byte, receiveChunk)}
	d.read = func(fd uintptr) bool {
		for {
			n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(d.to))), uintptr(d.want), unix.MSG_TRUNC, 0, 0)
			switch errno {
			case 0:
				d.got = int(n)
				return true
			case unix.EINTR:
			case unix.EAGAIN:
				return false
			default:
				d.err = os.NewSyscallError("recvfrom", errno)
				return true
			}
		}
	}
	return d, nil
}

func (d *truncating) discard(n int) (int, error) {
	d.want, d.got, d.err = min(n, len(d.to)), 0, nil
	switch err := d.raw.Read(d.read); {
	case err != nil:
		return 0, err
	case d.err != nil:
		return 0, d.err
	case d.got == 0:
		return 0, io.EOF
	}
	return d.got, nil
}
