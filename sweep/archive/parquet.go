package archive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// SamplesVersion is the version of the samples' schema. A change edits docs/formats.md and the
// golden schema of the tests with it.
const SamplesVersion = 1

// Keys of the footer's metadata.
const (
	// MetaVersion holds SamplesVersion.
	MetaVersion = "isochrone.samples.version"
	// MetaRuns holds the runs of the file, a JSON array of environment|source|target|path|probe|slot,
	// slots in RFC 3339. Runs without samples are in it.
	MetaRuns = "isochrone.runs"
)

// maxRowsPerRowGroup bounds what a writer and a reader hold in memory, and lets engines read one
// file with several threads.
const maxRowsPerRowGroup = 64 << 10

// maxSampleRows is the most rows of a file: ten times what a document may hold.
const maxSampleRows = 10 * wire.MaxSamples

// Sample is a row of the samples' Parquet files: one planned sample. Nil is null. What the path
// says, source and date, is not repeated inside the file.
//
// Encodings are the oldest, plain and dictionary in version 1 pages, because not every engine
// that reads the lake knows the newer ones; zstd packs the plain columns well.
type Sample struct {
	Target string `parquet:"target,dict"`
	Path   string `parquet:"path,dict"`
	// Time is when the sample was due, to the microsecond.
	Time  time.Time `parquet:"time,timestamp(microsecond:utc)"`
	Probe string    `parquet:"probe,dict"`
	Slot  time.Time `parquet:"slot,timestamp(microsecond:utc)"`
	Seq   int64     `parquet:"seq"`
	// DueNS and SentNS count from the run's start, by the source's monotonic clock.
	DueNS  int64  `parquet:"due_ns"`
	SentNS *int64 `parquet:"sent_ns,optional"` // null: not sent
	// RTTNS is the round trip; null: no reply in time. That of tcp and http includes the target's
	// ServerNS, that of udp does not.
	RTTNS    *int64 `parquet:"rtt_ns,optional"`
	ServerNS *int64 `parquet:"server_ns,optional"`
	// ForwardNS and ReverseNS are one-way delays as measured: they hold the clock offset.
	ForwardNS *int64 `parquet:"forward_ns,optional"`
	ReverseNS *int64 `parquet:"reverse_ns,optional"`
	// ClientNS is what the source's program saw beyond the kernel's round trip.
	ClientNS *int64 `parquet:"client_ns,optional"`
	// The phases of an http request.
	DNSNS       *int64  `parquet:"dns_ns,optional"`
	ConnectNS   *int64  `parquet:"connect_ns,optional"`
	TLSNS       *int64  `parquet:"tls_ns,optional"`
	FirstByteNS *int64  `parquet:"first_byte_ns,optional"`
	Failure     *string `parquet:"failure,optional,dict"` // null exactly when RTTNS is not
}

// EncodeSamples makes the Parquet file of results' samples, sorted by target, path and time, and
// says how many rows it has. The same results give the same bytes, in whatever order.
func EncodeSamples(rs []result.Result) ([]byte, int, error) {
	n := 0
	for i := range rs {
		n += rs[i].Run.Samples.Len()
	}
	if n > maxSampleRows {
		return nil, 0, fmt.Errorf("encoding samples: %w: %w: %d rows: want at most %d", ErrRefused, ErrTooLarge, n, maxSampleRows)
	}
	rows := make([]Sample, 0, n) // at once: growing it would hold several times as much
	runs := make([]string, 0, len(rs))
	for i := range rs {
		var err error
		if rows, err = appendSamples(rows, &rs[i]); err != nil {
			return nil, 0, fmt.Errorf("encoding the samples of %s: %w", rs[i].Series, err)
		}
		runs = append(runs, rs[i].Series.String()+"|"+rs[i].Slot.UTC().Format(time.RFC3339))
	}
	slices.SortStableFunc(rows, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path), a.Time.Compare(b.Time),
			cmp.Compare(a.Probe, b.Probe), a.Slot.Compare(b.Slot), cmp.Compare(a.Seq, b.Seq))
	})
	slices.Sort(runs)
	runsText, err := json.Marshal(runs)
	if err != nil {
		return nil, 0, fmt.Errorf("encoding samples: %w", err)
	}
	var out bytes.Buffer
	w := parquet.NewGenericWriter[Sample](&out,
		parquet.CreatedBy("isochrone", strconv.Itoa(SamplesVersion), "samples"), // never the library's version: the bytes would change with it
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1),
		parquet.MaxRowsPerRowGroup(maxRowsPerRowGroup),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("target"), parquet.Ascending("path"), parquet.Ascending("time"))),
		parquet.KeyValueMetadata(MetaVersion, strconv.Itoa(SamplesVersion)),
		parquet.KeyValueMetadata(MetaRuns, string(runsText)),
	)
	if _, err := w.Write(rows); err != nil {
		return nil, 0, fmt.Errorf("encoding %d samples: %w", len(rows), err)
	}
	if err := w.Close(); err != nil {
		return nil, 0, fmt.Errorf("encoding %d samples: %w", len(rows), err)
	}
	return out.Bytes(), len(rows), nil
}

