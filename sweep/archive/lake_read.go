package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"isochrone/prober/wire"
)

// maxGroupRows bounds what a row group may take in memory: ours have maxRowsPerRowGroup.
const maxGroupRows = 1 << 20

// LakeInput is a raw file that is in a lake file.
type LakeInput struct {
	// ID is its slot's time of day and its assignment, HHmm_<assignment id>.
	ID string `json:"id"`
	// MD5 is that of its bytes, in hexadecimal.
	MD5 string `json:"md5"`
	// Slot is that of its runs, RFC 3339, and Runs says which of the footer's lists their targets and paths are.
	Slot string `json:"slot"`
	Runs int    `json:"runs"`
	// Simulated says that nobody measured them: a model made them up.
	Simulated bool `json:"simulated,omitempty"`
	// SampleSum is that of its rows of the lake file's probe.
	SampleSum
}

// SampleFile is a Parquet file of samples, raw or of the lake, that is read a row group at a time.
type SampleFile struct {
	file *parquet.File
	// Rows is how many it says that it has.
	Rows int64
	// Simulated says that nobody measured some of it: a model made it up.
	Simulated bool
	// Runs are the runs of a raw file.
	Runs []SampleRun
	// Inputs are what a lake file was made of, by their IDs.
	Inputs []LakeInput
	runs   [][]runName // the lists of the inputs
}

// lakeInputs is MetaInputs. Nearly all files of a probe have the same runs but for the slot, so a list is
// there once.
type lakeInputs struct {
	Runs  [][]runName `json:"runs"`
	Files []LakeInput `json:"files"`
}

// runName is a run of a known slot and probe.
type runName struct {
	Target string `json:"target"`
	Path   string `json:"path"`
}

// SampleRun is a run that a raw file lists.
type SampleRun struct {
	Target, Path, Probe string
	Slot                time.Time
}

// OpenRawSamples reads the footer of a raw file. A damaged file is an error.
func OpenRawSamples(r io.ReaderAt, size int64) (*SampleFile, error) {
	f, err := openSamples(r, size, MetaVersion, SamplesVersion)
	if err != nil {
		return nil, err
	}
	text, _ := f.file.Lookup(MetaRuns)
	var runs []string
	if err := json.Unmarshal([]byte(text), &runs); err != nil {
		return nil, fmt.Errorf("reading samples: their runs: %w", err)
	}
	for _, run := range runs {
		parts := strings.Split(run, "|") // environment, source, target, path, probe, slot
		if len(parts) != 6 {
			return nil, fmt.Errorf("reading samples: run %q: want six parts", run)
		}
		slot, err := time.Parse(time.RFC3339, parts[5])
		if err == nil {
			err = wire.ValidateName("probe", parts[4])
		}
		if err != nil {
			return nil, fmt.Errorf("reading samples: run %q: %w", run, err)
		}
		f.Runs = append(f.Runs, SampleRun{parts[2], parts[3], parts[4], slot})
	}
	return f, nil
}

// Probe is that of a raw file's runs: an assignment has one, and one slot. It is empty where there are no runs.
func (f *SampleFile) Probe() (probe string, err error) {
	for _, r := range f.Runs {
		if first := f.Runs[0]; r.Probe != first.Probe || !r.Slot.Equal(first.Slot) {
			return "", fmt.Errorf("reading samples: %w: runs of %q at %s and of %q at %s in one file", ErrRefused, first.Probe, first.Slot, r.Probe, r.Slot)
		}
		probe = r.Probe
	}
	if probe == "" && f.Rows > 0 {
		return "", fmt.Errorf("reading samples: %w: %d rows of no run", ErrRefused, f.Rows)
	}
	return probe, nil
}

// OpenLakeSamples reads the footer of a lake file. A damaged file is an error.
func OpenLakeSamples(r io.ReaderAt, size int64) (*SampleFile, error) {
	f, err := openSamples(r, size, MetaLakeVersion, LakeVersion)
	if err != nil {
		return nil, err
	}
	text, _ := f.file.Lookup(MetaInputs)
	var inputs lakeInputs
	if err := json.Unmarshal([]byte(text), &inputs); err != nil {
		return nil, fmt.Errorf("reading samples: their inputs: %w", err)
	}
	for _, in := range inputs.Files {
		if in.Runs < 0 || in.Runs >= len(inputs.Runs) {
			return nil, fmt.Errorf("reading samples: input %q has list %d of %d", in.ID, in.Runs, len(inputs.Runs))
		}
	}
	f.Inputs, f.runs = inputs.Files, inputs.Runs
	return f, nil
}

func openSamples(r io.ReaderAt, size int64, key string, version int, options ...parquet.FileOption) (f *SampleFile, err error) {
	defer func() {
		if v := recover(); v != nil { // parquet-go slices by what a damaged file says
			f, err = nil, fmt.Errorf("reading samples: the file is damaged: %v", v)
		}
	}()
	file, err := parquet.OpenFile(r, size, append(options, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(64<<10))...)
	if err != nil {
		return nil, fmt.Errorf("reading samples: %w", err)
	}
	if v, _ := file.Lookup(key); v != strconv.Itoa(version) {
		return nil, fmt.Errorf("reading samples: %s %q: this program reads version %d", key, v, version)
	}
	mark, _ := file.Lookup(MetaSimulated)
	return &SampleFile{file: file, Rows: file.NumRows(), Simulated: mark == "true"}, nil
}

