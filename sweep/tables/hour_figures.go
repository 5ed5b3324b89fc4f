package tables

import "strings"

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

	levelFields     = newSelected(hourFields, levelColumns)
	figureFields    = newSelected(hourFields, figureColumns)
	figureHistogram = newSelected(hourFields, append(append([]string{}, figureColumns...), histogramColumns()...))
	histogramFields = newSelected(hourFields, append(append([]string{}, levelColumns...), append(histogramColumns(), "rtt_max_us")...))
)

// histogramColumns are those over which the histogram of an hour is split.
func histogramColumns() (out []string) {
	for _, f := range hourFields {
		if strings.HasPrefix(f.Name, "rtt_histogram") {
			out = append(out, f.Name)
		}
	}
	return out
}

func (h HourSelection) fields() (selected[Hour], bool) {
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
	return selected[Hour]{}, false
}
