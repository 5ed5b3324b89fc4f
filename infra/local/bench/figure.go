package main

import (
	"fmt"
	"slices"
)

// bar is what a figure has to reach. The zero pointer is a figure without one.
type bar struct {
	limit float64
	least bool // the limit is the smallest good value, not the largest
}

func atMost(limit float64) *bar { return &bar{limit: limit} }

// figure prints a figure's last line. One that falls short says so.
func (b *bench) figure(name string, value float64, unit string, want *bar) {
	limit, verdict := "-", "ok"
	if want != nil {
		limit = fmt.Sprintf("%.4g", want.limit)
		if (want.least && !(value >= want.limit)) || (!want.least && !(value <= want.limit)) {
			verdict = "short"
			b.short++
		}
	}
	b.say("BENCH %s %.4g %s %s %s", name, value, unit, limit, verdict)
}

// median is the middle value, the upper one of two.
func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile is the smallest value that at least that part of the values does not exceed.
func quantile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(float64(len(sorted))*p + 0.999999999)
	return sorted[max(min(rank, len(sorted)), 1)-1]
}
