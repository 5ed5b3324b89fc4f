package main

import "testing"

func TestAGauge(t *testing.T) {
	for _, c := range []struct {
		part, whole float64
		want        string
	}{
		{0, 3, "[--------------------]"},
		{1.5, 3, "[##########----------]"},
		{2.99, 3, "[###################-]"},
		{3, 3, "[####################]"},
		{4, 3, "[####################]"},
		{0, 0, "[--------------------]"},
	} {
		if got := gauge(c.part, c.whole); got != c.want {
			t.Errorf("%g of %g: %s, want %s", c.part, c.whole, got, c.want)
		}
	}
}
