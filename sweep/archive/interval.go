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

// IntervalsVersion is the version of the intervals' schema. A change edits docs/formats.md and the
// golden schema of the tests with it.
const IntervalsVersion = 1

// MetaIntervalsVersion is the footer's key of IntervalsVersion. The runs of the file are under
// MetaRuns.
const MetaIntervalsVersion = "isochrone.intervals.version"

// maxIntervalRows is the most rows of a file: ten times what a document may hold.
const maxIntervalRows = 10 * (2*wire.MaxFlowIntervals + wire.MaxLevels)

var intervalsFile = parquetFile[Interval]{what: "intervals", version: IntervalsVersion, metaVersion: MetaIntervalsVersion, maxRows: maxIntervalRows}

// Interval is a row of the intervals' Parquet files: an interval of one direction of a throughput
// run, an interval of a stream, or a level of a saturate run. Nil is null: unknown, or another kind's.
// What the path says, source and date, is not repeated inside the file.
type Interval struct {
	Target string `parquet:"target,dict"`
	Path   string `parquet:"path,dict"`
	// Time is when it began, to the microsecond.
	Time  time.Time `parquet:"time,timestamp(microsecond:utc)"`
	Probe string    `parquet:"probe,dict"`
	Slot  time.Time `parquet:"slot,timestamp(microsecond:utc)"`
	Kind  string    `parquet:"kind,dict"`
	// Direction is up or down, of throughput.
	Direction *string `parquet:"direction,optional,dict"`
	Seq       int64   `parquet:"seq"` // from 0, of each direction
	// AtNS counts from the run's start, by the source's monotonic clock. Of a level it is the sum of
	// those before: levels follow each other.
	AtNS  int64  `parquet:"at_ns"`
	ForNS int64  `parquet:"for_ns"`
	Bytes *int64 `parquet:"bytes,optional"` // payload received, of a level that of its transfers
	// Of the sender's kernel, at the interval's end.
	RTTNS            *int64 `parquet:"rtt_ns,optional"` // mean over the streams; of the others the sum
	CongestionWindow *int64 `parquet:"congestion_window_bytes,optional"`
	Retransmits      *int64 `parquet:"retransmits,optional"` // segments, since the beginning
	DeliveryRateBPS  *int64 `parquet:"delivery_rate_bps,optional"`
	// Messages of a stream.
	Sent     *int64 `parquet:"sent,optional"`
	Received *int64 `parquet:"received,optional"`
	Backlog  *int64 `parquet:"backlog,optional"` // at the interval's end
	// A level: requests under way, those answered, and their response times.
	Outstanding *int64 `parquet:"outstanding,optional"`
	Requests    *int64 `parquet:"requests,optional"`
	MinNS       *int64 `parquet:"min_ns,optional"`
	MeanNS      *int64 `parquet:"mean_ns,optional"`
	P50NS       *int64 `parquet:"p50_ns,optional"`
	P99NS       *int64 `parquet:"p99_ns,optional"`
	MaxNS       *int64 `parquet:"max_ns,optional"`
	// The requests by response time, each band up to its end: wire.BandEndsMS.
	Under1    *int64 `parquet:"under_1_ms,optional"`
	Under2    *int64 `parquet:"under_2_ms,optional"`
	Under5    *int64 `parquet:"under_5_ms,optional"`
	Under10   *int64 `parquet:"under_10_ms,optional"`
	Under20   *int64 `parquet:"under_20_ms,optional"`
	Under50   *int64 `parquet:"under_50_ms,optional"`
	Under100  *int64 `parquet:"under_100_ms,optional"`
	Under200  *int64 `parquet:"under_200_ms,optional"`
	Under500  *int64 `parquet:"under_500_ms,optional"`
	Under1000 *int64 `parquet:"under_1000_ms,optional"`
	Under2000 *int64 `parquet:"under_2000_ms,optional"`
	Over      *int64 `parquet:"from_2000_ms,optional"`
}

// bands are the places of the bands, in the order of wire.BandEndsMS.
func (v *Interval) bands() []**int64 {
	return []**int64{&v.Under1, &v.Under2, &v.Under5, &v.Under10, &v.Under20, &v.Under50, &v.Under100, &v.Under200, &v.Under500, &v.Under1000, &v.Under2000, &v.Over}
}

