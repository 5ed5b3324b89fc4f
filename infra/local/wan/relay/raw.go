package relay

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The loop's system calls are made without telling Go's scheduler, which would else give the
// thread's place away and keep it waiting for one when it returns, behind threads that the
// kernel runs later than it. The collector waits for the loop meanwhile, so none may block long.

func rawWait(epoll int, events []unix.EpollEvent, timeoutMS int) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(timeoutMS), 0, 0)
	return result(n, errno)
}

func rawRead(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return result(n, errno)
}

func rawWrite(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return result(n, errno)
}

func result(n uintptr, errno unix.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
