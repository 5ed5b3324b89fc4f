package wan

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Permitted says whether this process may emulate a network, by doing it on a small scale: it
// makes a namespace with a TUN, which are gone when it returns. The error says what hinders it.
func Permitted() error {
	machine, err := current()
	if err != nil {
		return err
	}
	defer func() { _ = machine.close() }()
	ns, err := create(machine, func() error {
		tun, err := openTUN()
		if err != nil {
			return err
		}
		return tun.Close()
	})
	switch {
	case err == nil:
		return ns.close()
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("emulating a network needs %s: load the kernel's module tun, or give the container the device: %w", tunDevice, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("emulating a network needs root, or the capabilities CAP_SYS_ADMIN and CAP_NET_ADMIN and the right to open %s: %w", tunDevice, err)
	}
	return fmt.Errorf("emulating a network does not work on this machine: %w", err)
}
