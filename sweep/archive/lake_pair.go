package archive

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"isochrone/prober/wire"
)

// A lake file is sorted by target and path, and each of its row groups says from which target to which it goes. So
// of one pair only few row groups are read, and of these four columns.

// LakeTrips are the samples of one target over one path in one lake file, in the order of time.
type LakeTrips struct {
	Slots  []int64     // Unix microseconds
	RTTNS  wire.Column // wire.Null: no reply in time
	Groups int         // row groups that were read
	// Foreign is how many of these turned out to hold no row of the pair: of them target and path alone were read.
	Foreign  int
	Of       int   // row groups that the file has
	Size     int64 // bytes of the file
	Read     int64 // bytes of it that were read
	Requests int   // in how many requests
	// Simulated says that nobody measured some of the file: a model made it up.
	Simulated bool
}

// LakeFiles lists the lake files of one source and probe, of the days from since to before until, newest first.
func (s *Store) LakeFiles(ctx context.Context, source, probe string, since, until time.Time) (out []LakeBlob, err error) {
	for what, name := range map[string]string{"source": source, "probe": probe} {
		if err := wire.ValidateName(what, name); err != nil {
			return nil, fmt.Errorf("listing the lake: %w: %w", ErrRefused, err)
		}
	}
	folder := samplesFolder + "src=" + source + "/"
	for b, err := range s.list(ctx, s.lakeContainer(), folder, false) {
		if err != nil {
			return nil, err
		}
		date, rest, _ := strings.Cut(strings.TrimPrefix(*b.Name, folder), "/")
		day, err := time.Parse("date="+time.DateOnly, date)
		if err != nil || rest != "probe="+probe+"/"+lakeFile || day.Before(since.UTC().Truncate(24*time.Hour)) || !day.Before(until) {
			continue
		}
		out = append(out, lakeBlob(s.lakeContainer(), date, b))
	}
	slices.Reverse(out)
	return out, nil
}

// ReadTrips reads the samples of one target and path from a lake file, by ranges.
func (s *Store) ReadTrips(ctx context.Context, b LakeBlob, target, path string) (LakeTrips, error) {
	trips, err := readTrips(b.Size, target, path, func(at, n int64) ([]byte, error) { return s.ReadRange(ctx, b, at, n) })
	if err != nil {
		return trips, fmt.Errorf("reading %q: %w", b.Name, err)
	}
	return trips, nil
}

// tripColumns are read of a row group that may hold the pair.
var tripColumns = [...]string{"target", "path", "slot", "rtt_ns"}

func readTrips(size int64, target, path string, read func(at, n int64) ([]byte, error)) (t LakeTrips, err error) {
	defer func() {
		if v := recover(); v != nil { // parquet-go slices by what a damaged file says
			err = fmt.Errorf("reading samples: the file is damaged: %v", v)
		}
	}()
	t.Size = size
	spans := &spanReader{size: size, read: func(at, n int64) ([]byte, error) {
		t.Read, t.Requests = t.Read+n, t.Requests+1
		return read(at, n)
	}}
	// Nearly every footer is in the file's last bytes: one request, and none for the mark that begins the file, which
	// the footer has too.
	tail := min(size, FooterBytes)
	if err := spans.hold(size-tail, tail); err != nil {
		return t, fmt.Errorf("reading samples: %w", err)
	}
	f, err := openSamples(spans, size, MetaLakeVersion, LakeVersion, parquet.SkipMagicBytes(true))
	if err != nil {
		return t, err
	}
	t.Simulated = f.Simulated
	leaves := map[string]int{}
	for _, name := range tripColumns {
		leaf, ok := f.file.Schema().Lookup(name)
		if !ok {
			return t, fmt.Errorf("reading samples: column %q is missing", name)
		}
		leaves[name] = leaf.ColumnIndex
	}
	groups := f.file.RowGroups()
	t.Of = len(groups)
	for i, group := range groups {
		said := f.file.Metadata().RowGroups[i].Columns
		if !mayHold(said[leaves["target"]].MetaData.Statistics.MinValue, said[leaves["target"]].MetaData.Statistics.MaxValue, target) ||
			!mayHold(said[leaves["path"]].MetaData.Statistics.MinValue, said[leaves["path"]].MetaData.Statistics.MaxValue, path) {
			continue
		}
		t.Groups++
		if err := t.readGroup(spans, group, leaves, target, path, func(column int) (at, n int64) {
			m := &said[column].MetaData
			at = m.DataPageOffset
			if m.DictionaryPageOffset > 0 {
				at = min(at, m.DictionaryPageOffset)
			}
			return at, m.TotalCompressedSize
		}); err != nil {
			return t, fmt.Errorf("reading samples: %w", err)
		}
	}
	return t, nil
}

