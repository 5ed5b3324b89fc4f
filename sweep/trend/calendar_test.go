package trend_test

import (
	"math"
	"testing"
	"time"
	_ "time/tzdata"

	"isochrone/sweep/trend"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	in, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// hourly is a point for each of some hours.
func hourly(begin time.Time, hours int, value func(t time.Time, i int) float64) (points []trend.Point) {
	for i := range hours {
		at := begin.Add(time.Duration(i) * time.Hour)
		points = append(points, trend.Point{Time: at, Value: value(at, i)})
	}
	return points
}

// On the day on which clocks go forward one hour has no point, on the one on which they go back one has two;
// half an hour from UTC, every hour has the one that begins in it.
func TestDaysOf23And25HoursComeOutRight(t *testing.T) {
	for _, c := range []struct {
		zone             string
		day              string
		hours            int
		different, count int // the hour of the day that has not one point
	}{
		{"Europe/Amsterdam", "2026-03-29", 23, 2, 0},
		{"Europe/Amsterdam", "2026-10-25", 25, 2, 2},
		{"America/New_York", "2026-03-08", 23, 2, 0},
		{"America/New_York", "2026-11-01", 25, 1, 2},
		{"Australia/Sydney", "2026-10-04", 23, 2, 0},
		{"Australia/Sydney", "2026-04-05", 25, 2, 2},
		{"Asia/Kolkata", "2026-03-29", 24, -1, 1},
		{"Asia/Singapore", "2026-10-25", 24, -1, 1},
		{"UTC", "2026-03-29", 24, -1, 1},
	} {
		in := zone(t, c.zone)
		midnight, err := time.ParseInLocation(time.DateOnly, c.day, in)
		if err != nil {
			t.Fatal(err)
		}
		next := midnight.AddDate(0, 0, 1)
		if got := int(next.Sub(midnight).Hours()); got != c.hours {
			t.Fatalf("%s in %s has %d hours: the zone is not what the test thinks", c.day, c.zone, got)
		}
		begin := midnight.UTC().Truncate(time.Hour) // in Kolkata half an hour before midnight
		if begin.Before(midnight) {
			begin = begin.Add(time.Hour)
		}
		points := hourly(begin, c.hours, func(at time.Time, _ int) float64 { return float64(at.In(in).Hour()) })
		for h, s := range trend.ByHour(points, in) {
			want := 1
			if h == c.different {
				want = c.count
			}
			if s.N != want || want > 0 && s.Median != float64(h) {
				t.Errorf("%s in %s: hour %d has %d points of median %g, want %d of %d", c.day, c.zone, h, s.N, s.Median, want, h)
			}
		}
		week := trend.ByWeekHour(points, in)
		for d := range week {
			n := 0
			for _, s := range week[d] {
				n += s.N
			}
			want := 0
			if time.Weekday((d+1)%7) == midnight.Weekday() {
				want = c.hours
			}
			if n != want {
				t.Errorf("%s in %s: weekday %d has %d points, want %d", c.day, c.zone, d, n, want)
			}
		}
	}
}

// A habit of half past eight in the evening, local time, stays at that hour through the year although UTC's moves.
func TestALocalHabitStaysAtItsHour(t *testing.T) {
	for _, name := range []string{"Europe/Amsterdam", "America/New_York", "Australia/Sydney", "Asia/Kolkata"} {
		in := zone(t, name)
		points := hourly(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 8760, func(at time.Time, _ int) float64 {
			if at.In(in).Hour() == 20 {
				return 50
			}
			return 40
		})
		quietest, busiest, spread, ok := trend.Swing(trend.ByHour(points, in))
		if !ok || busiest != 20 || quietest == 20 || spread != 10 {
			t.Errorf("%s: from hour %d to %d by %g, %t", name, quietest, busiest, spread, ok)
		}
		hours := 0
		for _, s := range trend.ByHour(points, time.UTC) {
			if s.N > 0 && *s.Q3 == 50 {
				hours++
			}
		}
		want := 2
		if name == "Asia/Kolkata" { // whose clocks never change
			want = 1
		}
		if hours != want {
			t.Errorf("%s: in %d hours of UTC, want %d", name, hours, want)
		}
	}
}

func TestProfilesSkipWhatIsNoNumber(t *testing.T) {
	begin := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC) // a Monday
	points := hourly(begin, 5*24, func(at time.Time, i int) float64 {
		return []float64{1, math.NaN(), 3, math.Inf(1), 2}[i/24]
	})
	hours := trend.ByHour(points, time.UTC)
	if s := hours[7]; s.N != 3 || s.Median != 2 || s.Q1 != nil || s.Q3 != nil {
		t.Errorf("three values have the spread %+v", s)
	}
	week := trend.ByWeekHour(points, time.UTC)
	if week[0][7].Median != 1 || week[1][7].N != 0 || week[2][7].Median != 3 || week[3][7].N != 0 || week[6][7].N != 0 {
		t.Errorf("the week is %+v", week)
	}
	if hours := trend.ByHour(nil, time.UTC); hours != [24]trend.Spread{} {
		t.Errorf("nothing has the profile %+v", hours)
	}
	if _, _, _, ok := trend.Swing([24]trend.Spread{3: {N: 1}}); ok {
		t.Error("one hour has a swing")
	}
	if s, ok := trend.SpreadOf([]float64{math.NaN(), math.Inf(-1)}); ok || s != (trend.Spread{}) {
		t.Errorf("no number has the spread %+v", s)
	}
	if s, _ := trend.SpreadOf([]float64{4, 1, math.NaN(), 3, 2}); s.N != 4 || s.Median != 2.5 || *s.Q1 != 1.75 || *s.Q3 != 3.25 {
		t.Errorf("four numbers have the spread %+v, %g, %g", s, *s.Q1, *s.Q3)
	}
}
