package trend_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"isochrone/sweep/trend"
)

// The definition, word for word.
func deviationsByDefinition(points []trend.Point, least float64) (out []trend.Deviation) {
	at := map[int64]float64{}
	for _, p := range points {
		at[p.Time.Unix()/3600] = p.Value
	}
	median := func(v []float64) float64 { m, _ := trend.Median(v); return m.Value }
	// spread is how far what is known of an hour of the week lies from its median.
	spread := func(hour, until int64) (expected float64, distances []float64) {
		var values []float64
		for h := hour; h >= until-4*168; h -= 168 {
			if v, ok := at[h]; ok && h < until {
				values = append(values, v)
			}
		}
		if len(values) < 3 {
			return 0, nil
		}
		expected = median(values)
		for _, v := range values {
			distances = append(distances, math.Abs(v-expected))
		}
		return expected, distances
	}
	var row []trend.Deviation
	end := func() {
		if len(row) >= 3 {
			out = append(out, row...)
		}
		row = nil
	}
	for i, p := range points {
		if i > 0 && p.Time.Sub(points[i-1].Time) > time.Hour {
			end()
		}
		hour := p.Time.Unix() / 3600
		expected, own := spread(hour-168, hour)
		var all []float64
		for h := hour - 168; h < hour; h++ {
			_, distances := spread(h, hour)
			all = append(all, distances...)
		}
		if own == nil {
			end()
			continue
		}
		difference := p.Value - expected
		scale := 1.4826 * max(median(own), median(all))
		if difference > least && difference > 4*scale {
			row = append(row, trend.Deviation{Time: p.Time, Value: p.Value, Expected: expected, Score: difference / max(scale, least/4)})
		} else {
			end()
		}
	}
	end()
	return out
}

func TestDeviationsAreThoseOfTheDefinition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(51, 52))
	some := 0
	for round := range 6 {
		var points []trend.Point
		high := 0
		for i := range 8 * 168 {
			at := newYear.Add(time.Duration(i) * time.Hour)
			if rnd.IntN(25) == 0 || round == 5 && i > 800 && i < 1000 { // missing
				continue
			}
			if high--; rnd.IntN(60) == 0 {
				high = 1 + rnd.IntN(6)
			}
			v := 50 + math.Round(4*rnd.NormFloat64())/4 + 3*math.Sin(2*math.Pi*float64(i)/24)
			if high > 0 {
				v += 10
			}
			points = append(points, trend.Point{Time: at, Value: v})
		}
		got, want := trend.Deviations(points, 0.5), deviationsByDefinition(points, 0.5)
		if len(got) != len(want) {
			t.Fatalf("%d deviations, want %d", len(got), len(want))
		}
		for i := range got {
			if !got[i].Time.Equal(want[i].Time) || got[i].Value != want[i].Value || math.Abs(got[i].Expected-want[i].Expected) > 1e-9 || math.Abs(got[i].Score-want[i].Score) > 1e-6*want[i].Score {
				t.Fatalf("%+v, want %+v", got[i], want[i])
			}
		}
		some += len(got)
	}
	if some < 100 {
		t.Errorf("only %d deviations: the test compares nothing", some)
	}
}

// Three hours running, over the least, in hours that are otherwise like those of the weeks before.
func TestADeviationLastsThreeHours(t *testing.T) {
	quiet := func() []trend.Point {
		return hourly(newYear, 6*168, func(_ time.Time, i int) float64 { return 40 + float64(i%24) })
	}
	for _, c := range []struct {
		what  string
		hours []int
		by    float64
		found int
	}{
		{"three hours", []int{900, 901, 902}, 2, 3},
		{"five hours", []int{900, 901, 902, 903, 904}, 2, 5},
		{"two hours", []int{900, 901}, 2, 0},
		{"hours apart", []int{900, 901, 903, 904}, 2, 0},
		{"too small", []int{900, 901, 902, 903}, 0.5, 0},
		{"hardly enough", []int{900, 901, 902}, 0.51, 3},
		{"lower", []int{900, 901, 902}, -20, 0},
		{"too early to tell", []int{3*168 - 3, 3*168 - 2, 3*168 - 1}, 20, 0},
		{"just known", []int{3 * 168, 3*168 + 1, 3*168 + 2}, 20, 3},
		{"at the end", []int{6*168 - 3, 6*168 - 2, 6*168 - 1}, 2, 3},
	} {
		points := quiet()
		for _, h := range c.hours {
			points[h].Value += c.by
		}
		got := trend.Deviations(points, 0.5)
		if len(got) != c.found || c.found > 0 && (!got[0].Time.Equal(points[c.hours[0]].Time) || got[0].Expected != points[c.hours[0]].Value-c.by || math.IsInf(got[0].Score, 0)) {
			t.Errorf("%s: %+v", c.what, got)
		}
		thousandfold := slices.Clone(points)
		for i := range thousandfold {
			thousandfold[i].Value = 1000*points[i].Value + 5
		}
		if again := trend.Deviations(thousandfold, 500); len(again) != len(got) {
			t.Errorf("%s, in another unit: %+v", c.what, again)
		}
	}
	points := quiet()
	for h := 900; h < 904; h++ {
		points[h].Value += 5
	}
	points[901].Value = math.NaN() // as if it were not there
	if got := trend.Deviations(points, 0.5); len(got) != 0 {
		t.Errorf("one, none, two: %+v", got)
	}
	if trend.Deviations(nil, 0.5) != nil || trend.Deviations(points, 0) != nil || trend.Deviations(points, math.NaN()) != nil {
		t.Error("deviations of nothing, or from a least of nothing")
	}
}

// Years in which nothing happens, but that hours resemble the ones before: false rows are rare. Without the
// scatter of all hours there would be ten times as many.
func TestHoursThatResembleEachOtherSeldomDeviate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(53, 54))
	for _, c := range []struct {
		phi  float64
		most float64 // rows a year
	}{{0, 0.2}, {0.5, 1}, {0.9, 8}} {
		const years = 10
		rows := 0
		for range years {
			found := trend.Deviations(resembling(rnd, 8760, c.phi, 3, 0), 0.5)
			for i, d := range found {
				if i == 0 || d.Time.Sub(found[i-1].Time) > time.Hour {
					rows++
				}
			}
		}
		t.Logf("phi %g: %g rows a year", c.phi, float64(rows)/years)
		if got := float64(rows) / years; got > c.most {
			t.Errorf("hours that resemble each other by %g: %g rows a year, want %g at most", c.phi, got, c.most)
		}
	}
}
