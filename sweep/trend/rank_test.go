package trend

import (
	"slices"
	"testing"
)

func TestABoundIsSatisfiedByItsOwnValue(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	bounds := []Bound{{"distance", 500, true}, {"rtt", 30, false}, {"throughput", 1000, true}}
	yes, no := true, false
	for name, c := range map[string]struct {
		figures         map[string]*float64
		verdict         *bool
		failed, unknown []string
	}{
		"all at their limits":     {map[string]*float64{"distance": at(500), "rtt": at(30), "throughput": at(1000)}, &yes, nil, nil},
		"too near":                {map[string]*float64{"distance": at(499.9), "rtt": at(1), "throughput": at(2000)}, &no, []string{"distance"}, nil},
		"too slow, both ways":     {map[string]*float64{"distance": at(900), "rtt": at(30.1), "throughput": at(999)}, &no, []string{"rtt", "throughput"}, nil},
		"nobody measured one":     {map[string]*float64{"distance": at(900), "rtt": at(10)}, nil, nil, []string{"throughput"}},
		"one failed, one unknown": {map[string]*float64{"distance": at(1), "rtt": at(10)}, &no, []string{"distance"}, []string{"throughput"}},
		"nothing is known of it":  {nil, nil, nil, []string{"distance", "rtt", "throughput"}},
		"a zero is a measurement": {map[string]*float64{"distance": at(900), "rtt": at(10), "throughput": at(0)}, &no, []string{"throughput"}, nil},
	} {
		verdict, failed, unknown := Satisfied(bounds, c.figures)
		if (verdict == nil) != (c.verdict == nil) || verdict != nil && *verdict != *c.verdict || !slices.Equal(failed, c.failed) || !slices.Equal(unknown, c.unknown) {
			t.Errorf("%s: %v, failed %q, unknown %q", name, verdict, failed, unknown)
		}
	}
	if verdict, _, _ := Satisfied(nil, nil); verdict == nil || !*verdict {
		t.Error("nothing is asked for, and that is not satisfied")
	}
}

func TestTheBusiestHourIsTheFirstOfTheLargest(t *testing.T) {
	var hours [24]*float64
	if _, ok := Busiest(hours); ok {
		t.Error("there is a busiest hour of none")
	}
	a, b := 5.0, 7.0
	hours[3], hours[9], hours[17] = &a, &b, &b
	if h, ok := Busiest(hours); !ok || h != 9 {
		t.Errorf("hour %d, %t; want 9", h, ok)
	}
}

func TestPlacesAreRankedByVerdictAndThenByFigure(t *testing.T) {
	yes, no := true, false
	at := func(v float64) *float64 { return &v }
	type place struct {
		name    string
		verdict *bool
		rtt     *float64
	}
	places := []place{{"far", &no, at(90)}, {"unmeasured", nil, nil}, {"good", &yes, at(12)}, {"half", nil, at(3)}, {"best", &yes, at(9)}, {"near", &no, at(2)}, {"blind", &no, nil}}
	Ranked(places, func(p place) *bool { return p.verdict }, func(p place) *float64 { return p.rtt })
	var got []string
	for _, p := range places {
		got = append(got, p.name)
	}
	if want := []string{"best", "good", "half", "unmeasured", "near", "far", "blind"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
