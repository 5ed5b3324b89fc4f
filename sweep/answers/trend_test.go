package answers

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"isochrone/sweep/tables"
)

func readTrend(t *testing.T, hours []tables.Hour, q SeriesQuery) *Trend {
	t.Helper()
	from := &hourStore{}
	from.add(pairSeries, hours)
	got, err := ReadTrend(t.Context(), from, parse(t, threeRegions), q, q.Until)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func isAbout(got *float64, want, within float64) bool {
	return got != nil && math.Abs(*got-want) <= within
}

func TestAnotherWayIsReroutedAndTheBaselineBeginsAnew(t *testing.T) {
	const n, at = 28 * 24, 17*24 + 9 // not a whole day: the hours of the day must not be taken for the level
	got := readTrend(t, made(t, monday, n, func(i int, when time.Time) shape {
		s := shape{floor: 80_000, above: rhythm(when), gone: i%100 == 50}
		if i >= at {
			s.floor += 4000
		}
		return s
	}), askPair(monday, n))
	if len(got.Changes) != 1 {
		t.Fatalf("changes %+v, want one", got.Changes)
	}
	c := got.Changes[0]
	if d := c.Time.Sub(monday.Add(at * time.Hour)); d.Abs() > 2*time.Hour || c.Kind != Rerouted || c.AfterUS-c.BeforeUS < 3700 || c.AfterUS-c.BeforeUS > 4300 || c.P > 1e-6 {
		t.Errorf("%+v, want rerouted by 4 ms at %s", c, monday.Add(at*time.Hour))
	}
	for _, h := range got.Hours {
		switch i := int(h.Begin.Sub(monday) / time.Hour); {
		case i > at-4 && i < at+4: // the change may be found an hour off
		case i < at && !isAbout(h.BaselineUS, 80_000, 100), i >= at && !isAbout(h.BaselineUS, 84_000, 100), !isAbout(h.ExcessUS, rhythm(h.Begin), 150):
			t.Fatalf("%s: baseline %v, excess %v, want an excess of %f", h.Begin, *h.BaselineUS, *h.ExcessUS, rhythm(h.Begin))
		}
	}
}

func TestAFullerWayIsCongestion(t *testing.T) {
	const n, at = 28 * 24, 12*24 + 5
	got := readTrend(t, made(t, monday, n, func(i int, when time.Time) shape {
		s := shape{floor: 80_000, above: 500}
		if i >= at {
			s.above = 3500 // the tail alone
		}
		return s
	}), askPair(monday, n))
	if len(got.Changes) != 1 || got.Changes[0].Kind != Congestion || got.Changes[0].Time.Sub(monday.Add(at*time.Hour)).Abs() > 2*time.Hour {
		t.Fatalf("changes %+v, want congestion at %s", got.Changes, monday.Add(at*time.Hour))
	}
	if h := got.Hours[n-1]; !isAbout(h.BaselineUS, 80_000, 100) || !isAbout(h.ExcessUS, 3500, 150) {
		t.Errorf("in the end baseline %v, excess %v; want the floor of before", *h.BaselineUS, *h.ExcessUS)
	}
}

func TestARhythmAloneIsNoChangeAndIsFound(t *testing.T) {
	const n = 28 * 24
	got := readTrend(t, made(t, monday, n, func(i int, when time.Time) shape {
		return shape{floor: 80_000, above: 1000 + 4*(rhythm(when)-1000)} // 4 ms from the least to the most
	}), askPair(monday, n))
	if len(got.Changes) != 0 {
		t.Errorf("changes %+v of a series that has a rhythm alone", got.Changes)
	}
	if d := got.Diurnal; d == nil || !d.Daily || d.Class != DiurnalSevere || d.AmplitudeUS < 3000 || d.AmplitudeUS > 5000 || d.N != n {
		t.Errorf("rhythm %+v (%s), want daily of about 4 ms", d, got.DiurnalRefused)
	}
	if s := got.Slope; s == nil || s.N != n || s.PerDay.Low == nil || *s.PerDay.Low > 0 || *s.PerDay.High < 0 {
		t.Errorf("slope %+v, want none", s)
	}
	utc := got.Clocks.UTC
	if !isAbout(utc[15].MedianUS, 83_000, 60) || !isAbout(utc[3].MedianUS, 79_000, 60) || utc[15].N != 28 || utc[15].Q1US == nil {
		t.Errorf("at 15:00 %+v, at 03:00 %+v", utc[15], utc[3])
	}
	// Amsterdam is an hour ahead of UTC in November, and New York five behind.
	if got.Clocks.Zones != (Zones{"Europe/Amsterdam", "America/New_York"}) || *got.Clocks.Source[16].MedianUS != *utc[15].MedianUS || *got.Clocks.Target[10].MedianUS != *utc[15].MedianUS {
		t.Errorf("zones %+v; 15:00 UTC is %f, at 16:00 of the source %f, at 10:00 of the target %f", got.Clocks.Zones, *utc[15].MedianUS, *got.Clocks.Source[16].MedianUS, *got.Clocks.Target[10].MedianUS)
	}
	if p := got.Place; p.DistanceKM == nil || *p.DistanceKM < 6000 || p.FloorUS == nil || p.PublishedP95MS == nil {
		t.Errorf("place %+v", p)
	}
}

// A weekend is quieter than the days before it, every week: that is no change. A fuller way is, beside the rhythm.
func TestAWeekendIsNoChange(t *testing.T) {
	const n, at = 28 * 24, 16*24 + 10
	for _, fuller := range []float64{0, 3000} {
		got := readTrend(t, made(t, monday, n, func(i int, when time.Time) shape {
			s := shape{floor: 80_000, above: 1000 + 4*(rhythm(when)-500)}
			if d := when.Weekday(); d == time.Saturday || d == time.Sunday {
				s.above = 1000
			}
			if i >= at {
				s.above += fuller
			}
			return s
		}), askPair(monday, n))
		if fuller == 0 {
			if len(got.Changes) != 0 {
				t.Errorf("changes %+v of a series that has weekends alone", got.Changes)
			}
			continue
		}
		if len(got.Changes) != 1 || got.Changes[0].Kind != Congestion || got.Changes[0].Time.Sub(monday.Add(at*time.Hour)).Abs() > 3*time.Hour {
			t.Errorf("changes %+v, want congestion at %s", got.Changes, monday.Add(at*time.Hour))
		}
	}
}

func TestDaysOf23And25HoursAreThoseOfBothZones(t *testing.T) {
	for _, c := range []struct {
		name           string
		since          time.Time
		days           int
		source, target map[int]int // n of the hours that are not as many as the days, less those
	}{
		// In Amsterdam clocks went back at 03:00 of 25 October, in New York at 02:00 of 1 November.
		{"autumn", time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC), 20, map[int]int{2: 1}, map[int]int{1: 1}},
		// In New York they went forward at 02:00 of 8 March, in Amsterdam at 02:00 of 29 March.
		{"spring", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 35, map[int]int{2: -1}, map[int]int{2: -1}},
	} {
		n := c.days * 24
		got := readTrend(t, made(t, c.since, n, func(i int, when time.Time) shape { return shape{floor: 80_000, above: rhythm(when)} }), askPair(c.since, n))
		// The window begins and ends at midnight UTC: what the shift of a zone moves out at one end comes in at the
		// other, but for the hour by which the shift itself changed.
		checkDays(t, c.name+", source", got.Clocks.Source, n)
		checkDays(t, c.name+", target", got.Clocks.Target, n)
		for hour, more := range c.source {
			if got := got.Clocks.Source[hour].N; got != c.days+more {
				t.Errorf("%s: at %02d:00 of the source %d hours, want %d", c.name, hour, got, c.days+more)
			}
		}
		for hour, more := range c.target {
			if got := got.Clocks.Target[hour].N; got != c.days+more {
				t.Errorf("%s: at %02d:00 of the target %d hours, want %d", c.name, hour, got, c.days+more)
			}
		}
	}
}

