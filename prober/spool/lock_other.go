//go:build !windows

package spool

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock or says ErrLocked (flock(2): it belongs to the open file, so that a second
// spool in the same process is kept out as well).
func tryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
