package trend

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"
)

type historyCase struct {
	Hours  []int64   `json:"hours"`
	Values []float64 `json:"values"`
	Zone   string    `json:"zone"`
}

type theirSpread struct {
	N         int
	Quartiles [3]float64
}

type theirHistory struct {
	Day      [24]*theirSpread
	Week     [7][24]*theirSpread
	Baseline []float64
	Power    []float64
	Trend    struct {
		Slope, Low, High, Inflation, Tau, P float64
		TauB                                float64 `json:"tau_b"`
		EveryLag                            float64 `json:"inflation_of_every_lag"`
		Tied                                bool
	}
	Deviations []int64
}

// Series of hours, without gaps, over days on which clocks change; with ties, with rhythms, with rows of
// high values, with a rise.
func historyCases() (cases []historyCase) {
	rnd := rand.New(rand.NewPCG(71, 72))
	for i, zone := range []string{"Europe/Amsterdam", "America/New_York", "Australia/Sydney", "Asia/Kolkata", "Asia/Singapore", "UTC"} {
		begin := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
		if i%2 == 1 {
			begin = begin.AddDate(0, 7, 0)
		}
		c, last, high := historyCase{Zone: zone}, 0.0, 0
		for h := range 5*168 + 50 {
			last = []float64{0, 0.5, 0.9}[i%3]*last + rnd.NormFloat64()
			v := 60 + last + float64(i)*math.Sin(2*math.Pi*float64(h)/24) + float64(i%2)*float64(h)/400
			if i == 3 {
				v = math.Round(v) // ties
			}
			if high--; rnd.IntN(90) == 0 {
				high = rnd.IntN(7)
			}
			if high > 0 {
				v += 25
			}
			c.Hours, c.Values = append(c.Hours, begin.Add(time.Duration(h)*time.Hour).Unix()), append(c.Values, v)
		}
		cases = append(cases, c)
	}
	return cases
}

func askScipy(t *testing.T, script string, cases, into any) {
	t.Helper()
	body, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", script)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(body), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("asking scipy (make deps installs it): %v\n%s", err, stderr.String())
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatal(err)
	}
}

func TestScipyAgreesOnHistory(t *testing.T) {
	cases := historyCases()
	var theirs []theirHistory
	askScipy(t, "testdata/history.py", cases, &theirs)
	if len(theirs) != len(cases) {
		t.Fatalf("%d answers of %d", len(theirs), len(cases))
	}
	independent, deviating := 0, 0
	for i, c := range cases {
		var points []Point
		for k, at := range c.Hours {
			points = append(points, Point{time.Unix(at, 0), c.Values[k]})
		}
		in, err := time.LoadLocation(c.Zone)
		if err != nil {
			t.Fatal(err)
		}
		day, week := ByHour(points, in), ByWeekHour(points, in)
		for h := range 24 {
			sameSpread(t, c.Zone, day[h], theirs[i].Day[h])
			for d := range 7 {
				sameSpread(t, c.Zone, week[d][h], theirs[i].Week[d][h])
			}
		}
		for k, b := range Baseline(points, nil, BaselineWindow) {
			if b.Value != theirs[i].Baseline[k] {
				t.Fatalf("%s, hour %d: baseline %g, numpy's %g", c.Zone, k, b.Value, theirs[i].Baseline[k])
			}
		}
		power, _ := welch(c.Values, 72)
		for k := range power {
			if !agrees(power[k], theirs[i].Power[k]) {
				t.Errorf("%s: power at %d is %g, scipy's %g", c.Zone, k, power[k], theirs[i].Power[k])
			}
		}
		if sameTrend(t, points, &theirs[i]) {
			independent++
		}
		found := Deviations(points, 0.5)
		for k := range found {
			if k >= len(theirs[i].Deviations) || found[k].Time.Unix() != theirs[i].Deviations[k] {
				t.Errorf("%s: deviation %d of %d is at %d, scipy's are %v", c.Zone, k, len(found), found[k].Time.Unix(), theirs[i].Deviations)
				break
			}
		}
		if deviating += len(found); len(found) != len(theirs[i].Deviations) {
			t.Errorf("%s: %d deviations, scipy's %d", c.Zone, len(found), len(theirs[i].Deviations))
		}
	}
	if independent == 0 || deviating < 10 {
		t.Errorf("%d series of independent hours, %d deviations: too few to compare", independent, deviating)
	}
}

func agrees(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1e-3, math.Abs(b)) }

func sameSpread(t *testing.T, zone string, ours Spread, theirs *theirSpread) {
	t.Helper()
	if theirs == nil {
		theirs = &theirSpread{}
	}
	same := ours.N == theirs.N && (ours.N == 0 || agrees(ours.Median, theirs.Quartiles[1]))
	if ours.N >= 4 {
		same = same && agrees(*ours.Q1, theirs.Quartiles[0]) && agrees(*ours.Q3, theirs.Quartiles[2])
	}
	if !same {
		t.Errorf("%s: %+v, numpy's %+v", zone, ours, theirs)
	}
}

// sameTrend says whether the hours resemble each other so little that scipy's interval, which supposes that
// they do not at all, is ours.
func sameTrend(t *testing.T, points []Point, theirs *theirHistory) (independent bool) {
	t.Helper()
	ours, _ := TrendOf(points)
	want := theirs.Trend
	if !agrees(ours.Slope.Value, want.Slope) || !agrees(ours.Inflation, want.Inflation) || !agrees(ours.Tau, want.Tau) || !agrees(ours.P, want.P) || !want.Tied && !agrees(ours.Tau, want.TauB) {
		t.Errorf("%+v, scipy's %+v", ours, want)
	}
	if ours.Inflation == 1 && !(agrees(*ours.Slope.Low, want.Low) && agrees(*ours.Slope.High, want.High)) {
		t.Errorf("%g to %g, scipy's %+v", *ours.Slope.Low, *ours.Slope.High, want)
	}
	if want.Tied {
		return false // what rounding makes of ties in the rest is another thing there
	}
	// The formula of the paper, of all lags that are significant.
	rest := make([]float64, len(points))
	for i, p := range points {
		rest[i] = p.Value - ours.Slope.Value*p.Time.Sub(points[0].Time).Hours()/24
	}
	lags := autocorrelation(midranks(withoutDay(points, rest)))
	for k, r := range lags {
		if math.Abs(r) <= z/math.Sqrt(float64(len(points))) {
			lags[k] = 0
		}
	}
	if got := hamedRao(len(points), lags); !agrees(got, want.EveryLag) {
		t.Errorf("of every lag %g, by the paper %g", got, want.EveryLag)
	}
	return ours.Inflation == 1
}
