package trend

import "slices"

// Bound is one thing that is asked of a place: a least or a greatest value of a figure. Which it is decides what a
// figure that is equal to it means: it satisfies both.
type Bound struct {
	Name  string
	Limit float64
	Least bool // the figure must not be under the limit; otherwise not over it
}

// Satisfied holds figures, by a bound's name, against all bounds. Nil is a figure that nobody measured: where all others are
// satisfied it makes the verdict nil, which is unknown, and never true. failed and unknown name the bounds, in their order.
func Satisfied(bounds []Bound, figures map[string]*float64) (verdict *bool, failed, unknown []string) {
	for _, b := range bounds {
		switch v := figures[b.Name]; {
		case v == nil:
			unknown = append(unknown, b.Name)
		case b.Least && *v < b.Limit, !b.Least && *v > b.Limit:
			failed = append(failed, b.Name)
		}
	}
	no := len(failed) > 0
	if !no && len(unknown) > 0 {
		return nil, failed, unknown
	}
	yes := !no
	return &yes, failed, unknown
}

// Busiest is the hour of the day at which a figure is largest, the first of several. ok is false when no hour has one.
func Busiest(byHour [hoursOfDay]*float64) (hour int, ok bool) {
	for h, v := range byHour {
		if v != nil && (!ok || *v > *byHour[hour]) {
			hour, ok = h, true
		}
	}
	return hour, ok
}

// Ranked sorts places: those that satisfy first, then those of which it is unknown, then the others; within each by
// the figure, smallest first, and those without one last. It keeps the order of equals.
func Ranked[T any](places []T, verdict func(T) *bool, figure func(T) *float64) {
	class := func(v *bool) int {
		switch {
		case v == nil:
			return 1
		case *v:
			return 0
		}
		return 2
	}
	slices.SortStableFunc(places, func(a, b T) int {
		if d := class(verdict(a)) - class(verdict(b)); d != 0 {
			return d
		}
		x, y := figure(a), figure(b)
		switch {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return 1
		case y == nil || *x < *y:
			return -1
		case *x > *y:
			return 1
		}
		return 0
	})
}
