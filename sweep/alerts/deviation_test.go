package alerts_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/sweep/trend"
)

// step is an hour that comes in: hours after hour0, by how many ms it is above what is usual.
type step struct {
	hour  int
	above float64
}

func from(hour int, above ...float64) (out []step) {
	for i, v := range above {
		out = append(out, step{hour + i, v})
	}
	return out
}

const (
	raisedLine = "alert raised deviation " + subject + " 2026-11-30T"
	endedLine  = "alert ended deviation " + subject + " 2026-11-30T"
)

func TestADeviationIsToldOnceAndItsEndOnce(t *testing.T) {
	for name, c := range map[string]struct {
		steps []step
		want  []string
	}{
		"as usual":                      {from(0, 0, 0, 0, 0), nil},
		"two windows":                   {from(0, 0, 5, 5, 0, 0), nil},
		"three windows":                 {from(0, 0, 5, 5, 5), []string{raisedLine + "11"}},
		"lasts":                         {from(0, 0, 5, 5, 5, 5, 5, 5, 5), []string{raisedLine + "11"}},
		"ends after three":              {from(0, 0, 5, 5, 5, 0, 0, 0, 0), []string{raisedLine + "11", endedLine + "11"}},
		"two below do not end it":       {from(0, 0, 5, 5, 5, 0, 0, 5, 0, 0), []string{raisedLine + "11"}},
		"again":                         {from(0, 5, 5, 5, 0, 0, 0, 5, 5, 5), []string{raisedLine + "10", endedLine + "10", raisedLine + "16"}},
		"less than 0.5 ms":              {from(0, .3, .3, .3, .3), nil},
		"faster":                        {from(0, -5, -5, -5, -5), nil},
		"an hour missing does not end":  {append(from(0, 5, 5, 5), from(9, 0, 0)...), []string{raisedLine + "10"}},
		"nor begin":                     {append(from(0, 5, 5), step{5, 5}), nil},
		"a gap of one hour":             {append(from(0, 5, 5), step{3, 5}), []string{raisedLine + "10"}},
		"after a day without, it ended": {append(from(0, 5, 5, 5), from(30, 0, 0, 0)...), []string{raisedLine + "10", endedLine + "10"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := inMemory()
			p := &person{rows: m, from: m}
			for _, s := range c.steps {
				at := hour0.Add(time.Duration(s.hour) * time.Hour)
				h := hourOf(is, at, usual(at)+s.above, 79)
				m.put(h)
				for range 2 { // an invocation that is repeated tells nothing twice
					must(t, p.hear(t.Context(), h))
				}
			}
			if diff := gocmp.Diff(c.want, p.lines(t)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			open, rows := 0, 0
			for _, a := range m.alerts {
				rows++
				if a.Ended.IsZero() {
					open++
				}
			}
			ended := len(slices.DeleteFunc(slices.Clone(c.want), func(l string) bool { return l[6] != 'e' }))
			if begun := len(c.want) - ended; rows != begun || open != begun-ended || len(m.claims) != open {
				t.Errorf("%d rows, %d open, %d claims", rows, open, len(m.claims))
			}
		})
	}
}

func TestADeviationsFiguresAreRight(t *testing.T) {
	m := inMemory()
	p := &person{rows: m, from: m}
	for i := range 3 {
		at := hour0.Add(time.Duration(i) * time.Hour)
		h := hourOf(is, at, 90+float64(i), 79)
		m.put(h)
		must(t, p.hear(t.Context(), h))
	}
	if len(m.alerts) != 1 {
		t.Fatalf("%d alerts", len(m.alerts))
	}
	for _, a := range m.alerts {
		// Of the four weeks before 82.00, 82.05, 82.10 and so on in steps of 0.05, whichever they are, the median lies
		// between the middle two, and the median distance from it is that of all other hours too.
		var weeks []float64
		for w := 1; w <= 4; w++ {
			weeks = append(weeks, usual(hour0.Add(time.Duration(2-w*168)*time.Hour)))
		}
		slices.Sort(weeks)
		expected := 1000 * (weeks[1] + weeks[2]) / 2
		var off []float64
		for _, w := range weeks {
			off = append(off, max(1000*w-expected, expected-1000*w))
		}
		slices.Sort(off)
		score := (92_000 - expected) / max(1.4826*(off[1]+off[2])/2, 500.0/4)
		if !close(*a.P50US, 92_000) || !close(*a.ExpectedUS, expected) || !close(*a.Score/score, 1) || !a.Since.Equal(hour0) || !a.Raised.Equal(hour0.Add(185*time.Minute)) {
			t.Errorf("%+v, p50 %v, expected %v (want %v), score %v (want %v)", a, *a.P50US, *a.ExpectedUS, expected, *a.Score, score)
		}
	}
}

// close allows for binary32, in which levels are kept.
func close(a, b float64) bool { return a-b < 0.01 && b-a < 0.01 }

// On a series without gaps, by UTC, the hours in a row are those of trend.Deviations.
func TestTheRuleIsThatOfTheStatistics(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 1))
	for series := range 20 {
		m := newMemory(environment)
		p := &person{rows: m, from: m}
		var points []trend.Point
		above := 0.0
		for h := -28*24 - 5; h < 60; h++ {
			at := hour0.Add(time.Duration(h) * time.Hour)
			if rnd.IntN(12) == 0 {
				above = []float64{0, 0, 0.4, 0.7, 1.5, 6}[rnd.IntN(6)]
			}
			hour := hourOf(is, at, usual(at)+above*float64(rnd.IntN(4))+rnd.Float64()*0.2, 79)
			*hour.RTT.P50US = float64(float32(*hour.RTT.P50US))
			points = append(points, trend.Point{Time: at, Value: *hour.RTT.P50US})
			m.put(hour)
			if h >= 0 {
				must(t, p.hear(t.Context(), hour))
			}
		}
		// An alert is raised with the third hour of a row, unless one is open: then three others came not between.
		deviates := map[time.Time]trend.Deviation{}
		for _, d := range trend.Deviations(points, 500) {
			deviates[d.Time] = d
		}
		for _, a := range m.alerts {
			d, ok := deviates[a.Since.Add(2*time.Hour)]
			if !ok || deviates[a.Since].Value == 0 || deviates[a.Since.Add(time.Hour)].Value == 0 {
				t.Errorf("series %d: alert since %s is of no row", series, a.Since)
			}
			if a.Raised.Equal(a.Since.Add(185*time.Minute)) && (!close(*a.ExpectedUS, d.Expected) || !close(*a.Score/d.Score, 1)) {
				t.Errorf("series %d: expected %v and score %v, the statistics say %v and %v", series, *a.ExpectedUS, *a.Score, d.Expected, d.Score)
			}
		}
		told := func(at time.Time) bool {
			for _, a := range m.alerts {
				if !at.Before(a.Since) && (a.Ended.IsZero() || at.Before(a.Ended)) {
					return true
				}
			}
			return false
		}
		for at := range deviates {
			if !at.Before(hour0.Add(3*time.Hour)) && !told(at) {
				t.Errorf("series %d: hour %s deviates, and no alert lasts", series, at)
			}
		}
	}
}
