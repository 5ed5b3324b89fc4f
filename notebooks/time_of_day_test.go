package notebooks

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"isochrone/sweep/simulate"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// timeOfDay is the summary of 02-time-of-day.
type timeOfDay struct {
	HoursInWindow   int               `json:"hours_in_window"`
	HoursWithMedian int               `json:"hours_with_median"`
	Zones           map[string]string `json:"zones"`
	Changes         []struct {
		T        time.Time `json:"t"`
		BeforeMS float64   `json:"before_ms"`
		AfterMS  float64   `json:"after_ms"`
	} `json:"changes"`
	Busiest map[string]int `json:"busiest_hour"`
	Profile map[string]struct {
		N      []int      `json:"n"`
		Median []*float64 `json:"median_ms"`
		Q1     []*float64 `json:"q1_ms"`
		Q3     []*float64 `json:"q3_ms"`
	} `json:"profile"`
	Stored  map[string]float64 `json:"stored_median_us"`
	WeekMS  [7][24]*float64    `json:"week_ms"`
	WeekN   [7][24]int         `json:"week_n"`
	Diurnal struct {
		Refused   string  `json:"refused"`
		Daily     bool    `json:"daily"`
		Amplitude float64 `json:"amplitude_ms"`
		Class     string  `json:"class"`
	} `json:"diurnal"`
	STL *struct {
		Strength float64 `json:"strength"`
		Swing    float64 `json:"swing_ms"`
	} `json:"stl"`
}

// What the model puts into three weeks is found: the step, to the hour; the rhythm by three clocks, over days of 25 hours; its
// amplitude. The week before is masked.
func TestTimeOfDay(t *testing.T) {
	h := simulated(t)
	step, pair := h.step(t)
	e := execute(t, "02-time-of-day", h.settings(), fmt.Sprintf("SOURCE, TARGET = %q, %q", step.Source, step.Target))
	e.sound(t, "SIMULATED, nobody measured this: ")
	var got timeOfDay
	e.summary(t, &got)

	hours := withMedian(h.hours(t, step.Source, step.Target, "udp", since))
	if got.HoursInWindow != 28*24 || got.HoursWithMedian != len(hours) || len(hours) >= 21*24 {
		t.Errorf("%d of %d hours have a median, want %d of %d", got.HoursWithMedian, got.HoursInWindow, len(hours), 28*24)
	}
	if len(got.Changes) != 1 || !got.Changes[0].T.Equal(step.At) || math.Abs(1000*(got.Changes[0].AfterMS-got.Changes[0].BeforeMS)-step.DeltaUS) > 0.01*step.DeltaUS {
		t.Errorf("steps %+v, and the model has %+v", got.Changes, step)
	}
	for clock, zone := range map[string]string{"UTC": "UTC", "source": "Europe/Amsterdam", "target": "America/New_York"} {
		if got.Zones[clock] != zone {
			t.Errorf("the zone of %s is %q, want %q", clock, got.Zones[clock], zone)
		}
		compareProfile(t, &got, clock, hours)
	}
	if n := got.Profile["source"].N; n[2] != 22 { // 21 days, and the hour that was twice
		t.Errorf("the hour that there was twice on 26 October is there %d times", n[2])
	}
	if busiest := got.Busiest["source"]; math.Abs(float64(busiest)-pair.PeakHour) > 2 {
		t.Errorf("the busiest hour by the source's clock is %d, and the model's %v", busiest, pair.PeakHour)
	}
	for hour := range 24 {
		if want, ms := got.Stored[fmt.Sprint(hour)]/1000, *got.Profile["UTC"].Median[hour]; math.Abs(want-ms) > 1e-9 {
			t.Errorf("at %d the median is %v ms, and the app's profile has %v", hour, ms, want)
		}
	}
	// On working days the amplitude is the model's, at weekends 0.4 of it.
	if d, most := got.Diurnal, pair.AmplitudeUS/1000; !d.Daily || d.Amplitude < 0.75*most || d.Amplitude > 1.05*most || d.Class != "severe" {
		t.Errorf("diurnal %+v, and the model's amplitude is %v ms", d, most)
	}
	if s := got.STL; s == nil || s.Strength < 0.5 || s.Strength > 1 || math.Abs(1000*s.Swing-pair.AmplitudeUS) > 0.4*pair.AmplitudeUS {
		t.Errorf("STL %+v, and the model's amplitude is %v us", s, pair.AmplitudeUS)
	}
	compareWithCommands(t, h, &got, step)
	if spread := weekdays(got.WeekMS); 1000*spread > 0.2*step.DeltaUS {
		t.Errorf("the step of %v us paints weekdays: they are %v ms apart", step.DeltaUS, spread)
	}
}