func checkDays(t *testing.T, name string, of *[24]HourSpread, n int) {
	t.Helper()
	sum := 0
	for _, h := range of {
		sum += h.N
	}
	if sum != n {
		t.Errorf("%s: %d hours, want all %d", name, sum, n)
	}
}

func TestAStepInMidWeekDoesNotPaintThatWeekday(t *testing.T) {
	const n, at = 28 * 24, 16*24 + 11 // a Wednesday of the third week
	from := &hourStore{}
	hours := made(t, monday, n, func(i int, when time.Time) shape {
		s := shape{floor: 80_000, above: rhythm(when), gone: when.Weekday() == time.Sunday && when.Hour() == 4}
		if i >= at {
			s.above += 3000 // the least round trips stay: the baseline does not take it
		}
		return s
	})
	from.add(pairSeries, hours)
	m, err := ReadHeatmap(t.Context(), from, parse(t, threeRegions), askPair(monday, n), ClockUTC, monday)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Changes) != 1 {
		t.Fatalf("changes %+v", m.Changes)
	}
	for day := range m.Cells {
		for hour, c := range m.Cells[day] {
			if day == 6 && hour == 4 {
				if c.N != 0 || c.MedianUS != nil {
					t.Errorf("an hour of the week without data: %+v", c)
				}
				continue
			}
			want := rhythm(monday.Add(time.Duration(hour)*time.Hour)) - 1000 // a rhythm around its median
			if c.N != 4 || !isAbout(c.MedianUS, want, 120) {
				t.Errorf("day %d, %02d:00: %d hours, median %f; want %f", day, hour, c.N, *c.MedianUS, want)
			}
		}
	}
	shifted, err := ReadHeatmap(t.Context(), from, parse(t, threeRegions), askPair(monday, n), ClockTarget, monday)
	if err != nil || shifted.Zone != "America/New_York" || *shifted.Cells[2][10].MedianUS != *m.Cells[2][15].MedianUS {
		t.Errorf("by the target's clock: %v", err)
	}
	q := askPair(monday, n)
	q.Target = "nowhere"
	if _, err := ReadHeatmap(t.Context(), from, parse(t, threeRegions), q, ClockTarget, monday); !errors.Is(err, ErrNoClock) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("the clock of an unknown target: %v", err)
	}
}