// Sum reads all rows of a lake file and sums them up.
func (f *SampleFile) Sum() (sum SampleSum, err error) {
	d := newDictionary()
	err = f.each(d, "", func(r *lakeRow) error { sum.add(d, r); return nil })
	return sum, err
}

// each gives the rows of one probe in the file's order; of all without one. The row is valid until the next.
func (f *SampleFile) each(d *dictionary, probe string, take func(*lakeRow) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("reading samples: the file is damaged: %v", v)
		}
	}()
	var g groupReader
	for _, group := range f.file.RowGroups() {
		if err := g.read(d, f.file.Schema(), group, probe); err != nil {
			return fmt.Errorf("reading samples: %w", err)
		}
		for i := range g.n {
			if g.probes != nil && g.probes[i] != g.probe {
				continue
			}
			row := lakeRow{target: g.texts[0][i], path: g.texts[1][i], failure: g.texts[2][i]}
			for c := range g.numbers {
				row.numbers[c] = g.numbers[c][i]
			}
			if err := take(&row); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupReader holds the columns of one row group.
type groupReader struct {
	n       int
	texts   [3][]uint32 // target, path, failure
	probes  []uint32    // nil: all rows are wanted
	probe   uint32
	numbers [numberColumns][]int64
	buffer  [1024]parquet.Value
}

func (g *groupReader) read(d *dictionary, schema *parquet.Schema, group parquet.RowGroup, probe string) error {
	rows := group.NumRows()
	if rows < 0 || rows > maxGroupRows {
		return fmt.Errorf("%w: a row group of %d rows: want at most %d", ErrTooLarge, rows, maxGroupRows)
	}
	g.n = int(rows)
	chunks := group.ColumnChunks()
	find := func(name string) parquet.ColumnChunk {
		if leaf, ok := schema.Lookup(name); ok {
			return chunks[leaf.ColumnIndex]
		}
		return nil // an older file
	}
	for i, name := range []string{"target", "path", "failure"} {
		var err error
		if g.texts[i], err = g.readTexts(d, name, find(name), g.texts[i]); err != nil {
			return err
		}
	}
	if g.probes = nil; probe != "" {
		if chunk := find("probe"); chunk != nil {
			var err error
			if g.probes, err = g.readTexts(d, "probe", chunk, nil); err != nil {
				return err
			}
			g.probe = d.number([]byte(probe))
		}
	}
	for i, name := range lakeNumbers {
		chunk := find(name)
		if chunk == nil && i < lakeRequired {
			return fmt.Errorf("column %q is missing", name)
		}
		var err error
		if g.numbers[i], err = g.readNumbers(name, chunk, g.numbers[i], i < lakeRequired); err != nil {
			return err
		}
	}
	return nil
}

func (g *groupReader) readTexts(d *dictionary, name string, chunk parquet.ColumnChunk, into []uint32) ([]uint32, error) {
	into = slices.Grow(into[:0], g.n)
	last, lastNumber := "", uint32(0)
	err := g.values(name, chunk, func(vs []parquet.Value) error {
		for i := range vs {
			n := uint32(0)
			if !vs[i].IsNull() {
				if vs[i].Kind() != parquet.ByteArray {
					return fmt.Errorf("column %q is no text", name)
				}
				if text := vs[i].ByteArray(); string(text) == last {
					n = lastNumber
				} else {
					n = d.number(text)
					last, lastNumber = d.texts[n], n
				}
			} else if name != "failure" {
				return fmt.Errorf("column %q has a null", name)
			}
			into = append(into, n)
		}
		return nil
	}, func() { into = append(into, 0) })
	return into, err
}

func (g *groupReader) readNumbers(name string, chunk parquet.ColumnChunk, into []int64, required bool) ([]int64, error) {
	into = slices.Grow(into[:0], g.n)
	err := g.values(name, chunk, func(vs []parquet.Value) error {
		for i := range vs {
			v := wire.Null
			if !vs[i].IsNull() {
				if vs[i].Kind() != parquet.Int64 {
					return fmt.Errorf("column %q is no 64-bit number", name)
				}
				v = vs[i].Int64()
			}
			if required && v == wire.Null {
				return fmt.Errorf("column %q has a null", name)
			}
			into = append(into, v)
		}
		return nil
	}, func() { into = append(into, wire.Null) })
	return into, err
}

// values gives a column's values, or calls null for each row of a column that the file does not have.
func (g *groupReader) values(name string, chunk parquet.ColumnChunk, take func([]parquet.Value) error, null func()) error {
	if chunk == nil {
		for range g.n {
			null()
		}
		return nil
	}
	pages := chunk.Pages()
	defer func() { _ = pages.Close() }() // it was read
	total := 0
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
		values := page.Values()
		for err == nil {
			var n int
			n, err = values.ReadValues(g.buffer[:])
			if total += n; total > g.n {
				err = fmt.Errorf("more than %d values", g.n)
			} else if failed := take(g.buffer[:n]); failed != nil {
				err = failed
			} else if n == 0 && err == nil {
				err = io.ErrNoProgress
			}
		}
		parquet.Release(page)
		if !errors.Is(err, io.EOF) {
			return fmt.Errorf("column %q: %w", name, err)
		}
	}
	if total != g.n {
		return fmt.Errorf("column %q: %d values of %d rows: %w", name, total, g.n, io.ErrUnexpectedEOF)
	}
	return nil
}
