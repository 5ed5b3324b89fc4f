package archive

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

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
	// MetaSimulated is "true" where nobody measured one of the runs: a model made it up. Other files do
	// not have it.
	MetaSimulated = "isochrone.simulated"
)

// maxSampleRows is the most rows of a file: ten times what a document may hold.
const maxSampleRows = 10 * wire.MaxSamples

var samplesFile = parquetFile[Sample]{what: "samples", version: SamplesVersion, metaVersion: MetaVersion, maxRows: maxSampleRows}

// Sample is a row of the samples' Parquet files: one planned sample. Nil is null. What the path
// says, source and date, is not repeated inside the file.
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
		runs = append(runs, runText(&rs[i]))
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
	body, err := samplesFile.encode(rows, string(runsText), anySimulated(rs))
	return body, len(rows), err
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
	if rows, err = samplesFile.decode(body); err != nil {
		return nil, err
	}
	for i := range rows { // parquet-go gives local times
		rows[i].Time, rows[i].Slot = rows[i].Time.UTC(), rows[i].Slot.UTC()
	}
	return rows, nil
}
