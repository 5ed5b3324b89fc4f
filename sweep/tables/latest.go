package tables

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// PutLatest brings latest forward: for each series an older slot never replaces a newer one,
// and at the same slot a result replaces an expired run, and never the other way round. Foreign
// results are refused: they are not the series that the app measures.
func (s *Store) PutLatest(ctx context.Context, rs []result.Result) error {
	newest := map[wire.Series]*result.Result{}
	for i := range rs {
		r := &rs[i]
		if err := s.checkResult(r); err != nil {
			return fmt.Errorf("storing the latest runs: %w", err)
		}
		if strings.HasPrefix(r.Series.Probe, wire.ForeignPrefix) {
			return fmt.Errorf("storing the latest run of %s: %w: it is foreign", r.Series, ErrRefused)
		}
		if old := newest[r.Series]; old == nil || ageOf(r).supersedes(ageOf(old)) {
			newest[r.Series] = r
		}
	}
	partitions := map[string][]update{}
	for _, r := range newest {
		partition, row, err := latestKey(r.Series)
		if err != nil {
			return fmt.Errorf("storing the latest runs: %w: %w", ErrRefused, err)
		}
		v := RowOf(r)
		e, err := encode(partition, row, rowFields, &v)
		if err != nil {
			return fmt.Errorf("storing the latest runs: %w", err)
		}
		partitions[partition] = append(partitions[partition], update{row, newerThan(ageOf(r), e)})
	}
	for partition, updates := range partitions {
		// Without their histograms the stored rows are a hundredth of the size.
		if err := s.advance(ctx, s.name(latestTable), partition, updates, "slot", "failure"); err != nil {
			return fmt.Errorf("storing the latest runs: %w", err)
		}
	}
	return nil
}

// newerThan decides for e, of the age given, unless what is stored is as new.
func newerThan(a age, e entity) func([]byte) (entity, bool, error) {
	return func(old []byte) (entity, bool, error) {
		if old == nil {
			return e, true, nil
		}
		var was Row
		if err := decode(old, rowFields, &was); err != nil {
			return entity{}, false, err
		}
		return e, a.supersedes(age{was.Slot.Unix(), was.Failure == wire.FailureExpired}), nil
	}
}

// age is what decides which of two runs of a series is the latest.
type age struct {
	second  int64 // of the slot
	expired bool
}

func ageOf(r *result.Result) age { return age{r.Slot.Unix(), r.IsExpired()} }

func (a age) supersedes(old age) bool {
	if a.second != old.second {
		return a.second > old.second
	}
	return old.expired && !a.expired
}

// Latest reads the newest run of each series, of all paths or one, and all probes or one, in
// the order of path, probe, source and target. The rows are without their histograms, which are most of
// what is stored: Runs has them.
func (s *Store) Latest(ctx context.Context, path, probe string) ([]Row, error) {
	if err := (RunQuery{Path: path, Probe: probe}).validate(); err != nil {
		return nil, fmt.Errorf("reading the latest runs: %w", err)
	}
	var filter string
	switch {
	case path != "" && probe != "":
		filter = keyRange{partition: join(path, probe)}.filter()
	case path != "":
		filter = keyRange{partitionPrefix: path + "|"}.filter()
	case probe != "":
		filter = "probe eq '" + probe + "'"
	}
	var out []Row
	for r, err := range scanSelected(ctx, s, s.name(latestTable), filter, latestFields()) {
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = make([]Row, 0, pageRows) // rows are large to copy
		}
		r.Series.Environment = s.environment
		out = append(out, r)
	}
	return out, nil
}

// latestFields are the columns of latest without the histograms.
var latestFields = sync.OnceValue(func() selected[Row] {
	return newSelected(rowFields, slices.DeleteFunc(namesOf(rowFields), func(name string) bool { return strings.Contains(name, "_histogram") }))
})
