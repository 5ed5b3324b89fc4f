package archive

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// SampleMerge makes the lake file of one source, day and probe. It takes some 60 MB of memory whatever the
// number of samples, and on disk some 30 bytes a sample until it is closed.
type SampleMerge struct {
	probe    string
	words    *dictionary
	spill    spill
	writer   segmentWriter
	segments []segment
	inputs   []mergeInput
	sum      SampleSum
}

// mergeInput is an input with its list of runs.
type mergeInput struct {
	LakeInput
	runs []runName
}

// NewSampleMerge begins a merge; what does not fit in memory goes into the folder, the system's for
// temporary files if it is empty.
func NewSampleMerge(probe, folder string) *SampleMerge {
	return &SampleMerge{probe: probe, words: newDictionary(), spill: spill{folder: folder}}
}

// Add takes in a raw file, which must be of the merge's probe.
func (m *SampleMerge) Add(id, md5 string, f *SampleFile) error {
	probe, err := f.Probe()
	if err == nil && probe != m.probe {
		err = fmt.Errorf("%w: it is of probe %q: want %q", ErrRefused, probe, m.probe)
	}
	if err != nil {
		return fmt.Errorf("merging raw samples %q: %w", id, err)
	}
	sum, err := m.take(f, nil)
	if err != nil {
		return fmt.Errorf("merging raw samples %q: %w", id, err)
	}
	in := mergeInput{LakeInput: LakeInput{ID: id, MD5: md5, Slot: f.Runs[0].Slot.UTC().Format(time.RFC3339), Simulated: f.Simulated, SampleSum: sum}}
	for _, r := range f.Runs {
		in.runs = append(in.runs, runName{r.Target, r.Path})
	}
	slices.SortFunc(in.runs, compareRuns)
	m.inputs = append(m.inputs, in)
	m.sum = m.sum.Plus(sum)
	return nil
}

// Keep takes in what a lake file has of some of its inputs, whose raw files are gone. An error says that it
// does not have what its footer says of these.
func (m *SampleMerge) Keep(f *SampleFile, inputs []LakeInput) error {
	var want SampleSum
	only := map[runKey]bool{}
	for _, in := range inputs {
		want = want.Plus(in.SampleSum)
		slot, err := time.Parse(time.RFC3339, in.Slot)
		if err != nil {
			return fmt.Errorf("merging the lake's samples: input %q: %w", in.ID, err)
		}
		for _, r := range f.runs[in.Runs] {
			only[runKey{m.words.number([]byte(r.Target)), m.words.number([]byte(r.Path)), slot.UnixMicro()}] = true
		}
		m.inputs = append(m.inputs, mergeInput{in, f.runs[in.Runs]})
	}
	sum, err := m.take(f, only)
	if err != nil {
		return fmt.Errorf("merging the lake's samples: %w", err)
	}
	if sum != want {
		return fmt.Errorf("merging the lake's samples: of the %d files that are gone it has %+v: want %+v", len(inputs), sum, want)
	}
	m.sum = m.sum.Plus(sum)
	return nil
}

func compareRuns(a, b runName) int {
	return cmp.Or(strings.Compare(a.Target, b.Target), strings.Compare(a.Path, b.Path))
}

// take appends the rows of a file, all or those of some runs, as sorted segments.
func (m *SampleMerge) take(f *SampleFile, only map[runKey]bool) (sum SampleSum, err error) {
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
		if only != nil && !only[runKey{r.target, r.path, r.numbers[atSlot]}] {
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

// Inputs are what was taken in, by their IDs, as the footer has them.
func (m *SampleMerge) Inputs() []LakeInput { return m.footer().Files }

func (m *SampleMerge) footer() (out lakeInputs) {
	for i := range m.inputs {
		out.Runs = append(out.Runs, m.inputs[i].runs)
	}
	order := func(a, b []runName) int { return slices.CompareFunc(a, b, compareRuns) }
	slices.SortFunc(out.Runs, order)
	out.Runs = slices.CompactFunc(out.Runs, func(a, b []runName) bool { return order(a, b) == 0 })
	for _, in := range m.inputs {
		in.Runs, _ = slices.BinarySearchFunc(out.Runs, in.runs, order)
		out.Files = append(out.Files, in.LakeInput)
	}
	slices.SortFunc(out.Files, func(a, b LakeInput) int { return strings.Compare(a.ID, b.ID) })
	return out
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
	inputs, err := json.Marshal(m.footer())
	if err != nil {
		return fmt.Errorf("writing the lake's samples: %w", err)
	}
	simulated := slices.ContainsFunc(m.inputs, func(in mergeInput) bool { return in.Simulated })
	w := newLakeWriter(to, m.words, string(inputs), simulated)
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
