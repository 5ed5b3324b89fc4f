package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"

	"isochrone/sweep/result"
)

// maxRowsPerRowGroup bounds what a writer and a reader hold in memory, and lets engines read one
// file with several threads.
const maxRowsPerRowGroup = 64 << 10

// parquetFile is how the lake's files of one kind are written. They are sorted by target, path and
// time.
//
// Encodings are the oldest, plain and dictionary in version 1 pages, because not every engine
// that reads the lake knows the newer ones; zstd packs the plain columns well.
type parquetFile[T any] struct {
	what        string // in the footer, and in errors
	version     int
	metaVersion string // the footer's key for version
	maxRows     int
}

// encode writes sorted rows. runs is the footer's list of runs. The same gives the same bytes.
func (p parquetFile[T]) encode(rows []T, runs string, simulated bool) ([]byte, error) {
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out, append(markOf(simulated),
		parquet.CreatedBy("isochrone", strconv.Itoa(p.version), p.what), // never the library's version: the bytes would change with it
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1),
		parquet.MaxRowsPerRowGroup(maxRowsPerRowGroup),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("target"), parquet.Ascending("path"), parquet.Ascending("time"))),
		parquet.KeyValueMetadata(p.metaVersion, strconv.Itoa(p.version)),
		parquet.KeyValueMetadata(MetaRuns, runs),
	)...)
	if _, err := w.Write(rows); err != nil {
		return nil, fmt.Errorf("encoding %d %s: %w", len(rows), p.what, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("encoding %d %s: %w", len(rows), p.what, err)
	}
	return out.Bytes(), nil
}

// decode reads a file. A damaged one is an error. Times are local.
func (p parquetFile[T]) decode(body []byte) (rows []T, err error) {
	defer func() {
		if v := recover(); v != nil { // parquet-go slices by what a damaged file says
			rows, err = nil, fmt.Errorf("reading %s: the file is damaged: %v", p.what, v)
		}
	}()
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p.what, err)
	}
	if v, _ := file.Lookup(p.metaVersion); v != strconv.Itoa(p.version) {
		return nil, fmt.Errorf("reading %s: version %q: this program reads version %d", p.what, v, p.version)
	}
	r := parquet.NewGenericReader[T](file)
	defer func() { _ = r.Close() }()
	if n := r.NumRows(); n < 0 || n > int64(p.maxRows) {
		return nil, fmt.Errorf("reading %s: %w: %d rows: want at most %d", p.what, ErrTooLarge, n, p.maxRows)
	}
	rows = make([]T, r.NumRows())
	if n, err := r.Read(rows); n < len(rows) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("reading %s: %d of %d rows: %w", p.what, n, len(rows), err)
	}
	return rows, nil
}

// markOf is the footer's mark of files with simulated runs.
func markOf(simulated bool) []parquet.WriterOption {
	if !simulated {
		return nil
	}
	return []parquet.WriterOption{parquet.KeyValueMetadata(MetaSimulated, "true")}
}

func anySimulated(rs []result.Result) bool {
	return slices.ContainsFunc(rs, func(r result.Result) bool { return r.Provenance.Simulated })
}

// runText is a run as MetaRuns lists it.
func runText(r *result.Result) string {
	return r.Series.String() + "|" + r.Slot.UTC().Format(time.RFC3339)
}
