package trend

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// What DiurnalOf needs, as in the paper that it names.
const (
	DiurnalLeast = 14 * 24 * time.Hour // the points must reach this far
	DiurnalGap   = 3 * time.Hour       // and lie nowhere further apart than this
	segment      = 3 * 24 * time.Hour
)

// The reasons for which there is no diurnal score, for errors.Is.
var (
	ErrTooShort = errors.New("too short for a diurnal score")
	ErrGaps     = errors.New("too many hours missing for a diurnal score")
)

// Diurnal says whether values go up and down with the day.
type Diurnal struct {
	// Daily is true when the strongest frequency is that of a day: in (1/25, 1/23) per hour.
	Daily bool
	// Amplitude is 2·√(2P), P being the power at the strongest frequency: from the trough to the crest of
	// a sine of that power, in the unit of the values.
	Amplitude   float64
	PeakPerHour float64 // the strongest frequency; 0 when the values never change
	Segments    int     // of three days, each overlapping half of the next, whose spectra are averaged
	N           int     // points
}

// DiurnalOf is the diurnal score of Fontugne, Shah and Cho, Persistent Last-mile Congestion: Not so Uncommon
// (Internet Measurement Conference 2020): medians of half hours less their minimum;
// Welch's power spectrum of segments of three days, each less its straight line and weighed by Hann's
// window (Welch 1967); the strongest frequency and its amplitude. Points further apart than half an hour
// are taken in bins of a whole number of half hours, as long as their usual distance. Bins without a point
// are filled by a straight line between their neighbours.
//
// The error is ErrTooShort for points over fewer than 14 days, ErrGaps for points that miss more than
// three hours anywhere. Values that are no finite number count as missing.
func DiurnalOf(points []Point) (Diurnal, error) {
	points = distinct(finite(points))
	n := len(points)
	if n < 2 {
		return Diurnal{}, fmt.Errorf("%w: there are %d values, and 14 days of them are needed", ErrTooShort, n)
	}
	width := binWidth(points)
	if reach := points[n-1].Time.Sub(points[0].Time) + width; reach < DiurnalLeast {
		return Diurnal{}, fmt.Errorf("%w: it is %.1f days, and 14 are needed", ErrTooShort, reach.Hours()/24)
	}
	for i, p := range points[1:] {
		if gap := p.Time.Sub(points[i].Time); gap > DiurnalGap {
			return Diurnal{}, fmt.Errorf("%w: nothing is known between %s and %s, and %s may be missing at most", ErrGaps,
				points[i].Time.UTC().Format(time.RFC3339), p.Time.UTC().Format(time.RFC3339), DiurnalGap)
		}
	}
	values := binned(points, width)
	least := slices.Min(values)
	for i := range values {
		values[i] -= least
	}
	power, segments := welch(values, int(segment/width))
	d := Diurnal{Segments: segments, N: n}
	strongest := 0
	for k := 1; k < len(power); k++ { // 0 is the level, which is no rhythm
		if strongest == 0 || power[k] > power[strongest] {
			strongest = k
		}
	}
	// What is left of values in one straight line is rounding.
	if top := slices.Max(values); math.Sqrt(power[strongest]) <= 1e-12*math.Max(top, math.Abs(least)) {
		return d, nil
	}
	d.PeakPerHour = float64(strongest) / segment.Hours()
	d.Daily = d.PeakPerHour > 1.0/25 && d.PeakPerHour < 1.0/23
	d.Amplitude = 2 * math.Sqrt(2*power[strongest])
	return d, nil
}

// binWidth is half an hour, or as many of them as points usually lie apart; at most three hours.
func binWidth(points []Point) time.Duration {
	const least = 30 * time.Minute
	apart := make([]time.Duration, len(points)-1)
	for i := range apart {
		apart[i] = points[i+1].Time.Sub(points[i].Time)
	}
	slices.Sort(apart)
	usual := apart[len(apart)/2]
	for _, width := range []time.Duration{least, 2 * least, 4 * least} {
		if usual < width+width/2 { // all of them divide a segment
			return width
		}
	}
	return DiurnalGap
}

// binned are the medians of bins of the width, from that of the first point to that of the last.
func binned(points []Point, width time.Duration) []float64 {
	first := points[0].Time.Truncate(width)
	values := make([]float64, points[len(points)-1].Time.Sub(first)/width+1)
	var bin []float64
	filled := -1 // the last bin with a value
	for i, p := range points {
		at := int(p.Time.Sub(first) / width)
		bin = append(bin, p.Value)
		if i+1 < len(points) && int(points[i+1].Time.Sub(first)/width) == at {
			continue
		}
		slices.Sort(bin)
		values[at] = middle(bin)
		for k := filled + 1; k < at; k++ {
			part := float64(k-filled) / float64(at-filled)
			values[k] = values[filled]*(1-part) + values[at]*part
		}
		filled, bin = at, bin[:0]
	}
	return values
}

// Severity is how strong a daily rhythm is.
type Severity string

// The severities.
const (
	NotDaily Severity = "none" // no daily rhythm, or one too weak to matter
	Low      Severity = "low"
	Mild     Severity = "mild"
	Severe   Severity = "severe"
)

// Severities are the amplitudes over which a daily rhythm is low, mild and severe, in the unit of the
// values.
type Severities struct{ Low, Mild, Severe float64 }

// FontugneMS are the amplitudes of the paper, in milliseconds.
var FontugneMS = Severities{Low: 0.5, Mild: 1, Severe: 3}

// Times is the severities in another unit: FontugneMS.Times(1000) is in microseconds.
func (s Severities) Times(factor float64) Severities {
	return Severities{s.Low * factor, s.Mild * factor, s.Severe * factor}
}

// Of classifies a score whose values are in the unit of the severities.
func (s Severities) Of(d Diurnal) Severity {
	switch {
	case !d.Daily || d.Amplitude <= s.Low:
		return NotDaily
	case d.Amplitude <= s.Mild:
		return Low
	case d.Amplitude <= s.Severe:
		return Mild
	default:
		return Severe
	}
}