// appendSamples appends the samples of one run.
func appendSamples(rows []Sample, r *result.Result) ([]Sample, error) {
	s := &r.Run.Samples
	n := s.Len()
	if err := s.ValidateLengths(); err != nil {
		return nil, err
	}
	start := r.Run.PlannedStart // of a run that was not made
	if r.Run.Start != nil {
		start = *r.Run.Start
	}
	for i := range n {
		row := Sample{
			Target: r.Series.Target, Path: r.Series.Path, Probe: r.Series.Probe, Slot: r.Slot.UTC(),
			Time: start.Add(time.Duration(s.DueNS[i])).UTC().Truncate(time.Microsecond),
			Seq:  s.Sequence[i], DueNS: s.DueNS[i], SentNS: entry(s.SentNS, i), RTTNS: entry(s.RTTNS, i),
			ServerNS: entry(s.ServerNS, i), ForwardNS: entry(s.ForwardNS, i), ReverseNS: entry(s.ReverseNS, i),
			ClientNS: entry(s.ClientNS, i), DNSNS: entry(s.DNSNS, i), ConnectNS: entry(s.ConnectNS, i),
			TLSNS: entry(s.TLSNS, i), FirstByteNS: entry(s.FirstByteNS, i),
		}
		if f := string(s.Failure[i]); f != "" {
			row.Failure = &f
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// entry is a column's entry, nil where there is none.
func entry(c wire.Column, i int) *int64 {
	if len(c) == 0 || c[i] == wire.Null {
		return nil
	}
	return &c[i]
}

// DecodeSamples reads a samples' Parquet file. A damaged file is an error.
func DecodeSamples(body []byte) (rows []Sample, err error) {
	defer func() {
		if v := recover(); v != nil { // parquet-go slices by what a damaged file says
			rows, err = nil, fmt.Errorf("reading samples: the file is damaged: %v", v)
		}
	}()
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, fmt.Errorf("reading samples: %w", err)
	}
	if v, _ := file.Lookup(MetaVersion); v != strconv.Itoa(SamplesVersion) {
		return nil, fmt.Errorf("reading samples: version %q: this program reads version %d", v, SamplesVersion)
	}
	r := parquet.NewGenericReader[Sample](file)
	defer func() { _ = r.Close() }()
	if n := r.NumRows(); n < 0 || n > maxSampleRows {
		return nil, fmt.Errorf("reading samples: %w: %d rows: want at most %d", ErrTooLarge, n, maxSampleRows)
	}
	rows = make([]Sample, r.NumRows())
	if n, err := r.Read(rows); n < len(rows) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("reading samples: %d of %d rows: %w", n, len(rows), err)
	}
	for i := range rows { // parquet-go gives local times
		rows[i].Time, rows[i].Slot = rows[i].Time.UTC(), rows[i].Slot.UTC()
	}
	return rows, nil
}
