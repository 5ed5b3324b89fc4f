package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	asideDir   = "aside"
	asideFiles = 64 // the most that are kept there
	docEnd     = ".doc"
	tempEnd    = ".tmp"
	block      = 4096
)

func fileName(seq uint64) string { return fmt.Sprintf("%016x"+docEnd, seq) }
func tempName(seq uint64) string { return fmt.Sprintf("%016x"+tempEnd, seq) }

// seqOf is the inverse of both.
func seqOf(name, end string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, end)
	seq, err := strconv.ParseUint(digits, 16, 64)
	return seq, ok && err == nil && fmt.Sprintf("%016x", seq) == digits
}

// onDisk is what a file of so many bytes takes of a disk, in whole blocks.
func onDisk(size int64) int64 { return (size + block - 1) / block * block }

// folder is the spool's, with one file a document. The names say the order.
type folder struct {
	disk       disk
	asideBytes int64 // the most that files set aside may have
	unsynced   map[string]bool
}

// save writes a record so that it is there whole or not at all, whatever ends the program or the
// machine meanwhile.
func (f *folder) save(seq uint64, record []byte) error { return f.saveBy(tempName(seq), seq, record) }

func (f *folder) saveBy(temp string, seq uint64, record []byte) error {
	if err := f.write(temp, record); err != nil {
		_ = f.disk.Remove(temp) // it would take room; whoever opens the folder next removes it too
		return err
	}
	if err := f.disk.Rename(temp, fileName(seq)); err != nil {
		_ = f.disk.Remove(temp)
		return err
	}
	return f.disk.SyncDir("")
}

// write writes and syncs. After a sync that failed nothing may be said of the file (the kernel
// reports lost pages once), so that the caller begins with a new one.
func (f *folder) write(name string, record []byte) error {
	w, err := f.disk.Create(name)
	if err != nil {
		return err
	}
	n, err := w.Write(record)
	if err == nil && n < len(record) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}

// load reads a record and proves it. A file that is gone is corrupt: nobody but the spool removes
// any.
func (f *folder) load(seq uint64) (head, []byte, error) {
	b, err := f.disk.Read(fileName(seq), math.MaxInt64)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return head{}, nil, fmt.Errorf("%w: it is gone", errCorrupt)
	case err != nil:
		return head{}, nil, err
	}
	return decode(b)
}

// remove removes a file. Its removal is durable after syncRemovals.
func (f *folder) remove(name string) error {
	if err := f.disk.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.unsynced[""] = true
	return nil
}

func (f *folder) syncRemovals() error {
	var faults []error
	for dir := range f.unsynced {
		faults = append(faults, f.disk.SyncDir(dir))
	}
	clear(f.unsynced)
	return errors.Join(faults...)
}

// setAside keeps a file out of the way, with its reason as the name's ending, and the folder of
// such files within its bounds.
func (f *folder) setAside(seq uint64, reason Reason) error {
	f.unsynced[""], f.unsynced[asideDir] = true, true
	to := asideDir + "/" + strings.TrimSuffix(fileName(seq), docEnd) + "." + string(reason)
	if err := f.disk.Rename(fileName(seq), to); err != nil {
		return err
	}
	return f.boundAside()
}

func (f *folder) boundAside() error {
	kept, err := f.disk.List(asideDir)
	if err != nil {
		return err
	}
	slices.SortFunc(kept, func(a, b entry) int { return cmp.Compare(b.name, a.name) }) // the newest first
	var faults []error
	var bytes int64
	for i, e := range kept {
		if bytes += onDisk(e.size); i >= asideFiles || bytes > f.asideBytes {
			faults = append(faults, f.disk.Remove(asideDir+"/"+e.name))
		}
	}
	return errors.Join(faults...)
}
