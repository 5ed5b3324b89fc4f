package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// lock keeps other processes from the folder. The operating system ends it with the process,
// however that ends; the file itself says nothing and stays.
type lock struct{ file *os.File }

const lockFile = "lock"

func takeLock(dir string) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %q: %w", f.Name(), err), f.Close())
	}
	return &lock{f}, nil
}

func (l *lock) release() error {
	if l == nil {
		return nil
	}
	return l.file.Close() // which ends the lock
}
