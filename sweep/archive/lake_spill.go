package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"isochrone/prober/wire"
)

// spillInMemory is up to how many bytes stay in memory; what is more goes to a file.
const spillInMemory = 32 << 20

// maxRowBytes is the most that a row takes: its flags, three texts and all numbers.
const maxRowBytes = (1 + 3 + numberColumns) * binary.MaxVarintLen64

// spill keeps sorted segments of rows until they are merged: each row as the differences from the one
// before it, some 30 bytes, for a day of a source has more rows than fit in memory.
type spill struct {
	folder string // of the file; empty: the system's
	memory []byte
	file   *os.File
	size   int64
}

func (s *spill) write(p []byte) error {
	if s.file == nil && s.size+int64(len(p)) <= spillInMemory {
		s.memory = append(s.memory, p...)
		s.size += int64(len(p))
		return nil
	}
	if s.file == nil {
		if err := s.toFile(); err != nil {
			return err
		}
	}
	if _, err := s.file.Write(p); err != nil {
		return fmt.Errorf("keeping samples that are merged: %w", err)
	}
	s.size += int64(len(p))
	return nil
}

// toFile moves what is in memory into a file.
func (s *spill) toFile() error {
	f, err := os.CreateTemp(s.folder, "isochrone-merge-")
	if err != nil {
		return fmt.Errorf("making a file for samples that are merged: %w", err)
	}
	s.file = f
	if _, err := f.Write(s.memory); err != nil {
		return fmt.Errorf("keeping samples that are merged: %w", err)
	}
	s.memory = nil
	return nil
}

func (s *spill) readAt(p []byte, at int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, at)
	}
	return copy(p, s.memory[at:]), nil
}

func (s *spill) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}

// segment is where sorted rows lie in a spill.
type segment struct{ begin, end int64 }

// segmentWriter appends one segment.
type segmentWriter struct {
	to    *spill
	begin int64
	last  lakeRow
	buf   []byte
}

func (w *segmentWriter) start(to *spill) {
	w.to, w.begin, w.last, w.buf = to, to.size, lakeRow{}, w.buf[:0]
}

func (w *segmentWriter) add(r *lakeRow) error {
	flags := uint64(0)
	if r.target != w.last.target || r.path != w.last.path {
		flags |= 1
	}
	if r.failure != 0 {
		flags |= 2
	}
	for i, v := range r.numbers {
		if v == wire.Null {
			flags |= 4 << i
		}
	}
	w.buf = binary.AppendUvarint(w.buf, flags)
	if flags&1 != 0 {
		w.buf = binary.AppendUvarint(binary.AppendUvarint(w.buf, uint64(r.target)), uint64(r.path))
	}
	if flags&2 != 0 {
		w.buf = binary.AppendUvarint(w.buf, uint64(r.failure))
	}
	for i, v := range r.numbers {
		if v != wire.Null {
			w.buf = binary.AppendVarint(w.buf, v-w.last.numbers[i])
			w.last.numbers[i] = v
		}
	}
	w.last.target, w.last.path = r.target, r.path
	if len(w.buf) < 256<<10 {
		return nil
	}
	return w.flush()
}

func (w *segmentWriter) flush() error {
	err := w.to.write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func (w *segmentWriter) finish() (segment, error) {
	err := w.flush()
	return segment{w.begin, w.to.size}, err
}

// cursor reads a segment.
type cursor struct {
	from    *spill
	at, end int64
	buf     []byte // what was read and is not taken yet
	store   []byte
	row     lakeRow
	last    [numberColumns]int64
}

// next reads the next row; false at the end.
func (c *cursor) next() (bool, error) {
	if len(c.buf) < maxRowBytes && c.at < c.end {
		n := copy(c.store, c.buf)
		want := min(int64(len(c.store)-n), c.end-c.at)
		got, err := c.from.readAt(c.store[n:n+int(want)], c.at)
		if int64(got) < want {
			return false, fmt.Errorf("reading samples that are merged: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		c.at += want
		c.buf = c.store[:n+got]
	}
	if len(c.buf) == 0 {
		return false, nil
	}
	flags := c.uvarint()
	if flags&1 != 0 {
		c.row.target, c.row.path = uint32(c.uvarint()), uint32(c.uvarint())
	}
	if c.row.failure = 0; flags&2 != 0 {
		c.row.failure = uint32(c.uvarint())
	}
	for i := range c.row.numbers {
		if flags&(4<<i) != 0 {
			c.row.numbers[i] = wire.Null
			continue
		}
		v, n := binary.Varint(c.buf)
		c.buf = c.buf[max(n, 0):]
		c.last[i] += v
		c.row.numbers[i] = c.last[i]
	}
	return true, nil
}

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.buf)
	c.buf = c.buf[max(n, 0):]
	return v
}
