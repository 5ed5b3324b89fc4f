package main

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"isochrone/sweep/archive"
	"isochrone/sweep/tables"
)

// folder is a lake in files, for days that are larger than the storage emulator takes in reasonable time.
// It is for one process alone: what holds when several write is tested on the real store.
type folder struct {
	root  string
	lock  sync.Mutex
	marks map[archive.SourceDay]string
	sums  map[string]string // MD5 by name and ETag: storage knows them without reading
}

func newFolder(root string) *folder {
	return &folder{root: root, marks: map[archive.SourceDay]string{}, sums: map[string]string{}}
}

func (f *folder) path(d archive.SourceDay, kind string) string {
	return filepath.Join(f.root, kind, "src="+d.Source, "date="+d.Day.Format(time.DateOnly))
}

func (f *folder) days(kind string) (out []archive.SourceDay, err error) {
	names, err := filepath.Glob(filepath.Join(f.root, kind, "src=*", "date=*"))
	for _, name := range names {
		day, err := time.Parse("date=2006-01-02", filepath.Base(name))
		if err != nil {
			return nil, err
		}
		out = append(out, archive.SourceDay{Source: strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "src="), Day: day})
	}
	return out, err
}

// RawDays implements compact.Lake, as the others do.
func (f *folder) RawDays(context.Context) ([]archive.SourceDay, error) { return f.days("raw") }

// LakeDays lists the lake's days.
func (f *folder) LakeDays(context.Context) ([]archive.SourceDay, error) { return f.days("lake") }

func (f *folder) list(pattern string, label func(string) string) (out []archive.LakeBlob, err error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		b := archive.LakeBlob{Name: name, Label: label(name), Size: info.Size(), ETag: etagOf(info), Written: info.ModTime().UTC()}
		f.lock.Lock()
		b.MD5 = f.sums[b.Name+b.ETag]
		f.lock.Unlock()
		out = append(out, b)
	}
	return out, nil
}

func etagOf(i fs.FileInfo) string { return strconv.FormatInt(i.ModTime().UnixNano(), 36) }

// RawSamples lists a day's raw files.
func (f *folder) RawSamples(_ context.Context, d archive.SourceDay) ([]archive.LakeBlob, error) {
	return f.list(filepath.Join(f.path(d, "raw"), "*.parquet"), func(name string) string { return strings.TrimSuffix(filepath.Base(name), ".parquet") })
}

// LakeSamples lists a day's lake files.
func (f *folder) LakeSamples(_ context.Context, d archive.SourceDay) ([]archive.LakeBlob, error) {
	return f.list(filepath.Join(f.path(d, "lake"), "probe=*", "part-0.parquet"), func(name string) string {
		return strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "probe=")
	})
}

// ReadRange reads a part of a file.
func (f *folder) ReadRange(_ context.Context, b archive.LakeBlob, at, n int64) (body []byte, err error) {
	file, err := os.Open(b.Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	body = make([]byte, n)
	_, err = file.ReadAt(body, at)
	return body, err
}

// WriteLake writes a lake file.
func (f *folder) WriteLake(_ context.Context, d archive.SourceDay, probe, _ string, write func(io.Writer) error) error {
	dir := filepath.Join(f.path(d, "lake"), "probe="+probe)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "writing-")
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return os.Rename(file.Name(), filepath.Join(dir, "part-0.parquet"))
}

// DeleteRaw deletes a raw file.
func (f *folder) DeleteRaw(_ context.Context, b archive.LakeBlob) error { return os.Remove(b.Name) }

// LakeNote reads a note.
func (f *folder) LakeNote(_ context.Context, name string) (body []byte, etag string, err error) {
	body, err = os.ReadFile(filepath.Join(f.root, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	return body, "is", err
}

// PutLakeNote writes a note.
func (f *folder) PutLakeNote(_ context.Context, name string, body []byte, _ string) error {
	return os.WriteFile(filepath.Join(f.root, name), body, 0o600)
}

// DayMarks implements compact.Marks, as the two below do.
func (f *folder) DayMarks(context.Context) (out []tables.DayMark, err error) {
	for d, etag := range f.marks {
		out = append(out, tables.DayMark{Source: d.Source, Begin: d.Day, ETag: etag})
	}
	return out, nil
}

// ClearDay takes a mark away.
func (f *folder) ClearDay(_ context.Context, m tables.DayMark) error {
	delete(f.marks, archive.SourceDay{Source: m.Source, Day: m.Begin})
	return nil
}

// MarkDay sets a mark.
func (f *folder) MarkDay(_ context.Context, source string, day time.Time) error {
	f.marks[archive.SourceDay{Source: source, Day: day}] = "is"
	return nil
}

// learn reads the MD5s of the raw files, which storage tells with its listings.
func (f *folder) learn(ctx context.Context, d archive.SourceDay) error {
	blobs, err := f.RawSamples(ctx, d)
	for _, b := range blobs {
		body, err := os.ReadFile(b.Name)
		if err != nil {
			return fmt.Errorf("reading a raw file: %w", err)
		}
		sum := md5.Sum(body)
		f.sums[b.Name+b.ETag] = hex.EncodeToString(sum[:])
	}
	return err
}
