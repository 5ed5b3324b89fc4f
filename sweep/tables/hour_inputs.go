package tables

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// inputFields are the columns of a run that hours are computed from: no others are read, and every one of
// them is in the hash of the inputs.
var inputFields = some(rowFields, slices.Concat([]string{
	"slot", "source", "target", "path", "probe", "kind", "failure", "tool",
	"sent_count", "received_count", "lost_count", "late_count", "duplicate_count", "reordered_count",
	"rtt_min_us", "rtt_mean_us", "rtt_max_us", "loss_ratio", "loss_ratio_low", "degraded",
	"moved_bytes", "throughput_up_bps", "throughput_down_bps", "saturate_best_bps", "stream_receiver_per_s", "load_requests_per_s",
	simulatedColumn,
}, namesOf(failureFields()), namesOf(splitText("rtt_histogram", "", func(r *Row) *string { return &r.RTTHistogram }))))

var inputColumns = namesOf(inputFields)

// HourRuns reads what hours are computed from: the runs of a source with slots from since to before
// until, by target, path and probe, and newest first within a series. Rows have the columns that
// Fingerprint covers and no others.
func (s *Store) HourRuns(ctx context.Context, source string, since, until time.Time) iter.Seq2[Row, error] {
	if source == "" || since.IsZero() || until.IsZero() {
		return failed[Row](fmt.Errorf("reading the runs of hours: %w: want a source, since and until", ErrRefused))
	}
	list, err := s.SeriesOf(ctx, source)
	if err != nil {
		return failed[Row](fmt.Errorf("reading the runs of hours: %w", err))
	}
	months, err := s.months(ctx, runsTables, since, until)
	if err != nil {
		return failed[Row](fmt.Errorf("reading the runs of hours: %w", err))
	}
	return bySeries(ctx, list, until.Sub(since) <= shortTime, func(ctx context.Context, is wire.Series) iter.Seq2[Row, error] {
		keys, err := seriesRange(is, since, until)
		if err != nil {
			return failed[Row](fmt.Errorf("reading the runs of hours: %w: %w", ErrRefused, err))
		}
		var each []iter.Seq2[Row, error]
		for _, table := range months { // newest first
			each = append(each, s.inputs(ctx, table, keys.filter()))
		}
		return chain(each)
	})
}

func (s *Store) inputs(ctx context.Context, table, filter string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for body, err := range s.scan(ctx, table, filter, 0, inputColumns...) {
			var r Row
			if err == nil {
				err = decode(body, inputFields, &r)
			}
			r.Series.Environment = s.environment
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Fingerprint is a hash of all columns of a run that hours are computed from. The mark of simulated runs,
// the last of them, adds nothing where it is absent: no hash of a measured run has changed by it.
func Fingerprint(r *Row) [sha256.Size]byte {
	b := make([]byte, 0, 2048)
	for i := range inputFields {
		v := inputFields[i].get(r)
		if v == nil && inputFields[i].Name == simulatedColumn {
			continue
		}
		b = appendValue(b, v)
	}
	return sha256.Sum256(b)
}

// appendValue writes a value such that no two lists of values give the same bytes.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 0)
	case string:
		b = binary.AppendUvarint(append(b, 1), uint64(len(v)))
		return append(b, v...)
	case int:
		return binary.AppendVarint(append(b, 2), int64(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 3), math.Float64bits(v))
	case bool:
		return strconv.AppendBool(append(b, 5), v)
	case time.Time: // as it is stored, to 100 ns
		return binary.AppendVarint(append(b, 4), v.UTC().Truncate(100*time.Nanosecond).UnixNano())
	default:
		panic(fmt.Sprintf("no column is a %T", v))
	}
}

// RunSources lists the sources that have runs in the months of since to until; zero is no bound.
func (s *Store) RunSources(ctx context.Context, since, until time.Time) ([]string, error) {
	months, err := s.months(ctx, runsTables, since, until)
	if err != nil {
		return nil, fmt.Errorf("looking for sources: %w", err)
	}
	var out []string
	for _, table := range months {
		for last := ""; ; { // from each partition to the next
			filter := ""
			if last != "" {
				filter = "PartitionKey gt '" + last + "'"
			}
			next, err := s.firstPartition(ctx, table, filter)
			if err != nil {
				return nil, fmt.Errorf("looking for sources: %w", err)
			}
			if next == "" {
				break
			}
			out, last = append(out, next), next
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// firstPartition is that of the first row that a filter leaves; empty for none.
func (s *Store) firstPartition(ctx context.Context, table, filter string) (string, error) {
	r, err := s.firstRun(ctx, table, filter)
	if r == nil {
		return "", err
	}
	return r.Series.Source, err
}

// firstRun is the first row that a filter leaves, with its series alone; nil for none.
func (s *Store) firstRun(ctx context.Context, table, filter string) (*Row, error) {
	for body, err := range s.scan(ctx, table, filter, 1, "source", "target", "path", "probe") {
		var r Row
		if err == nil {
			err = decode(body, inputFields, &r)
		}
		r.Series.Environment = s.environment
		if err == nil {
			err = r.Series.Validate()
		}
		return &r, err
	}
	return nil, nil
}

// RunMonths are the first and the end of the last month that have runs; zero where none has.
func (s *Store) RunMonths(ctx context.Context) (since, until time.Time, err error) {
	names, err := s.existing(ctx, runsTables)
	if err != nil || len(names) == 0 {
		return since, until, err
	}
	slices.Sort(names)
	month := func(name string) time.Time { // existing has read it
		m, _ := time.Parse(monthForm, strings.TrimPrefix(name, s.name(runsTables)))
		return m
	}
	return month(names[0]), month(names[len(names)-1]).AddDate(0, 1, 0), nil
}
