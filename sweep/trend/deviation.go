package trend

import (
	"math"
	"slices"
	"time"
)

// The rule of Deviations.
const (
	deviationWeeks  = 4
	deviationKnown  = 3 // of the four weeks that must have a value at that hour
	deviationScore  = 4
	deviationInARow = 3
	madToDeviation  = 1.4826 // of the normal distribution (Rousseeuw and Croux 1993)
)

// Deviation is an hour in which a value is not what the hour of the week lets expect.
type Deviation struct {
	Time     time.Time
	Value    float64
	Expected float64 // the median of the same hour of the week over the four weeks before
	Score    float64 // (Value − Expected) ÷ (1.4826·MAD), see Deviations
}

// Deviations are the hours that are far above what is usual: by more than four times the usual scatter and
// by more than least, in the unit of the values, three hours running or more. All hours of such a row are
// returned, in the order of time. Points are of hours. An hour of the week of which fewer than three of the
// four weeks before are known has no expectation: it deviates from nothing, and ends a row, as does a
// missing hour.
//
// MAD is the median distance from Expected of the three or four values that it is the median of. So few are
// often close together by chance, so it counts at least as much as the median of the same distances over all
// hours of those four weeks; and never as less than what makes least a score of four. least must be above
// 0; otherwise nothing is returned.
func Deviations(points []Point, least float64) []Deviation {
	points = distinct(finite(points))
	if !(least > 0) {
		return nil
	}
	var out []Deviation
	row := 0 // how many at the end of out are in the row that is not over
	end := func() {
		if row < deviationInARow {
			out = out[:len(out)-row]
		}
		row = 0
	}
	w := weeks{scatter: scatter{}}
	for i, p := range points {
		if i > 0 && hourOf(p.Time)-hourOf(points[i-1].Time) > 1 {
			end()
		}
		expected, mad, ok := w.before(hourOf(p.Time))
		// A score over 4 is then a difference over least, too: both conditions are one.
		d := Deviation{p.Time, p.Value, expected, (p.Value - expected) / max(madToDeviation*mad, least/deviationScore)}
		if ok && d.Score > deviationScore {
			out = append(out, d)
			row++
		} else {
			end()
		}
		w.add(hourOf(p.Time), p.Value)
	}
	end()
	return out
}

func hourOf(t time.Time) int64 { return int64(math.Floor(float64(t.Unix()) / 3600)) }

// weeks knows the last four values of each hour of the week, and how far all of them are from the medians
// of theirs.
type weeks struct {
	of      [hoursOfWeek]hourOfWeek
	scatter scatter
	seen    int64 // the last hour that before was asked for
}

const hoursOfWeek = 7 * 24

type hourOfWeek struct {
	hours     []int64
	values    []float64
	median    float64
	distances []float64 // sorted; none of too few values
}

// before is what is expected of an hour, and the scatter; ok is false when too little is known of it.
func (w *weeks) before(hour int64) (expected, mad float64, ok bool) {
	for h := max(w.seen, hour-hoursOfWeek+1); h <= hour; h++ { // each hour of the week once at most
		w.forget(&w.of[slot(h)], hour-deviationWeeks*hoursOfWeek)
	}
	w.seen = hour
	of := &w.of[slot(hour)]
	if len(of.values) < deviationKnown {
		return 0, 0, false
	}
	return of.median, max(middle(of.distances), middle(w.scatter)), true
}

func slot(hour int64) int { return int((hour%hoursOfWeek + hoursOfWeek) % hoursOfWeek) }

// forget leaves out what is older than an hour.
func (w *weeks) forget(of *hourOfWeek, oldest int64) {
	for len(of.hours) > 0 && of.hours[0] < oldest {
		w.change(of, func() { of.hours, of.values = of.hours[1:], of.values[1:] })
	}
}

func (w *weeks) add(hour int64, value float64) {
	of := &w.of[slot(hour)]
	w.change(of, func() {
		of.hours, of.values = append(of.hours, hour), append(of.values, value)
		if len(of.hours) > deviationWeeks {
			of.hours, of.values = of.hours[1:], of.values[1:]
		}
	})
}

func (w *weeks) change(of *hourOfWeek, by func()) {
	for _, d := range of.distances {
		w.scatter.remove(d)
	}
	by()
	of.distances = of.distances[:0]
	sorted := slices.Sorted(slices.Values(of.values))
	if len(sorted) < deviationKnown {
		return
	}
	of.median = middle(sorted)
	for _, v := range sorted {
		of.distances = append(of.distances, math.Abs(v-of.median))
	}
	slices.Sort(of.distances)
	for _, d := range of.distances {
		w.scatter.insert(d)
	}
}

// scatter is sorted distances.
type scatter []float64

func (s *scatter) insert(d float64) {
	at, _ := slices.BinarySearch(*s, d)
	*s = slices.Insert(*s, at, d)
}

func (s *scatter) remove(d float64) {
	if at, ok := slices.BinarySearch(*s, d); ok {
		*s = slices.Delete(*s, at, at+1)
	}
}
