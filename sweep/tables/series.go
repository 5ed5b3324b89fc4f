package tables

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
)

// Runs and hours are kept by series, and what is asked for most is a short time of all series of a source.
// A filter on the time has the service look through all that the source has in the month or the year;
// so the series are kept, and the time is read from each.

var keptSeriesFields = []field[wire.Series]{
	text("source", "who measures", func(s *wire.Series) *string { return &s.Source }),
	text("target", "who is measured", func(s *wire.Series) *string { return &s.Target }),
	text("path", "on which path", func(s *wire.Series) *string { return &s.Path }),
	text("probe", "with which probe", func(s *wire.Series) *string { return &s.Probe }),
}

// mostKnown bounds the series that a process remembers. Foreign ones are named by whoever sends them.
const mostKnown = 200_000

// knownSeries are the series that a process has seen stored.
type knownSeries struct {
	mu  sync.Mutex
	set map[wire.Series]bool
}

// unknown are those of a list that are not known, each once.
func (k *knownSeries) unknown(list iter.Seq[wire.Series]) []wire.Series {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []wire.Series
	seen := map[wire.Series]bool{}
	for s := range list {
		if !k.set[s] && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func (k *knownSeries) add(list []wire.Series) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.set == nil || len(k.set)+len(list) > mostKnown {
		k.set = map[wire.Series]bool{}
	}
	for _, s := range list {
		k.set[s] = true
	}
}

func seriesRow(s wire.Series) string { return join(s.Target, s.Path, s.Probe) }

// keepSeries sees that series are stored, before anything of theirs is: a crash after it leaves a series
// without rows, which is no fault.
func (s *Store) keepSeries(ctx context.Context, list iter.Seq[wire.Series]) error {
	missing := s.known.unknown(list)
	if len(missing) == 0 {
		return nil
	}
	ops := make([]operation, len(missing))
	for i := range missing {
		if err := missing[i].Validate(); err != nil {
			return fmt.Errorf("keeping the series: %w: %w", ErrRefused, err)
		}
		partition, row, err := checked(missing[i].Source, seriesRow(missing[i]))
		if err != nil {
			return fmt.Errorf("keeping the series: %w: %w", ErrRefused, err)
		}
		e, err := encode(partition, row, keptSeriesFields, &missing[i])
		if err != nil {
			return fmt.Errorf("keeping the series: %w", err)
		}
		ops[i] = operation{entity: e, kind: aztables.TransactionTypeInsertReplace}
	}
	if err := s.write(ctx, s.name(seriesTable), ops); err != nil {
		return fmt.Errorf("keeping the series: %w", err)
	}
	s.known.add(missing)
	return nil
}

// FindSeries keeps the series that a source has runs of in the months of since to until: those of a version
// that kept none. It goes from each series to the next, and so asks once for each.
func (s *Store) FindSeries(ctx context.Context, source string, since, until time.Time) error {
	if err := wire.ValidateName("source", source); err != nil {
		return fmt.Errorf("looking for the series of a source: %w: %w", ErrRefused, err)
	}
	months, err := s.months(ctx, runsTables, since, until)
	if err != nil {
		return fmt.Errorf("looking for the series of %q: %w", source, err)
	}
	for _, table := range months {
		keys := keyRange{partition: source}
		for {
			row, err := s.firstRun(ctx, table, keys.filter())
			if err == nil && row != nil {
				err = s.keepSeries(ctx, slices.Values([]wire.Series{row.Series}))
			}
			if err != nil {
				return fmt.Errorf("looking for the series of %q: %w", source, err)
			}
			if row == nil {
				break
			}
			keys.rowFrom = after(seriesRow(row.Series) + "|")
		}
	}
	return nil
}

// SeriesOf lists the series of a source that ever had a run, in the order of the keys of their runs.
func (s *Store) SeriesOf(ctx context.Context, source string) ([]wire.Series, error) {
	if err := wire.ValidateName("source", source); err != nil {
		return nil, fmt.Errorf("listing the series of a source: %w: %w", ErrRefused, err)
	}
	out, err := collect(scanAs(ctx, s, s.name(seriesTable), keyRange{partition: source}.filter(), 0, keptSeriesFields))
	if err != nil {
		return nil, fmt.Errorf("listing the series of %q: %w", source, err)
	}
	for i := range out {
		out[i].Environment = s.environment
	}
	// A probe's name that begins another's comes after it where the slot follows.
	slices.SortFunc(out, func(a, b wire.Series) int { return strings.Compare(seriesRow(a)+"|", seriesRow(b)+"|") })
	return out, nil
}

// seriesIn are the series of a query's source that it asks for.
func (s *Store) seriesIn(ctx context.Context, q RunQuery) ([]wire.Series, error) {
	if q.series() {
		return []wire.Series{{Environment: s.environment, Source: q.Source, Target: q.Target, Path: q.Path, Probe: q.Probe}}, nil
	}
	all, err := s.SeriesOf(ctx, q.Source)
	return slices.DeleteFunc(all, func(is wire.Series) bool {
		return q.Target != "" && q.Target != is.Target || q.Path != "" && q.Path != is.Path || q.Probe != "" && q.Probe != is.Probe
	}), err
}

const (
	// seriesAtOnce is how many series are read at a time, and kept until it is their turn.
	seriesAtOnce = 8
	// shortTime is up to what a time is read from several series at once: of a longer one each has pages.
	shortTime = 26 * time.Hour
)

// bySeries reads something of each series, in their order, which is that of the keys: of a short time
// from several at once.
func bySeries[T any](ctx context.Context, list []wire.Series, short bool, read func(context.Context, wire.Series) iter.Seq2[T, error]) iter.Seq2[T, error] {
	if !short {
		return func(yield func(T, error) bool) {
			for _, is := range list {
				for v, err := range read(ctx, is) {
					if !yield(v, err) || err != nil {
						return
					}
				}
			}
		}
	}
	return func(yield func(T, error) bool) {
		for part := range slices.Chunk(list, seriesAtOnce) {
			got := make([][]T, len(part))
			g, ctx := errgroup.WithContext(ctx)
			for i, is := range part {
				g.Go(func() (err error) {
					got[i], err = collect(read(ctx, is))
					return err
				})
			}
			if err := g.Wait(); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, of := range got {
				for _, v := range of {
					if !yield(v, nil) {
						return
					}
				}
			}
		}
	}
}

// seriesRange is the part of a series' rows, of runs or hours, that lies in a time.
func seriesRange(is wire.Series, since, until time.Time) (keyRange, error) {
	first, err := rev(ceilSecond(until).Add(-time.Second))
	if err != nil {
		return keyRange{}, err
	}
	last, err := rev(ceilSecond(since))
	if err != nil {
		return keyRange{}, err
	}
	prefix := seriesRow(is) + "|"
	return keyRange{partition: is.Source, rowFrom: prefix + first, rowBefore: prefix + last + "!"}, nil // behind the key itself
}

func allSeries[T any](list []T, of func(*T) wire.Series) iter.Seq[wire.Series] {
	return func(yield func(wire.Series) bool) {
		for i := range list {
			if !yield(of(&list[i])) {
				return
			}
		}
	}
}
