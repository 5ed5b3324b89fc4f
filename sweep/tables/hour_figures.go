package tables

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// HourSelection says which columns of hours are read. What is not read is absent in the Hour.
type HourSelection int

// The selections.
const (
	// AllColumns is every column.
	AllColumns HourSelection = iota
	// Levels are the least and the median round trip, of how many, and the counts of runs.
	Levels
	// Figures are Levels, and the other figures of round trips, loss and throughput.
	Figures
	// FiguresAndHistograms are Figures with the histograms, from which quantiles of more than an hour come: half of
	// what is stored.
	FiguresAndHistograms
	// Histograms are Levels with the largest round trip and the histograms.
	Histograms
)

var (
	levelColumns  = []string{"hour", "kind", "run_count", "runs_degraded_count", "runs_simulated_count", "received_count", "rtt_min_us", "rtt_p50_us"}
	figureColumns = append(append([]string{}, levelColumns...), "rtt_mean_us", "rtt_p90_us", "rtt_p95_us", "rtt_p99_us", "rtt_p999_us", "rtt_max_us",
		"sent_count", "lost_count", "loss_sent_count", "loss_ratio", "loss_ratio_low", "loss_ratio_high", "throughput_up_count", "throughput_up_median_bps",
		"throughput_down_count", "throughput_down_median_bps", "saturate_best_median_bps")

	levelFields     = newSelected(levelColumns)
	figureFields    = newSelected(figureColumns)
	figureHistogram = newSelected(append(append([]string{}, figureColumns...), histogramColumns()...))
	histogramFields = newSelected(append(append([]string{}, levelColumns...), append(histogramColumns(), "rtt_max_us")...))
)

// selected are some of the columns of hours, and where each is among them.
type selected struct {
	fields []field[Hour]
	at     map[string]int
}

func newSelected(names []string) selected {
	out := selected{fields: some(hourFields, names), at: map[string]int{}}
	for i, f := range out.fields {
		out.at[f.Name] = i
	}
	return out
}

// decode sets what raw values of the fields there are, in the order of the fields: a text may go on in the next.
func (s selected) decode(raw [][]byte) (h Hour, err error) {
	for i := range s.fields {
		if raw[i] == nil || string(raw[i]) == "null" { // null must not become 0
			continue
		}
		v, err := s.fields[i].parseFlat(raw[i])
		if err != nil {
			return h, fmt.Errorf("reading a row, column %s: %w", s.fields[i].Name, err)
		}
		s.fields[i].set(&h, v)
	}
	return h, nil
}

// histogramColumns are those over which the histogram of an hour is split.
func histogramColumns() (out []string) {
	for _, f := range hourFields {
		if strings.HasPrefix(f.Name, "rtt_histogram") {
			out = append(out, f.Name)
		}
	}
	return out
}

func (h HourSelection) fields() (selected, bool) {
	switch h {
	case Levels:
		return levelFields, true
	case Figures:
		return figureFields, true
	case FiguresAndHistograms:
		return figureHistogram, true
	case Histograms:
		return histogramFields, true
	}
	return selected{}, false
}

// selectedHours reads hours with a part of their columns, taking each page as the service sent it.
func (s *Store) selectedHours(ctx context.Context, table, filter string, of selected) iter.Seq2[Hour, error] {
	return func(yield func(Hour, error) bool) {
		o := &aztables.ListEntitiesOptions{Filter: &filter, Select: to.Ptr(strings.Join(namesOf(of.fields), ",")), Format: to.Ptr(aztables.MetadataFormatNone)}
		client := s.service.NewClient(table)
		for {
			var page aztables.ListEntitiesResponse
			var took tapped
			err := s.retry(ctx, func(ctx context.Context) (err error) {
				page, err = client.NewListEntitiesPager(o).NextPage(withTap(ctx, &took)) // as in scan
				return err
			})
			if f := readFault(err); f != nil && f.missing() {
				return
			}
			if err == nil {
				var more bool
				if more, err = hoursOnPage(took.page, of, func(h Hour) bool { return yield(h, nil) }); err == nil && !more {
					return
				}
			}
			if err != nil {
				yield(Hour{}, fmt.Errorf("reading table %q where %s: %w", table, filter, err))
				return
			}
			o.NextPartitionKey, o.NextRowKey = page.NextPartitionKey, page.NextRowKey
			if empty(o.NextPartitionKey) && empty(o.NextRowKey) {
				return
			}
		}
	}
}

var errEnough = errors.New("no more is wanted")

// hoursOnPage reads the hours of a page one by one; more is false when yield wants no more.
func hoursOnPage(page []byte, of selected, yield func(Hour) bool) (more bool, err error) {
	in, raw := flat{b: page}, make([][]byte, len(of.fields))
	err = in.page(func() error {
		clear(raw)
		if err := in.properties(func(name, value []byte) {
			if i, ok := of.at[string(name)]; ok {
				raw[i] = value
			}
		}); err != nil {
			return err
		}
		h, err := of.decode(raw)
		if err == nil && !yield(h) {
			err = errEnough
		}
		return err
	})
	if errors.Is(err, errEnough) {
		return false, nil
	}
	return true, err
}
