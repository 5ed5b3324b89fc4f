package trend_test

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"isochrone/sweep/trend"
)

// rhythm is a sine of so many hours a period, from trough to crest as given, over 60 ms with some noise.
func rhythm(days int, every time.Duration, period, height, noise float64) (points []trend.Point) {
	rnd := rand.New(rand.NewPCG(31, 32))
	for i := range int(time.Duration(days) * 24 * time.Hour / every) {
		at := newYear.Add(time.Duration(i) * every)
		points = append(points, trend.Point{Time: at, Value: 60 + height/2*math.Sin(2*math.Pi*at.Sub(newYear).Hours()/period) + noise*rnd.NormFloat64()})
	}
	return points
}

func TestADailyRhythmIsFoundWithItsHeight(t *testing.T) {
	for _, c := range []struct {
		points   []trend.Point
		daily    bool
		height   float64
		severity trend.Severity
	}{
		{rhythm(28, time.Hour, 24, 10, 0.2), true, 10, trend.Severe},
		{rhythm(14, 30*time.Minute, 24, 2, 0.2), true, 2, trend.Mild},
		{rhythm(15, 4*time.Minute, 24, 0.8, 0.2), true, 0.8, trend.Low},
		{rhythm(20, 3*time.Hour, 24, 0.4, 0.02), true, 0.4, trend.NotDaily},
		{rhythm(28, time.Hour, 12, 10, 0.2), false, 10, trend.NotDaily},
		{rhythm(28, time.Hour, 8, 10, 0.2), false, 10, trend.NotDaily},
		{rhythm(28, time.Hour, 36, 10, 0.2), false, 10, trend.NotDaily},
	} {
		got, err := trend.DiurnalOf(c.points)
		if err != nil {
			t.Error(err)
			continue
		}
		if got.Daily != c.daily || math.Abs(got.Amplitude-c.height) > 0.08*c.height || got.N != len(c.points) {
			t.Errorf("%d points: %+v, want daily %t of %g", len(c.points), got, c.daily, c.height)
		}
		if s := trend.FontugneMS.Of(got); s != c.severity {
			t.Errorf("%+v is %q, want %q", got, s, c.severity)
		}
	}
}

// Where the strongest rhythm is decides, whatever the level and the unit are and where the values lie in time.
func TestADiurnalScoreKnowsNoUnit(t *testing.T) {
	points := rhythm(21, time.Hour, 24, 4, 1)
	base, err := trend.DiurnalOf(points)
	if err != nil {
		t.Fatal(err)
	}
	changed := make([]trend.Point, len(points))
	for i, p := range points {
		changed[i] = trend.Point{Time: p.Time.AddDate(0, 3, 0), Value: 1000*p.Value + 123_456}
	}
	got, err := trend.DiurnalOf(changed)
	if err != nil || got.Daily != base.Daily || math.Abs(got.Amplitude-1000*base.Amplitude) > 1e-6 {
		t.Errorf("in another unit: %+v, %v; want 1000 times %+v", got, err, base)
	}
	if s := trend.FontugneMS.Times(1000).Of(got); s != trend.FontugneMS.Of(base) || s != trend.Severe {
		t.Errorf("in another unit it is %q", s)
	}
	for i := range changed {
		changed[i] = points[len(points)-1-i] // backwards
		changed[i].Time = points[i].Time
	}
	if got, err := trend.DiurnalOf(changed); err != nil || math.Abs(got.Amplitude-base.Amplitude) > 0.01 { // the window is periodic, and so not quite symmetric
		t.Errorf("backwards: %+v, %v; want %+v", got, err, base)
	}
	for i := range changed {
		changed[i].Value = 80 + 0.1*float64(i)
	}
	if got, err := trend.DiurnalOf(changed); err != nil || got.Daily || got.Amplitude != 0 || got.PeakPerHour != 0 {
		t.Errorf("a straight line: %+v, %v", got, err)
	}
}

func TestADiurnalScoreIsRefused(t *testing.T) {
	without := func(points []trend.Point, from, to int) []trend.Point {
		return append(append([]trend.Point(nil), points[:from]...), points[to:]...)
	}
	month := rhythm(28, time.Hour, 24, 10, 0.2)
	hole := append([]trend.Point(nil), month...)
	for i := 100; i < 103; i++ {
		hole[i].Value = math.NaN()
	}
	for what, c := range map[string]struct {
		points []trend.Point
		want   error
	}{
		"nothing":                      {nil, trend.ErrTooShort},
		"one value":                    {month[:1], trend.ErrTooShort},
		"14 days less an hour":         {month[:14*24-1], trend.ErrTooShort},
		"14 days":                      {month[:14*24], nil},
		"3 hours from one to the next": {without(month, 100, 102), nil},
		"4 hours":                      {without(month, 100, 103), trend.ErrGaps},
		"3 values that are none":       {hole, trend.ErrGaps},
		"a value each 90 minutes":      {rhythm(14, 90*time.Minute, 24, 10, 0.2), nil},
	} {
		got, err := trend.DiurnalOf(c.points)
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		if c.want == nil && (!got.Daily || math.Abs(got.Amplitude-10) > 1) {
			t.Errorf("%s: %+v", what, got)
		}
		if c.want != nil && got != (trend.Diurnal{}) {
			t.Errorf("%s: refused, with %+v", what, got)
		}
	}
}

// A trace of RIPE Atlas that people see a daily rhythm in, of about 10 ms.
func TestARealDailyRhythmIsFound(t *testing.T) {
	file, err := os.Open("testdata/changepoints/atlas-11815.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(plain).ReadAll() // Unix seconds, milliseconds, whether a change begins
	if err != nil {
		t.Fatal(err)
	}
	var points []trend.Point
	for _, l := range lines {
		seconds, err := strconv.ParseInt(l[0], 10, 64)
		ms, err2 := strconv.ParseFloat(l[1], 64)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		points = append(points, trend.Point{Time: time.Unix(seconds, 0), Value: ms})
	}
	got, err := trend.DiurnalOf(points)
	// scipy.signal.welch of the same half hours says 8.2595.
	if err != nil || !got.Daily || math.Abs(got.Amplitude-8.259451914256154) > 1e-9 || trend.FontugneMS.Of(got) != trend.Severe {
		t.Errorf("%+v, %v", got, err)
	}
}
