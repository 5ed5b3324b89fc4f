package reply

import (
	"math"
	"time"
)

// Head is what every answer of Query begins with.
type Head struct {
	Environment string `json:"environment"`
	// Simulated says that a row behind the answer was simulated.
	Simulated   bool      `json:"simulated" jsonschema:"true when any row behind the answer is simulated"`
	GeneratedAt time.Time `json:"generated_at" jsonschema:"when the answer was computed"`
	RestsOn     RestsOn   `json:"rests_on"`
}

// RestsOn says of how much an answer is. Nil is what does not apply.
type RestsOn struct {
	Samples *int `json:"samples" jsonschema:"single measurements; null where they are not counted"`
	Runs    *int `json:"runs" jsonschema:"runs of a probe; null where they are not counted"`
	Hours   *int `json:"hours" jsonschema:"hours of a series, or profiles' hours; null where they are not counted"`
}

// NewHead begins an answer, computed at now.
func NewHead(environment string, now time.Time) Head {
	return Head{Environment: environment, GeneratedAt: now.UTC().Truncate(time.Second)}
}

// utc is a time for JSON: nil when there is none.
func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// optional is a text for JSON: nil when it is empty.
func optional[S ~string](s S) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}

func rounded(v *float64, digits int) *float64 {
	if v == nil {
		return nil
	}
	scale := math.Pow10(digits)
	r := math.Round(*v*scale) / scale
	return &r
}
