package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Open opens a spool. One with a folder begins with the documents that an earlier process left in
// it, in the order in which they came. The folder is made if need be, and is this process's alone
// until Close; ErrLocked says that it is another's.
func Open(o Options) (*Spool, error) {
	if o.Dir == "" {
		return newSpool(o), nil
	}
	opening := func(err error) error {
		return fmt.Errorf("opening the spool %q: %w; want a folder on a disk of this machine that this user may write to", o.Dir, err)
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, asideDir), 0o700); err != nil {
		return nil, opening(err)
	}
	l, err := takeLock(o.Dir)
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("opening the spool %q: %w; give each prober its own", o.Dir, err)
	} else if err != nil {
		return nil, opening(err)
	}
	_ = syncDir(filepath.Dir(o.Dir)) // if the folder is new; one that may not be read has it from elsewhere
	s, err := openOn(realDisk{o.Dir}, o)
	if err != nil {
		return nil, errors.Join(opening(err), l.release())
	}
	s.lock = l
	return s, nil
}

func openOn(d disk, o Options) (*Spool, error) {
	s := newSpool(o)
	s.folder = &folder{disk: d, asideBytes: s.o.Bytes / 16, unsynced: map[string]bool{}}
	if err := s.recover(); err != nil {
		return nil, err
	}
	return s, nil
}

// recover takes over what an earlier process left. Bodies are not read: that is done, and their
// checksums proved, before each is delivered.
func (s *Spool) recover() error {
	if err := s.adopt(); err != nil {
		return err
	}
	entries, err := s.folder.disk.List("")
	if err != nil {
		return err
	}
	aside, err := s.folder.disk.List(asideDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range aside { // their numbers are not given again
		seq, ok := seqOf(cutEnding(e.name), "")
		s.bumpSeq(seq, ok)
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	for _, e := range entries {
		seq, ok := seqOf(e.name, docEnd)
		s.bumpSeq(seq, ok)
		if ok {
			s.find(seq, e.size)
		}
	}
	s.makeRoom(0, nil) // the limit may be lower than it was
	// The process before may have been ended between giving a file its name and syncing the folder.
	s.folder.unsynced[""] = true
	return s.folder.syncRemovals()
}

// adopting is no name that save gives: the only copy is not written over.
const adopting = "adopted" + tempEnd

// bumpSeq keeps the numbers to come above those that are there.
func (s *Spool) bumpSeq(seq uint64, ok bool) {
	if ok && seq < math.MaxUint64 {
		s.nextSeq = max(s.nextSeq, seq+1)
	}
}

func cutEnding(name string) string {
	if i := len(name) - len(filepath.Ext(name)); i > 0 {
		return name[:i]
	}
	return name
}

// adopt gives files with temporary names their own if they are whole, because the process that
// wrote them was ended a moment before it could, and removes them otherwise.
func (s *Spool) adopt() error {
	entries, err := s.folder.disk.List("")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.name == adopting { // the start before was ended in the middle of this
			s.unlink(e.name)
			continue
		}
		seq, ok := seqOf(e.name, tempEnd)
		if !ok {
			continue
		}
		s.bumpSeq(seq, ok)
		b, err := s.folder.disk.Read(e.name, math.MaxInt64)
		if err == nil {
			_, _, err = decode(b)
		}
		switch {
		case err != nil:
			s.unlink(e.name)
		case s.folder.saveBy(adopting, seq, b) == nil: // written anew: nobody knows if it was synced
			s.unlink(e.name)
		default: // no room for two of it
			err = s.folder.disk.Rename(e.name, fileName(seq))
			s.o.Log.Warn("a document that was being written could not be written anew", "file", e.name, "renamed", err == nil)
		}
	}
	return nil
}

// find takes one file into the queue, or sets it aside.
func (s *Spool) find(seq uint64, size int64) {
	d := &document{seq: seq, name: fileName(seq), filed: true, since: s.o.Uptime()}
	b, err := s.folder.disk.Read(fileName(seq), int64(maxHead))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		// The disk does not give it now. It stays where it is for the next start.
		s.o.Log.Error("a file of the spool cannot be read", "file", fileName(seq), "error", err)
		return
	}
	h, _, n, err := decodeHead(b)
	if err == nil && int64(n)+h.length != size {
		err = fmt.Errorf("%w: %d bytes, not %d", errCorrupt, size, int64(n)+h.length)
	}
	if err != nil {
		s.setAside(d, Corrupt, err)
		return
	}
	d.name, d.length, d.size, d.stored = h.name, h.length, onDisk(size), h.time()
	d.before = max(s.wall().Sub(d.stored), 0)
	before := s.queue.names[d.name]
	if before != nil { // the process was ended while this one replaced it
		if _, _, err := s.folder.load(seq); err != nil {
			s.setAside(d, Corrupt, err)
			return
		}
	}
	s.change(func() { s.queue.add(d) })
	if before != nil {
		s.discard(before)
	}
}
