package archive

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"isochrone/prober/wire"
)

// SampleMerge makes the lake file of one source, day and probe. It takes some 60 MB of memory whatever the
// number of samples, and on disk some 30 bytes a sample until it is closed.
type SampleMerge struct {
	probe    string
	words    *dictionary
	spill    spill
	writer   segmentWriter
	segments []segment
	runs     map[runKey]bool // of the raw files
	inputs   []LakeInput
	sum      SampleSum
}

// NewSampleMerge begins a merge; what does not fit in memory goes into the folder, the system's for
// temporary files if it is empty.
func NewSampleMerge(probe, folder string) *SampleMerge {
	return &SampleMerge{probe: probe, words: newDictionary(), spill: spill{folder: folder}, runs: map[runKey]bool{}}
}

// Add takes in the rows of the merge's probe of a raw file.
func (m *SampleMerge) Add(id, md5 string, f *SampleFile) error {
	for _, r := range f.Runs {
		if r.Probe == m.probe {
			m.runs[runKey{m.words.number([]byte(r.Target)), m.words.number([]byte(r.Path)), r.Slot.UnixMicro()}] = true
		}
	}
	sum, err := m.take(f, nil)
	if err != nil {
		return fmt.Errorf("merging raw samples %q: %w", id, err)
	}
	m.inputs = append(m.inputs, LakeInput{id, md5, sum})
	m.sum = m.sum.Plus(sum)
	return nil
}

// Keep takes in what the lake file has of inputs whose raw files are gone: the rows of all runs that no
// file lists that was added. It is called after all Adds. An error says that the lake file does not have
// what its footer says of these inputs.
func (m *SampleMerge) Keep(f *SampleFile, inputs []LakeInput) error {
	var want SampleSum
	for _, in := range inputs {
		want = want.Plus(in.SampleSum)
	}
	sum, err := m.take(f, m.runs)
	if err != nil {
		return fmt.Errorf("merging the lake's samples: %w", err)
	}
	if sum != want {
		return fmt.Errorf("merging the lake's samples: of the %d files that are gone it has %+v: want %+v", len(inputs), sum, want)
	}
	m.inputs = append(m.inputs, inputs...)
	m.sum = m.sum.Plus(sum)
	return nil
}

// take appends the rows of a file, without those of some runs, as sorted segments.
func (m *SampleMerge) take(f *SampleFile, without map[runKey]bool) (sum SampleSum, err error) {
	var last lakeRow
	m.writer.start(&m.spill)
	end := func() error {
		s, err := m.writer.finish()
		if s.end > s.begin {
			m.segments = append(m.segments, s)
		}
		return err
	}
	err = f.each(m.words, m.probe, func(r *lakeRow) error {
		if without[runKey{r.target, r.path, r.numbers[atSlot]}] {
			return nil
		}
		// Files are sorted but for what older encoders, or ties, left otherwise.
		if sum.Rows > 0 && m.words.compare(&last, r) > 0 {
			if err := end(); err != nil {
				return err
			}
			m.writer.start(&m.spill)
		}
		last = *r
		sum.add(m.words, r)
		return m.writer.add(r)
	})
	if err != nil {
		return sum, err
	}
	return sum, end()
}

// Inputs are what was taken in, by their IDs.
func (m *SampleMerge) Inputs() []LakeInput {
	slices.SortFunc(m.inputs, func(a, b LakeInput) int { return strings.Compare(a.ID, b.ID) })
	return m.inputs
}

// Sum is that of all rows.
func (m *SampleMerge) Sum() SampleSum { return m.sum }

// Close removes the temporary file.
func (m *SampleMerge) Close() error { return m.spill.close() }

// cursorMemory is what the buffers of all segments take together.
const cursorMemory = 64 << 20

