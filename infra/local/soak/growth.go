package main

import (
	"context"
	"fmt"
	"slices"
)

// weighing is what a member that is never killed weighed.
type weighing struct {
	who string
	weight
}

func sprintLine(format string, args ...any) string { return fmt.Sprintf(format, args...) + "\n" }

// weigh weighs those that are never killed.
func (m *month) weigh(ctx context.Context) {
	m.each(ctx, []*member{m.handlers[0], m.probers[0]}, order{Do: doWeigh}, func(c *member, a answer, err error) {
		if err == nil && a.Weight != nil {
			m.weighs = append(m.weighs, weighing{c.task.Role, *a.Weight})
		}
	})
}

// mayGrow is how much more a process may hold in the last quarter of the month than in the second, at the
// median. The first quarter is left out: pools and caches fill.
const mayGrow = 1.2

// leastWeighings are those of a week: what a process holds after a day is mostly what it has not filled yet.
const leastWeighings = 28

// growth is the middle of the second quarter and that of the last; 0 where there are too few to tell.
func growth(ws []weighing, who string, of func(weight) float64, middle func([]float64) float64) (second, last float64) {
	var values []float64
	for _, w := range ws {
		if w.who == who {
			values = append(values, of(w.weight))
		}
	}
	n := len(values)
	if n < leastWeighings {
		return 0, 0
	}
	return middle(values[n/4 : n/2]), middle(values[n-n/4:])
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// held are the things that must not grow.
var held = []struct {
	name, unit string
	of         func(weight) float64
	middle     func([]float64) float64
}{
	{"goroutines", "count", func(w weight) float64 { return float64(w.Goroutines) }, median},
	{"descriptors", "count", func(w weight) float64 { return float64(w.Descriptors) }, median},
	{"resident", "MiB", func(w weight) float64 { return float64(w.RSSBytes) / (1 << 20) }, median},
	// A compressor of 0.8 MiB is live or not at the moment, which is as much as all the rest: what is held for good
	// shows in the least.
	{"heap", "MiB", func(w weight) float64 { return float64(w.HeapBytes) / (1 << 20) }, slices.Min[[]float64]},
}