// EncodeIntervals makes the Parquet file of results' intervals and levels, sorted by target, path and
// time, and says how many rows it has. The same results give the same bytes, in whatever order.
func EncodeIntervals(rs []result.Result) ([]byte, int, error) {
	var rows []Interval
	var runs []string
	for i := range rs {
		var err error
		if rows, err = appendIntervals(rows, &rs[i]); err != nil {
			return nil, 0, fmt.Errorf("encoding the intervals of %s: %w: %w", rs[i].Series, ErrRefused, err)
		}
		if len(rows) > maxIntervalRows {
			return nil, 0, fmt.Errorf("encoding intervals: %w: %w: more than %d rows", ErrRefused, ErrTooLarge, maxIntervalRows)
		}
		runs = append(runs, runText(&rs[i]))
	}
	slices.SortStableFunc(rows, func(a, b Interval) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path), a.Time.Compare(b.Time),
			cmp.Compare(a.Probe, b.Probe), a.Slot.Compare(b.Slot), cmp.Compare(word(a.Direction), word(b.Direction)), cmp.Compare(a.Seq, b.Seq))
	})
	slices.Sort(runs)
	runsText, err := json.Marshal(runs)
	if err != nil {
		return nil, 0, fmt.Errorf("encoding intervals: %w", err)
	}
	body, err := intervalsFile.encode(rows, string(runsText), anySimulated(rs))
	return body, len(rows), err
}

func word(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// appendIntervals appends the intervals and levels of one run.
func appendIntervals(rows []Interval, r *result.Result) ([]Interval, error) {
	b := r.Run.Bulk
	if b == nil {
		return rows, nil
	}
	start := r.Run.PlannedStart
	if r.Run.Start != nil {
		start = *r.Run.Start
	}
	row := func(seq int, at, lasting int64) Interval {
		return Interval{Target: r.Series.Target, Path: r.Series.Path, Probe: r.Series.Probe, Slot: r.Slot.UTC(), Kind: string(r.Run.Kind),
			Time: start.Add(time.Duration(at)).UTC().Truncate(time.Microsecond), Seq: int64(seq), AtNS: at, ForNS: lasting}
	}
	series := func(v *wire.Intervals, direction string) error {
		for _, c := range v.Columns() {
			if n := len(*c.Values); n != len(v.AtNS) && !(c.Optional && n == 0) {
				return fmt.Errorf("%s has %d entries, at_ns has %d", c.Name, n, len(v.AtNS))
			}
		}
		for i := range v.AtNS {
			out := row(i, v.AtNS[i], v.ForNS[i])
			if direction != "" {
				out.Direction = &direction
			}
			out.Bytes, out.RTTNS, out.CongestionWindow = entry(v.Bytes, i), entry(v.RTTNS, i), entry(v.CongestionWindow, i)
			out.Retransmits, out.DeliveryRateBPS = entry(v.Retransmits, i), entry(v.DeliveryRateBPS, i)
			out.Sent, out.Received, out.Backlog = entry(v.Sent, i), entry(v.Received, i), entry(v.Backlog, i)
			rows = append(rows, out)
		}
		return nil
	}
	for i := range b.Flows {
		if err := series(&b.Flows[i].Intervals, string(b.Flows[i].Direction)); err != nil {
			return nil, err
		}
	}
	if b.Stream != nil {
		if err := series(&b.Stream.Intervals, ""); err != nil {
			return nil, err
		}
	}
	at := int64(0)
	for i := range b.Levels {
		l := &b.Levels[i]
		out := row(i, at, l.CountedNS)
		out.level(l)
		rows = append(rows, out)
		at += l.CountedNS
	}
	return rows, nil
}

func (v *Interval) level(l *wire.Level) {
	n := func(i int) *int64 { w := int64(i); return &w }
	v.Outstanding, v.Requests, v.Bytes = n(l.Outstanding), n(l.Requests), &l.Bytes
	if l.Requests > 0 {
		v.MinNS, v.MeanNS, v.P50NS, v.P99NS, v.MaxNS = &l.MinNS, &l.MeanNS, &l.P50NS, &l.P99NS, &l.MaxNS
	}
	for i, at := range v.bands() {
		if i < len(l.Bands) {
			*at = n(l.Bands[i])
		}
	}
}

// DecodeIntervals reads an intervals' Parquet file. A damaged file is an error.
func DecodeIntervals(body []byte) (rows []Interval, err error) {
	if rows, err = intervalsFile.decode(body); err != nil {
		return nil, err
	}
	for i := range rows { // parquet-go gives local times
		rows[i].Time, rows[i].Slot = rows[i].Time.UTC(), rows[i].Slot.UTC()
	}
	return rows, nil
}
