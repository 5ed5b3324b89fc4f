package spool

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// disk is what the spool needs of a file system, below one folder. Names have slashes. No call is
// repeated by the disk; after an error the effect may have come about, wholly or in part.
type disk interface {
	List(dir string) ([]entry, error) // files only; "" is the folder itself
	Read(name string, most int64) ([]byte, error)
	Create(name string) (file, error) // in place of what is there
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(dir string) error // makes what was renamed and removed in it durable
}

type file interface {
	io.Writer
	Sync() error // makes what was written durable
	Close() error
}

type entry struct {
	name string
	size int64
}

// realDisk is a folder of the operating system.
type realDisk struct{ dir string }

func (d realDisk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d realDisk) List(dir string) ([]entry, error) {
	all, err := os.ReadDir(d.path(dir))
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, e := range all {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody has removed it
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			out = append(out, entry{e.Name(), info.Size()})
		}
	}
	return out, nil
}

func (d realDisk) Read(name string, most int64) (b []byte, err error) {
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, most))
}

func (d realDisk) Create(name string) (file, error) {
	return os.OpenFile(d.path(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

func (d realDisk) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }
func (d realDisk) Remove(name string) error     { return os.Remove(d.path(name)) }
func (d realDisk) SyncDir(dir string) error     { return syncDir(d.path(dir)) }
