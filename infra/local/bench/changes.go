package main

import (
	"context"
	"fmt"
	"time"

	"isochrone/sweep/trend"
)

// The bars of change points: F1 within the tolerance over all series of a kind, and the processor time
// of a long series.
const (
	changesMeasuredBar = 0.66
	changesMadeBar     = 0.87
	changesSecondsBar  = 2
)

// changesPoints is how long the series is whose time is measured.
const changesPoints = 400_000

// changes holds the change points that are found to those that are labelled, with the defaults and with
// what would have been chosen without each series, and times a long one.
func (b *bench) changes(ctx context.Context) error {
	all, err := readLabelled(b.root)
	if err != nil {
		return err
	}
	b.say("a found change is a hit within %d values of a labelled one; each is matched once, and as many as can be", changesTolerance)
	var found []outcome
	for _, l := range all {
		o := l.judge(trend.ChangeOptions{})
		found = append(found, o)
		b.say("%-14s %6d values, %2d labels: %2d found, %2d not, %2d spurious: precision %.3f, recall %.3f, F1 %.3f", l.name, len(l.values), len(l.labels),
			o.hits, o.missed, o.spurious, o.precision(), o.recall(), o.f1())
	}
	b.changesFigures("", all, found)
	if found, err = b.leaveOneOut(ctx, all); err != nil {
		return err
	}
	b.changesFigures("_left_out", all, found)
	return b.changesTime(all)
}

// changesFigures prints F1 of all counts of a kind together, which is what the bar is for, and the
// mean of the series' own.
func (b *bench) changesFigures(which string, all []labelled, found []outcome) {
	for _, kind := range []struct {
		name     string
		measured bool
		least    float64
	}{{"real", true, changesMeasuredBar}, {"artificial", false, changesMadeBar}} {
		sum, own, n := outcome{}, 0.0, 0
		for i, l := range all {
			if l.measured == kind.measured {
				sum, own, n = sum.and(found[i]), own+found[i].f1(), n+1
			}
		}
		b.say("%s series%s: %d found, %d not, %d spurious: precision %.3f, recall %.3f", kind.name, which, sum.hits, sum.missed, sum.spurious, sum.precision(), sum.recall())
		b.figure("changes_f1_"+kind.name+which, sum.f1(), "ratio", &bar{limit: kind.least, least: true})
		b.figure("changes_f1_"+kind.name+which+"_mean_of_series", own/float64(n), "ratio", nil)
	}
}

// leaveOneOut judges each series with the options that do best on all others: by the mean of the two
// kinds' F1, the first of equals.
func (b *bench) leaveOneOut(ctx context.Context, all []labelled) ([]outcome, error) {
	options := changesOptions()
	found := make([][]outcome, len(options)) // by options and series
	for i, o := range options {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, l := range all {
			found[i] = append(found[i], l.judge(o))
		}
	}
	chosen := make([]outcome, len(all))
	for left := range all {
		best, at := -1.0, 0
		for i := range options {
			if f := meanOfKinds(all, found[i], left); f > best {
				best, at = f, i
			}
		}
		chosen[left] = found[at][left]
		b.say("without %s: %+v, F1 of the others %.3f; on it %d found, %d not, %d spurious", all[left].name, tuned(options[at]), best,
			chosen[left].hits, chosen[left].missed, chosen[left].spurious)
	}
	return chosen, nil
}

// meanOfKinds leaves one series out.
func meanOfKinds(all []labelled, found []outcome, left int) float64 {
	var measured, made outcome
	for i, l := range all {
		switch {
		case i == left:
		case l.measured:
			measured = measured.and(found[i])
		default:
			made = made.and(found[i])
		}
	}
	return (measured.f1() + made.f1()) / 2
}

// changesOptions are those among which is chosen: everything that was tuned. p and the ratio are given.
func changesOptions() (out []trend.ChangeOptions) {
	for _, shape := range [][2]int{{1, 30}, {1, 50}, {1, 80}, {2, 50}} { // reach and window
		for _, candidate := range []float64{1e-2, 1e-3, 1e-4} {
			for _, floor := range []float64{2, 3, 4} {
				for _, sharpness := range []float64{0.5, 0.6} {
					for _, beside := range []int{7, 10} {
						out = append(out, trend.ChangeOptions{Reach: shape[0], Window: shape[1], Candidate: candidate, Floor: floor, Sharpness: sharpness, Beside: beside})
					}
				}
			}
		}
	}
	return out
}

func tuned(o trend.ChangeOptions) string {
	return fmt.Sprintf("reach %d, window %d, candidate %g, floor %g, sharpness %g, beside %d", o.Reach, o.Window, o.Candidate, o.Floor, o.Sharpness, o.Beside)
}

// changesTime times one series of all measured values, again and again.
func (b *bench) changesTime(all []labelled) error {
	var long []float64
	for len(long) < changesPoints {
		for _, l := range all {
			long = append(long, l.values...)
		}
	}
	long = long[:changesPoints]
	var seconds []float64
	for i := range b.rounds {
		n, begin := 0, time.Now()
		ms, err := timeOf(func() { n = len(trend.Changes(long, trend.ChangeOptions{})) })
		if err != nil {
			return err
		}
		b.say("round %d: %d values, %d changes: %.3f s of processor, %.3f s by the clock", i+1, len(long), n, ms/1e3, time.Since(begin).Seconds())
		seconds = append(seconds, ms/1e3)
	}
	b.figure("changes_400k_points", median(seconds), "s", atMost(changesSecondsBar))
	return nil
}
