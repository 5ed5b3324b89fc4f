//go:build !windows

package spool

import (
	"errors"
	"os"
)

// syncDir makes the names in a folder durable (fsync(2): a file's own fsync does not).
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