// Write writes the lake file: sorted by target, path and time, the same rows and inputs giving the same
// bytes.
func (m *SampleMerge) Write(to io.Writer) error {
	inputs, err := json.Marshal(m.Inputs())
	if err != nil {
		return fmt.Errorf("writing the lake's samples: %w", err)
	}
	w := newLakeWriter(to, m.words, string(inputs))
	heap := cursorHeap{words: m.words}
	size := min(max(cursorMemory/max(len(m.segments), 1), 2*maxRowBytes), 64<<10)
	for _, s := range m.segments {
		c := &cursor{from: &m.spill, at: s.begin, end: s.end, store: make([]byte, min(size, int(s.end-s.begin)+maxRowBytes))}
		if ok, err := c.next(); err != nil {
			return err
		} else if ok {
			heap.cursors = append(heap.cursors, c)
		}
	}
	heap.init()
	for len(heap.cursors) > 0 {
		c := heap.cursors[0]
		if err := w.add(&c.row); err != nil {
			return fmt.Errorf("writing the lake's samples: %w", err)
		}
		ok, err := c.next()
		if err != nil {
			return err
		}
		heap.fix(ok)
	}
	if err := w.close(); err != nil {
		return fmt.Errorf("writing the lake's samples: %w", err)
	}
	return nil
}

// cursorHeap has the cursor with the smallest row in front. It is no container/heap, for that costs
// as much again a row as everything else here.
type cursorHeap struct {
	words   *dictionary
	cursors []*cursor
}

func (h *cursorHeap) init() {
	for i := len(h.cursors)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// fix restores the order after the first cursor has moved, or has come to its end.
func (h *cursorHeap) fix(more bool) {
	if !more {
		n := len(h.cursors) - 1
		h.cursors[0] = h.cursors[n]
		h.cursors = h.cursors[:n]
	}
	h.down(0)
}

func (h *cursorHeap) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.cursors); child++ {
			if h.words.compare(&h.cursors[child].row, &h.cursors[least].row) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		h.cursors[i], h.cursors[least] = h.cursors[least], h.cursors[i]
		i = least
	}
}

// lakeWriter writes rows column by column, a row group at a time: rows as structs with pointers take
// several times as long.
type lakeWriter struct {
	w       *parquet.GenericWriter[LakeSample]
	words   *dictionary
	columns [][]parquet.Value
	n       int
}

func newLakeWriter(to io.Writer, words *dictionary, inputs string) *lakeWriter {
	w := &lakeWriter{words: words, w: parquet.NewGenericWriter[LakeSample](to,
		parquet.CreatedBy("isochrone", strconv.Itoa(LakeVersion), "lake"), // never the library's version: the bytes would change with it
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1),
		parquet.MaxRowsPerRowGroup(maxRowsPerRowGroup),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("target"), parquet.Ascending("path"), parquet.Ascending("time"))),
		parquet.KeyValueMetadata(MetaLakeVersion, strconv.Itoa(LakeVersion)),
		parquet.KeyValueMetadata(MetaInputs, inputs),
	)}
	w.columns = make([][]parquet.Value, len(w.w.ColumnWriters()))
	return w
}

func (w *lakeWriter) text(column int, number uint32, definition int) {
	v := parquet.ValueOf(w.words.texts[number]).Level(0, definition, column)
	w.columns[column] = append(w.columns[column], v)
}

func (w *lakeWriter) add(r *lakeRow) error {
	w.text(0, r.target, 0)
	w.text(1, r.path, 0)
	for i, v := range r.numbers {
		column, value := 2+i, parquet.Value{}
		switch {
		case i < lakeRequired:
			value = parquet.Int64Value(v).Level(0, 0, column)
		case v != wire.Null:
			value = parquet.Int64Value(v).Level(0, 1, column)
		default:
			value = parquet.NullValue().Level(0, 0, column)
		}
		w.columns[column] = append(w.columns[column], value)
	}
	const failure = 2 + numberColumns
	if r.failure != 0 {
		w.text(failure, r.failure, 1)
	} else {
		w.columns[failure] = append(w.columns[failure], parquet.NullValue().Level(0, 0, failure))
	}
	w.n++
	if w.n%valuesAtOnce != 0 {
		return nil
	}
	if err := w.values(); err != nil {
		return err
	}
	if w.n%maxRowsPerRowGroup != 0 {
		return nil
	}
	return w.w.Flush()
}

// valuesAtOnce is how many rows are gathered before they are handed over; row groups are a multiple of it.
const valuesAtOnce = 4 << 10

func (w *lakeWriter) values() error {
	for i, c := range w.w.ColumnWriters() {
		if len(w.columns[i]) == 0 {
			continue
		}
		if _, err := c.WriteRowValues(w.columns[i]); err != nil {
			return err
		}
		w.columns[i] = w.columns[i][:0]
	}
	return nil
}

func (w *lakeWriter) close() error {
	if err := w.values(); err != nil {
		return err
	}
	return w.w.Close()
}
