package reply

import (
	"time"

	"isochrone/sweep/answers"
)

// Trend is one series over a time: /api/query/trend, and sweep trend.
type Trend struct {
	Head
	Series Series `json:"series"`
	Window
	Zones Zones       `json:"zones"`
	Hours []TrendHour `json:"hours" jsonschema:"only hours with data, oldest first"`
	// Quantiles are of the whole window.
	Quantiles      Quantiles  `json:"quantiles"`
	Changes        []Change   `json:"changes"`
	Trend          *Slope     `json:"trend" jsonschema:"of the hours' medians; null where the hours are too few"`
	Diurnal        *Diurnal   `json:"diurnal" jsonschema:"null when it cannot be told"`
	DiurnalRefused *string    `json:"diurnal_refused" jsonschema:"why it cannot be told whether there is a daily rhythm"`
	Profile        HourClocks `json:"profile"`
	DistanceKM     *float64   `json:"distance_km"`
	FloorUS        *float64   `json:"floor_us" jsonschema:"round trip of light in fibre over the distance"`
	PublishedP95MS *float64   `json:"published_p95_ms" jsonschema:"what Microsoft publishes between the regions"`
}

// Zones are the IANA zones of a pair.
type Zones struct {
	Source *string `json:"source"`
	Target *string `json:"target"`
}

// TrendHour is one hour of a series.
type TrendHour struct {
	T             time.Time `json:"t"`
	N             *int      `json:"n" jsonschema:"round trips received; null where nobody tells"`
	Runs          int       `json:"runs"`
	MinUS         *float64  `json:"min_us"`
	P50US         *float64  `json:"p50_us"`
	P90US         *float64  `json:"p90_us"`
	P99US         *float64  `json:"p99_us"`
	LossRatio     *float64  `json:"loss_ratio"`
	LossRatioLow  *float64  `json:"loss_ratio_low"`
	LossRatioHigh *float64  `json:"loss_ratio_high"`
	BaselineUS    *float64  `json:"baseline_us" jsonschema:"least of the trailing 28 days since the last reroute"`
	ExcessUS      *float64  `json:"excess_us" jsonschema:"p50 less the baseline"`
	UpBPS         *float64  `json:"up_bps"`
	DownBPS       *float64  `json:"down_bps"`
	Degraded      bool      `json:"degraded" jsonschema:"a run of the hour is not to be relied on without a look"`
	Simulated     bool      `json:"simulated"`
}

// Slope is how the hours' medians rise or fall: the Theil–Sen slope with its 95 % interval, and p of Mann and Kendall's test.
type Slope struct {
	SlopeUSPerDay float64  `json:"slope_us_per_day"`
	Low           *float64 `json:"low"`
	High          *float64 `json:"high"`
	P             float64  `json:"p"`
	N             int      `json:"n" jsonschema:"hours"`
}

// Diurnal is the daily rhythm.
type Diurnal struct {
	Daily       bool    `json:"daily"`
	AmplitudeUS float64 `json:"amplitude_us"`
	Class       string  `json:"class"`
	N           int     `json:"n" jsonschema:"hours that it is of"`
}

// HourClocks are the hours of the day by three clocks.
type HourClocks struct {
	UTC    []ProfileHour `json:"utc"`
	Source []ProfileHour `json:"source" jsonschema:"null where nobody knows the zone"`
	Target []ProfileHour `json:"target" jsonschema:"null where nobody knows the zone"`
}

// ProfileHour is an hour of the day.
type ProfileHour struct {
	Hour     int      `json:"hour"`
	N        int      `json:"n" jsonschema:"hours that have a median"`
	MedianUS *float64 `json:"median_us"`
	Q1US     *float64 `json:"q1_us"`
	Q3US     *float64 `json:"q3_us"`
}

// TrendOf is the reply of a trend.
func TrendOf(environment string, t *answers.Trend, now time.Time) *Trend {
	out := &Trend{Head: headOf(environment, now, &t.Rests), Series: seriesOf(&t.History), Window: windowOf(&t.History),
		Zones: Zones{optional(t.Clocks.Zones.Source), optional(t.Clocks.Zones.Target)}, Hours: make([]TrendHour, len(t.Hours)),
		Quantiles: quantilesOf(&t.Quantiles), Changes: changesOf(t.Changes), DiurnalRefused: optional(t.DiurnalRefused),
		DistanceKM: rounded(t.Place.DistanceKM, 1), FloorUS: rounded(t.Place.FloorUS, 3), PublishedP95MS: t.Place.PublishedP95MS}
	for i := range t.Hours {
		h := &t.Hours[i]
		out.Hours[i] = TrendHour{T: h.Begin.UTC(), N: h.N, Runs: h.Runs, MinUS: h.MinUS, P50US: h.P50US, P90US: h.P90US, P99US: h.P99US,
			LossRatio: h.Loss.Ratio, LossRatioLow: h.Loss.Low, LossRatioHigh: h.Loss.High, BaselineUS: rounded(h.BaselineUS, 3),
			ExcessUS: rounded(h.ExcessUS, 3), UpBPS: h.UpBPS, DownBPS: h.DownBPS, Degraded: h.Degraded > 0, Simulated: h.Simulated}
	}
	if s := t.Slope; s != nil {
		out.Trend = &Slope{round(s.PerDay.Value, 6), rounded(s.PerDay.Low, 6), rounded(s.PerDay.High, 6), s.P, s.N}
	}
	if d := t.Diurnal; d != nil {
		out.Diurnal = &Diurnal{d.Daily, round(d.AmplitudeUS, 3), string(d.Class), d.N}
	}
	out.Profile.UTC = profileOf(&t.Clocks.UTC)
	if t.Clocks.Source != nil {
		out.Profile.Source = profileOf(t.Clocks.Source)
	}
	if t.Clocks.Target != nil {
		out.Profile.Target = profileOf(t.Clocks.Target)
	}
	return out
}

func profileOf(hours *[24]answers.HourSpread) []ProfileHour {
	out := make([]ProfileHour, len(hours))
	for i, h := range hours {
		out[i] = ProfileHour{i, h.N, rounded(h.MedianUS, 3), rounded(h.Q1US, 3), rounded(h.Q3US, 3)}
	}
	return out
}
