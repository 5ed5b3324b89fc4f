package alerts_test

import (
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
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
		// The weeks before are 82.00, 82.05, 82.10 and so on in steps of 0.05, whichever four they are: the
		// median lies between the middle two, and the median distance from it is 0.05.
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
		score := (92_000 - expected) / (1.4826 * (off[1] + off[2]) / 2)
		if !close(*a.P50US, 92_000) || !close(*a.ExpectedUS, expected) || !close(*a.Score/score, 1) || !a.Since.Equal(hour0) || !a.Raised.Equal(hour0.Add(185*time.Minute)) {
			t.Errorf("%+v, p50 %v, expected %v (want %v), score %v (want %v)", a, *a.P50US, *a.ExpectedUS, expected, *a.Score, score)
		}
	}
}

// close allows for binary32, in which levels are kept.
func close(a, b float64) bool { return a-b < 0.01 && b-a < 0.01 }