// compareWithCommands holds the diurnal score to that of "sweep trend", and how many hours there are of each weekday to "sweep heatmap".
func compareWithCommands(t *testing.T, h *history, got *timeOfDay, step simulate.Step) {
	t.Helper()
	of := []string{step.Source, step.Target, "--probe", "udp", "--since", since.AddDate(0, 0, -7).Format("2006-01-02"), "--until", until.Format("2006-01-02"), "--format", "json"}
	var score struct {
		Diurnal struct {
			Daily     bool    `json:"daily"`
			Amplitude float64 `json:"amplitude_us"`
			Class     string  `json:"class"`
		} `json:"diurnal"`
	}
	must(t, json.Unmarshal(h.sweep(t, append([]string{"trend"}, of...)...), &score))
	if d := score.Diurnal; d.Daily != got.Diurnal.Daily || d.Class != got.Diurnal.Class || math.Abs(d.Amplitude-1000*got.Diurnal.Amplitude) > 0.01 {
		t.Errorf("diurnal %+v, and sweep trend has %+v", got.Diurnal, d)
	}
	var heat struct {
		Cells []struct{ Weekday, Hour, N int }
	}
	must(t, json.Unmarshal(h.sweep(t, append([]string{"heatmap", "--zone", "source"}, of...)...), &heat))
	if len(heat.Cells) != 7*24 {
		t.Fatalf("sweep heatmap has %d cells", len(heat.Cells))
	}
	for _, c := range heat.Cells {
		if got.WeekN[c.Weekday][c.Hour] != c.N {
			t.Errorf("weekday %d, hour %d: %d hours, and sweep heatmap has %d", c.Weekday, c.Hour, got.WeekN[c.Weekday][c.Hour], c.N)
		}
	}
}

// Where nobody cuts the series at its step, weekdays do differ by it: the bound of the test above would see it. And less than two
// weeks have no score, and no parts.
func TestAStepThatIsNotCutOutPaintsWeekdays(t *testing.T) {
	h := simulated(t)
	step, _ := h.step(t)
	e := execute(t, "02-time-of-day", h.settings(), fmt.Sprintf("SOURCE, TARGET, DAYS, UNTIL, CHANGES = %q, %q, 13, %q, []",
		step.Source, step.Target, step.At.AddDate(0, 0, 8).Format("2006-01-02T00:00Z")))
	e.sound(t, "SIMULATED, nobody measured this: ")
	var got timeOfDay
	e.summary(t, &got)
	if spread := weekdays(got.WeekMS); 1000*spread < 0.4*step.DeltaUS || len(got.Changes) != 0 {
		t.Errorf("steps %v; weekdays are %v ms apart, and the step is %v us", got.Changes, spread, step.DeltaUS)
	}
	if got.Diurnal.Refused != "13.0 days: it takes 14" || got.STL != nil {
		t.Errorf("diurnal %+v, STL %+v", got.Diurnal, got.STL)
	}
}

// withMedian are the hours that have one.
func withMedian(hours []tables.Hour) []tables.Hour {
	return slices.DeleteFunc(hours, func(h tables.Hour) bool { return h.RTT.P50US == nil })
}

// compareProfile holds a clock's profile to one that Go's time zones and package trend make.
func compareProfile(t *testing.T, got *timeOfDay, clock string, hours []tables.Hour) {
	t.Helper()
	zone, err := time.LoadLocation(got.Zones[clock])
	must(t, err)
	var by [24][]float64
	for _, h := range hours {
		at := h.Begin.In(zone).Hour()
		by[at] = append(by[at], *h.RTT.P50US/1000)
	}
	is := got.Profile[clock]
	for at, values := range by {
		want, _ := trend.SpreadOf(values)
		if is.N[at] != len(values) || is.Median[at] == nil || is.Q1[at] == nil || is.Q3[at] == nil {
			t.Errorf("%s, hour %d: n %d, want %d, median %v, quartiles %v, %v", clock, at, is.N[at], len(values), is.Median[at], is.Q1[at], is.Q3[at])
			continue
		}
		if math.Abs(*is.Median[at]-want.Median) > 1e-9 || math.Abs(*is.Q1[at]-*want.Q1) > 1e-9 || math.Abs(*is.Q3[at]-*want.Q3) > 1e-9 {
			t.Errorf("%s, hour %d: %v, %v, %v; want %v, %v, %v", clock, at, *is.Q1[at], *is.Median[at], *is.Q3[at], *want.Q1, want.Median, *want.Q3)
		}
	}
}

// weekdays is how far the medians of the working days lie apart, in ms.
func weekdays(week [7][24]*float64) float64 {
	var days []float64
	for _, hours := range week[:5] {
		var values []float64
		for _, v := range hours {
			if v != nil {
				values = append(values, *v)
			}
		}
		spread, _ := trend.SpreadOf(values)
		days = append(days, spread.Median)
	}
	return slices.Max(days) - slices.Min(days)
}
