package tables

import (
	"fmt"
	"slices"

	"isochrone/prober/wire"
)

// The makers of columns that hours and profiles have in common.

// RTTs are figures of round trips, microseconds. Those of several runs come from their merged
// histograms; nil where these do not hold all round trips, and where fewer than ten lie above.
type RTTs struct {
	MinUS, MeanUS, P50US, P90US, P95US, P99US, P999US, MaxUS *float64
}

// Loss is a ratio of lost samples with its Wilson interval at 95 %; nil where nobody tells.
type Loss struct {
	Sent             *int // samples that it is of
	Ratio, Low, High *float64
}

func lossFields[T any](at func(*T) *Loss) []field[T] {
	return []field[T]{
		maybeCount("loss_sent_count", "samples", "samples that loss_ratio is of: those of the runs that have one, without the samples canceled in flight", func(v *T) **int { return &at(v).Sent }),
		number("loss_ratio", "ratio", "lost / sent over all of these; absent where there are none", func(v *T) **float64 { return &at(v).Ratio }),
		number("loss_ratio_low", "ratio", "lower end of its Wilson interval at 95 %, as if samples were lost independently of each other", func(v *T) **float64 { return &at(v).Low }),
		number("loss_ratio_high", "ratio", "upper end", func(v *T) **float64 { return &at(v).High }),
	}
}

// tallyFields are counts by failure code, a column a code; expired tells whether that code counts too.
func tallyFields[T any](form, unit, meaning string, expired bool, at func(*T) *map[wire.Failure]int) []field[T] {
	var out []field[T]
	for _, code := range wire.Failures() {
		if code == wire.FailureExpired && !expired {
			continue
		}
		out = append(out, field[T]{
			Column{fmt.Sprintf(form, code), Int32, unit, fmt.Sprintf(meaning, code) + "; absent for none"},
			func(v *T) any {
				if n := (*at(v))[code]; n != 0 {
					return n
				}
				return nil
			},
			func(v *T, x any) {
				if *at(v) == nil {
					*at(v) = map[wire.Failure]int{}
				}
				(*at(v))[code] = x.(int)
			}})
	}
	return out
}

// seriesFields are the parts of a series, environment apart.
func seriesFields[T any](series func(*T) *wire.Series, kind func(*T) *wire.Kind) []field[T] {
	return []field[T]{
		text("source", "prober that measured", func(v *T) *string { return &series(v).Source }),
		text("target", "prober or endpoint that was measured", func(v *T) *string { return &series(v).Target }),
		text("path", "how packets get there", func(v *T) *string { return &series(v).Path }),
		text("probe", "the probe's name in sweep.yaml; ext.… is foreign", func(v *T) *string { return &series(v).Probe }),
		text("kind", "what was measured, of the newest", func(v *T) *string { return (*string)(kind(v)) }),
	}
}

// some are the fields with these names, in their own order; each must be there.
func some[T any](fields []field[T], names []string) []field[T] {
	var out []field[T]
	for _, f := range fields {
		if slices.Contains(names, f.Name) {
			out = append(out, f)
		}
	}
	if len(out) != len(names) {
		panic(fmt.Sprintf("of the columns %q some are unknown, or twice there", names))
	}
	return out
}

func namesOf[T any](fields []field[T]) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}
