//go:build !linux

package probe

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestARawSocketForOthersOnlyIsAMatterOfPermission(t *testing.T) {
	for _, errno := range []syscall.Errno{wsaEACCES, syscall.EACCES, syscall.EPERM} {
		err := fmt.Errorf("opening: %w", &net.OpError{Op: "listen", Net: "ip4:icmp", Err: os.NewSyscallError("socket", errno)})
		if !refusesRaw(err) {
			t.Errorf("%v (%d) is no lack of permission", errno, int(errno))
		}
	}
	if refusesRaw(os.NewSyscallError("socket", syscall.EINVAL)) {
		t.Error("an argument that is wrong is a lack of permission")
	}
}
