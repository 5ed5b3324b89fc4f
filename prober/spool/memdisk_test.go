package spool

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"syscall"
)

// memDisk is a disk that fails as told, and that can lose power: what was not synced is then there
// wholly, in part or not at all, and names that were not synced are the old or the new ones.
type memDisk struct {
	random *rand.Rand
	names  map[string]*inode // as the running system sees them
	stable map[string]*inode // as the platter does
	undone []change          // since the last sync of their folder

	room  int64                   // bytes that may still be written; <0: no limit
	fault func(op string) outcome // what befalls an operation; nil: nothing
	ops   int
}

type inode struct {
	data   []byte
	synced []byte // what the platter has for certain
}

// change is one of names: to in place of what was there; nil removes it.
type change struct {
	name string
	to   *inode
}

type outcome int

const (
	fine    outcome = iota
	refused         // failed, not stored
	lost            // failed, but stored
	short           // a write that takes a part
)

var errDisk = errors.New("the disk failed")

func newMemDisk(seed uint64) *memDisk {
	return &memDisk{random: rand.New(rand.NewPCG(seed, 1)), names: map[string]*inode{}, stable: map[string]*inode{}, room: -1}
}

// do is an operation with its fault.
func (d *memDisk) do(op string, effect func() error) error {
	d.ops++
	befalls := fine
	if d.fault != nil {
		befalls = d.fault(op)
	}
	if befalls == refused || befalls == short {
		return errDisk
	}
	if err := effect(); err != nil {
		return err
	}
	if befalls == lost {
		return errDisk
	}
	return nil
}

func (d *memDisk) set(name string, to *inode) {
	if to == nil {
		if old := d.names[name]; old != nil && d.room >= 0 {
			d.room += int64(len(old.data))
		}
		delete(d.names, name)
	} else {
		d.names[name] = to
	}
	d.undone = append(d.undone, change{name, to})
}

func folderOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}

func (d *memDisk) List(dir string) (out []entry, err error) {
	err = d.do("list", func() error {
		for _, name := range slices.Sorted(maps.Keys(d.names)) {
			if folderOf(name) == dir {
				out = append(out, entry{path.Base(name), int64(len(d.names[name].data))})
			}
		}
		return nil
	})
	return out, err
}

func (d *memDisk) Read(name string, most int64) (b []byte, err error) {
	err = d.do("read", func() error {
		f := d.names[name]
		if f == nil {
			return fs.ErrNotExist
		}
		b = slices.Clone(f.data[:min(int64(len(f.data)), most)])
		return nil
	})
	return b, err
}

func (d *memDisk) Create(name string) (f file, err error) {
	err = d.do("create", func() error {
		if d.names[name] != nil {
			d.set(name, nil)
		}
		node := &inode{}
		d.set(name, node)
		f = memFile{d, node}
		return nil
	})
	return f, err
}

func (d *memDisk) Rename(from, to string) error {
	return d.do("rename", func() error {
		f := d.names[from]
		if f == nil {
			return fs.ErrNotExist
		}
		delete(d.names, from)
		d.undone = append(d.undone, change{from, nil})
		if d.names[to] != nil {
			d.set(to, nil)
		}
		d.set(to, f)
		return nil
	})
}

func (d *memDisk) Remove(name string) error {
	return d.do("remove", func() error {
		if d.names[name] == nil {
			return fs.ErrNotExist
		}
		d.set(name, nil)
		return nil
	})
}

func (d *memDisk) SyncDir(dir string) error {
	return d.do("syncdir", func() error {
		d.undone = slices.DeleteFunc(d.undone, func(c change) bool {
			if folderOf(c.name) != dir {
				return false
			}
			c.apply(d.stable)
			return true
		})
		return nil
	})
}

func (c change) apply(to map[string]*inode) {
	if c.to == nil {
		delete(to, c.name)
	} else {
		to[c.name] = c.to
	}
}

// losePower leaves what the platter has: of names not synced any of the changes, of data not synced
// any part, or other bytes in their place.
func (d *memDisk) losePower() {
	for _, c := range d.undone {
		if d.random.IntN(2) == 0 {
			c.apply(d.stable)
		}
	}
	d.undone, d.names = nil, map[string]*inode{}
	for name, f := range d.stable {
		data := f.synced
		if len(f.data) > len(data) {
			data = slices.Clone(f.data[:len(data)+d.random.IntN(len(f.data)-len(data)+1)])
			for i := len(f.synced); i < len(data) && d.random.IntN(2) == 0; i++ {
				data[i] = 0
			}
		}
		d.names[name] = &inode{data: data, synced: data}
	}
	d.stable = maps.Clone(d.names)
}

type memFile struct {
	d *memDisk
	f *inode
}

func (m memFile) Write(b []byte) (n int, err error) {
	m.d.ops++
	befalls := fine
	if m.d.fault != nil {
		befalls = m.d.fault("write")
	}
	n = len(b)
	switch befalls {
	case refused:
		n, err = 0, errDisk
	case short:
		if n = m.d.random.IntN(len(b)); m.d.random.IntN(2) == 0 { // with an error, or without
			err = errDisk
		}
	case lost:
		err = errDisk
	}
	if m.d.room >= 0 && int64(n) > m.d.room {
		n, err = int(m.d.room), syscall.ENOSPC
	}
	if m.d.room >= 0 {
		m.d.room -= int64(n)
	}
	m.f.data = append(m.f.data, b[:n]...)
	return n, err
}

func (m memFile) Sync() error {
	return m.d.do("sync", func() error { m.f.synced = slices.Clone(m.f.data); return nil })
}

func (m memFile) Close() error { return m.d.do("close", func() error { return nil }) }
