package svg

import (
	"math"
	"strconv"
	"time"
)

// Scale places values between two coordinates, linearly.
type Scale struct{ FromValue, ToValue, FromAt, ToAt float64 }

// At is where a value is.
func (s Scale) At(v float64) float64 {
	if s.ToValue == s.FromValue {
		return (s.FromAt + s.ToAt) / 2
	}
	return s.FromAt + (v-s.FromValue)/(s.ToValue-s.FromValue)*(s.ToAt-s.FromAt)
}

// Widened ends the scale at round values, of which there are about so many with the step between them.
func (s Scale) Widened(about int) (Scale, float64) {
	span := s.ToValue - s.FromValue
	if span <= 0 {
		span = math.Max(math.Abs(s.ToValue)/10, 1e-9)
		s.FromValue, s.ToValue = s.FromValue-span/2, s.ToValue+span/2
	}
	step := math.Pow(10, math.Floor(math.Log10(span/float64(about))))
	for _, by := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if span/step <= float64(about) {
			break
		}
		step *= by
	}
	s.FromValue, s.ToValue = math.Floor(s.FromValue/step)*step, math.Ceil(s.ToValue/step)*step
	return s, step
}

// Ticks are the multiples of a step on the scale.
func (s Scale) Ticks(step float64) (out []float64) {
	for i := math.Round(s.FromValue / step); i*step <= s.ToValue+step/1e6; i++ {
		out = append(out, i*step)
	}
	return out
}

// Label is a tick with no more digits than its step has.
func Label(v, step float64) string {
	digits := int(math.Max(0, math.Ceil(-math.Log10(step)-1e-9)))
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// TimeTick is a time on an axis with its label.
type TimeTick struct {
	Time  time.Time
	Label string
}

// TimeTicks are round times from since to until, UTC, ten or so.
func TimeTicks(since, until time.Time) (out []TimeTick) {
	since, until = since.UTC(), until.UTC()
	span := until.Sub(since)
	const day = 24 * time.Hour
	if span > 120*day { // months
		for at := time.Date(since.Year(), since.Month(), 1, 0, 0, 0, 0, time.UTC); at.Before(until); at = at.AddDate(0, 1+int(span/(400*day)), 0) {
			if !at.Before(since) {
				out = append(out, TimeTick{at, at.Format("2006-01")})
			}
		}
		return out
	}
	step, form := 14*day, "01-02"
	for _, s := range []struct {
		step time.Duration
		form string
	}{{time.Second, "15:04:05"}, {10 * time.Second, "15:04:05"}, {time.Minute, "15:04"}, {5 * time.Minute, "15:04"}, {15 * time.Minute, "15:04"}, {time.Hour, "15:04"}, {3 * time.Hour, "15:04"}, {6 * time.Hour, "02 15:04"}, {day, "01-02"}, {2 * day, "01-02"}, {7 * day, "01-02"}} {
		if span/s.step <= 12 {
			step, form = s.step, s.form
			break
		}
	}
	for at := since.Truncate(step); at.Before(until); at = at.Add(step) {
		if !at.Before(since) {
			out = append(out, TimeTick{at, at.Format(form)})
		}
	}
	return out
}