// mayHold says whether a column with these ends may have the text. Without ends it may.
func mayHold(low, high []byte, text string) bool {
	if low == nil && high == nil {
		return true
	}
	return string(low) <= text && text <= string(high)
}

// readGroup reads the pair's rows of one row group.
func (t *LakeTrips) readGroup(spans *spanReader, group parquet.RowGroup, leaves map[string]int, target, path string, place func(int) (at, n int64)) error {
	if rows := group.NumRows(); rows < 0 || rows > maxGroupRows {
		return fmt.Errorf("%w: a row group of %d rows: want at most %d", ErrTooLarge, rows, maxGroupRows)
	}
	g := groupReader{n: int(group.NumRows())}
	d := newDictionary()
	var texts [2][]uint32
	from, n := place(leaves["target"])
	behind, m := place(leaves["path"])
	if behind == from+n { // as they are written, and small: one request
		n += m
	}
	if err := spans.hold(from, n); err != nil {
		return err
	}
	for i, name := range []string{"target", "path"} {
		if i == 1 && !spans.holds(behind, m) {
			if err := spans.hold(behind, m); err != nil {
				return err
			}
		}
		var err error
		if texts[i], err = g.readTexts(d, name, group.ColumnChunks()[leaves[name]], nil); err != nil {
			return err
		}
	}
	wantTarget, wantPath := d.number([]byte(target)), d.number([]byte(path))
	wanted := func(i int) bool { return texts[0][i] == wantTarget && texts[1][i] == wantPath }
	any := false
	for i := range g.n {
		any = any || wanted(i)
	}
	if !any {
		t.Foreign++
		return nil // the row group goes from a target before to one behind
	}
	var numbers [2][]int64
	for i, name := range []string{"slot", "rtt_ns"} {
		if err := spans.hold(place(leaves[name])); err != nil {
			return err
		}
		var err error
		if numbers[i], err = g.readNumbers(name, group.ColumnChunks()[leaves[name]], nil, i == 0); err != nil {
			return err
		}
	}
	for i := range g.n {
		if wanted(i) {
			t.Slots, t.RTTNS = append(t.Slots, numbers[0][i]), append(t.RTTNS, numbers[1][i])
		}
	}
	return nil
}

// spanReader reads the span that it was told to hold at once, and everything else in windows: the footer.
type spanReader struct {
	size  int64
	read  func(at, n int64) ([]byte, error)
	held  window
	other *rangeReader
}

// hold reads a span, in the place of the one before.
func (r *spanReader) hold(at, n int64) error {
	if at < 0 || n < 0 || n > maxSpan || at+n > r.size {
		return fmt.Errorf("%w: a column of %d bytes at %d of %d", ErrTooLarge, n, at, r.size)
	}
	body, err := r.read(at, n)
	if err == nil && int64(len(body)) != n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	r.held = window{at, body}
	return nil
}

func (r *spanReader) holds(at, n int64) bool {
	return at >= r.held.at && at+n <= r.held.at+int64(len(r.held.body))
}

// maxSpan bounds a column of a row group: the widest of ours are 8 bytes a row.
const maxSpan = 16 << 20

// ReadAt implements io.ReaderAt.
func (r *spanReader) ReadAt(p []byte, at int64) (int, error) {
	if h := &r.held; at >= h.at && at < h.at+int64(len(h.body)) {
		n := copy(p, h.body[at-h.at:])
		if n == len(p) {
			return n, nil
		}
		more, err := r.ReadAt(p[n:], at+int64(n))
		return n + more, err
	}
	if r.other == nil {
		r.other = &rangeReader{size: r.size, bytes: FooterBytes, read: r.read}
	}
	return r.other.ReadAt(p, at)
}
