package compact_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// memory is the store in memory, with the faults of storetest; the conformance test holds it to the real one.
type memory struct {
	environment string
	// fault, if it is set, says how a call fails. call counts all calls from 0.
	fault func(call int, op string) storetest.Fault
	// before, if it is set, is called at the beginning of every call, without the lock.
	before func(call int, op string)
	noMD5  bool // storage does not tell it

	lock  sync.Mutex
	calls []string
	etags int
	blobs map[string]stored // container in front
	marks map[string]tables.DayMark
}

// clone is a store of its own with what is in this one. Bodies are never changed in place.
func (m *memory) clone() *memory {
	return &memory{environment: m.environment, noMD5: m.noMD5, calls: slices.Clone(m.calls), etags: m.etags, blobs: maps.Clone(m.blobs), marks: maps.Clone(m.marks)}
}

type stored struct {
	body []byte
	etag string
	when time.Time
}

func newMemory(environment string) *memory {
	return &memory{environment: environment, blobs: map[string]stored{}, marks: map[string]tables.DayMark{}}
}

func (m *memory) call(op string, act func() error) error {
	m.lock.Lock()
	n := len(m.calls)
	m.calls = append(m.calls, op)
	m.lock.Unlock()
	if m.before != nil {
		m.before(n, op)
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	fault := storetest.None
	if m.fault != nil {
		fault = m.fault(n, op)
	}
	if fault == storetest.NotStored || fault == storetest.Dead {
		return storetest.ErrInjected
	}
	if err := act(); err != nil {
		return err
	}
	if fault == storetest.StoredAnyway {
		return storetest.ErrInjected
	}
	return nil
}

// set must be called with the lock held.
func (m *memory) set(name string, body []byte) {
	m.etags++
	m.blobs[name] = stored{body, strconv.Itoa(m.etags), time.Unix(int64(m.etags), 0).UTC()}
}

func (m *memory) mark(source string, day time.Time) {
	m.etags++
	m.marks[source+"|"+day.Format(time.DateOnly)] = tables.DayMark{Source: source, Begin: day, ETag: strconv.Itoa(m.etags)}
}

// put is what ingest and replay do: the raw file, and then the mark.
func (m *memory) put(_ context.Context, source string, slot time.Time, assignment string, rs []result.Result) error {
	body, _, err := archive.EncodeSamples(rs)
	if err != nil {
		return err
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	name := "raw-" + m.environment + "/samples/v=1/src=" + source + "/date=" + slot.Format(time.DateOnly) + "/" + slot.Format("1504") + "_" + assignment + ".parquet"
	if is, ok := m.blobs[name]; !ok || !bytes.Equal(is.body, body) {
		m.set(name, body)
	}
	m.mark(source, slot.Truncate(24*time.Hour))
	return nil
}

func (m *memory) days(op, container string) (out []archive.SourceDay, err error) {
	err = m.call(op, func() error {
		for _, name := range slices.Sorted(maps.Keys(m.blobs)) {
			parts := strings.Split(name, "/")
			if parts[0] != container || len(parts) < 5 {
				continue
			}
			day, err := time.Parse("date=2006-01-02", parts[4])
			if err != nil {
				return err
			}
			out = append(out, archive.SourceDay{Source: strings.TrimPrefix(parts[3], "src="), Day: day})
		}
		out = slices.Compact(out)
		return nil
	})
	return out, err
}

func (m *memory) RawDays(context.Context) ([]archive.SourceDay, error) {
	return m.days("RawDays", "raw-"+m.environment)
}

func (m *memory) LakeDays(context.Context) ([]archive.SourceDay, error) {
	return m.days("LakeDays", "lake-"+m.environment)
}

func (m *memory) list(op, container string, d archive.SourceDay, label func(string) string) (out []archive.LakeBlob, err error) {
	err = m.call(op, func() error {
		prefix := container + "/samples/v=1/src=" + d.Source + "/date=" + d.Day.Format(time.DateOnly) + "/"
		for _, name := range slices.Sorted(maps.Keys(m.blobs)) {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			is := m.blobs[name]
			b := archive.LakeBlob{Name: name, Label: label(strings.TrimPrefix(name, prefix)), Size: int64(len(is.body)), ETag: is.etag, Written: is.when}
			if sum := md5.Sum(is.body); !m.noMD5 {
				b.MD5 = hex.EncodeToString(sum[:])
			}
			out = append(out, b)
		}
		return nil
	})
	return out, err
}

func (m *memory) RawSamples(_ context.Context, d archive.SourceDay) ([]archive.LakeBlob, error) {
	return m.list("RawSamples", "raw-"+m.environment, d, func(s string) string { return strings.TrimSuffix(s, ".parquet") })
}

func (m *memory) LakeSamples(_ context.Context, d archive.SourceDay) ([]archive.LakeBlob, error) {
	return m.list("LakeSamples", "lake-"+m.environment, d, func(s string) string { return strings.TrimPrefix(path.Dir(s), "probe=") })
}

func (m *memory) ReadRange(_ context.Context, b archive.LakeBlob, at, n int64) (body []byte, err error) {
	err = m.call("ReadRange", func() error {
		is, ok := m.blobs[b.Name]
		if !ok || is.etag != b.ETag {
			return fmt.Errorf("reading %q: %w", b.Name, archive.ErrChanged)
		}
		body = slices.Clone(is.body[at : at+n])
		return nil
	})
	return body, err
}

func (m *memory) replace(name, was string, body []byte) error {
	if is := m.blobs[name]; is.etag != was {
		return fmt.Errorf("writing %q: %w", name, archive.ErrChanged)
	}
	m.set(name, body)
	return nil
}

func (m *memory) WriteLake(_ context.Context, d archive.SourceDay, probe, was string, write func(io.Writer) error) error {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	return m.call("WriteLake", func() error {
		name := "lake-" + m.environment + "/samples/v=1/src=" + d.Source + "/date=" + d.Day.Format(time.DateOnly) + "/probe=" + probe + "/part-0.parquet"
		return m.replace(name, was, out.Bytes())
	})
}

func (m *memory) DeleteRaw(_ context.Context, b archive.LakeBlob) error {
	return m.call("DeleteRaw", func() error {
		if is, ok := m.blobs[b.Name]; ok && is.etag != b.ETag {
			return fmt.Errorf("deleting %q: %w", b.Name, archive.ErrChanged)
		}
		delete(m.blobs, b.Name)
		return nil
	})
}

func (m *memory) LakeNote(_ context.Context, name string) (body []byte, etag string, err error) {
	err = m.call("LakeNote", func() error {
		is := m.blobs["lake-"+m.environment+"/"+name]
		body, etag = is.body, is.etag
		return nil
	})
	return body, etag, err
}

func (m *memory) PutLakeNote(_ context.Context, name string, body []byte, was string) error {
	return m.call("PutLakeNote", func() error { return m.replace("lake-"+m.environment+"/"+name, was, body) })
}

func (m *memory) DayMarks(context.Context) (out []tables.DayMark, err error) {
	err = m.call("DayMarks", func() error {
		for _, key := range slices.Sorted(maps.Keys(m.marks)) {
			out = append(out, m.marks[key])
		}
		return nil
	})
	return out, err
}

func (m *memory) ClearDay(_ context.Context, k tables.DayMark) error {
	return m.call("ClearDay", func() error {
		if key := k.Source + "|" + k.Begin.Format(time.DateOnly); m.marks[key].ETag == k.ETag {
			delete(m.marks, key)
		}
		return nil
	})
}

func (m *memory) MarkDay(_ context.Context, source string, day time.Time) error {
	return m.call("MarkDay", func() error { m.mark(source, day); return nil })
}

func assignmentOf(env, source, probe string, slot time.Time) string {
	return wire.AssignmentID(env, slot, source, probe, 0)
}
