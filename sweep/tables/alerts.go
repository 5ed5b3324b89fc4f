package tables

import (
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// AlertKind says what an alert is about.
type AlertKind string

// AppSubject is the subject of an alert about coverage that is no prober's fault: slots were not swept.
const AppSubject = "app"

// The kinds.
const (
	// AlertDeviation: a series is slower than it usually is at that hour of the week. Its subject is the series.
	AlertDeviation AlertKind = "deviation"
	// AlertChange: a series got another level. Its subject is the series.
	AlertChange AlertKind = "change"
	// AlertCoverage: planned runs did not come in. Its subject is a prober, or AppSubject.
	AlertCoverage AlertKind = "coverage"
	// AlertObjective: an objective of sweep.yaml is not kept. Its subject is the objective's name.
	AlertObjective AlertKind = "objective"
)

// AlertKinds lists the kinds.
func AlertKinds() []AlertKind {
	return []AlertKind{AlertDeviation, AlertChange, AlertCoverage, AlertObjective}
}

// Alert is something that was worth telling. Nil and empty are what its kind does not have.
type Alert struct {
	Kind AlertKind
	// Subject is what it is about: source|target|path|probe of a series, or a name.
	Subject string
	// Since is when what it is about began; it is in the key.
	Since time.Time
	// Raised is when it was found, and Ended when it was found to be over; zero while it lasts.
	Raised, Ended time.Time
	Message       string // for people, when it was raised
	EndMessage    string // and when it ended
	// Simulated says that a model made up some of what it rests on, and Quiet that something was measured too: such
	// an alert is in the table alone, for to hold a model against the world is no news.
	Simulated, Quiet bool

	P50US, ExpectedUS, Score *float64 // of a deviation, at its newest window
	Change                   string   // of a change: rerouted, congestion or step
	BeforeUS, AfterUS, P     *float64
	Planned, CameIn          *int // runs
	P5BPS, WantedBPS         *float64
	RPOS, WantedRPOS         *float64
	P99US, WantedP99US       *float64
}

// Series is the series that an alert is about, without its environment; ok is false where it is about something else.
func (a *Alert) Series() (is wire.Series, ok bool) {
	parts := strings.Split(a.Subject, "|")
	if len(parts) != 4 {
		return is, false
	}
	return wire.Series{Source: parts[0], Target: parts[1], Path: parts[2], Probe: parts[3]}, true
}

var alertFields = []field[Alert]{
	text("kind", "deviation, change, coverage or objective", func(a *Alert) *string { return (*string)(&a.Kind) }),
	text("series", "what it is about: source|target|path|probe of a series; of coverage a prober, or app; of objective its name", func(a *Alert) *string { return &a.Subject }),
	instant("since", "when what it is about began", func(a *Alert) *time.Time { return &a.Since }),
	instant("raised_at", "when it was found", func(a *Alert) *time.Time { return &a.Raised }),
	instant("ended_at", "when it was found to be over; absent while it lasts", func(a *Alert) *time.Time { return &a.Ended }),
	text("message", "what was found, for people", func(a *Alert) *string { return &a.Message }),
	text("end_message", "why it is over, for people", func(a *Alert) *string { return &a.EndMessage }),
	truth(simulatedColumn, "true: a model made up some of what it rests on; absent otherwise", func(a *Alert) *bool { return &a.Simulated }),
	truth("quiet", "true: something of it was measured all the same, so that it is told in the table alone; absent otherwise", func(a *Alert) *bool { return &a.Quiet }),
	number("rtt_p50_us", "µs", "deviation: the median round trip of the hour in which it was found", func(a *Alert) **float64 { return &a.P50US }),
	number("expected_us", "µs", "deviation: what is usual at that hour of the week", func(a *Alert) **float64 { return &a.ExpectedUS }),
	number("score", "", "deviation: by how many spreads it is above that", func(a *Alert) **float64 { return &a.Score }),
	text("change", "change: rerouted, congestion or step", func(a *Alert) *string { return &a.Change }),
	number("before_us", "µs", "change: the median before it", func(a *Alert) **float64 { return &a.BeforeUS }),
	number("after_us", "µs", "change: the median since", func(a *Alert) **float64 { return &a.AfterUS }),
	number("p", "", "change: how likely such a step would be without one", func(a *Alert) **float64 { return &a.P }),
	maybeCount("planned_count", "runs", "coverage: runs that were planned; of app the slots that were due", func(a *Alert) **int { return &a.Planned }),
	maybeCount("came_in_count", "runs", "coverage: runs that came in; of app the slots that were swept", func(a *Alert) **int { return &a.CameIn }),
	number("throughput_p5_bps", "bit/s", "objective: what the line carries in 95 of 100 hours", func(a *Alert) **float64 { return &a.P5BPS }),
	number("wanted_bps", "bit/s", "objective: what it should carry", func(a *Alert) **float64 { return &a.WantedBPS }),
	number("rpo_s", "s", "objective: how far a copy is behind; absent when it falls behind for ever", func(a *Alert) **float64 { return &a.RPOS }),
	number("wanted_rpo_s", "s", "objective: how far it may be", func(a *Alert) **float64 { return &a.WantedRPOS }),
	number("rtt_p99_us", "µs", "objective: 99 % of round trips took less", func(a *Alert) **float64 { return &a.P99US }),
	number("wanted_p99_us", "µs", "objective: what they may take", func(a *Alert) **float64 { return &a.WantedP99US }),
}

// truth is a column that is true, or absent.
func truth[T any](name, meaning string, at func(*T) *bool) field[T] {
	return field[T]{Column{name, Boolean, "", meaning},
		func(v *T) any {
			if !*at(v) {
				return nil
			}
			return true
		},
		func(v *T, x any) { *at(v) = x.(bool) }}
}

// AlertColumns describes the columns of alerts, in the order in which they are written.
func AlertColumns() []Column { return columnsOf(alertFields) }

// ClaimState is how far somebody is with telling of an alert.
type ClaimState string

// The states, in their order.
const (
	ClaimRaising ClaimState = "raising" // its row is being written, and its line logged
	ClaimOpen    ClaimState = "open"    // both were
	ClaimEnding  ClaimState = "ending"  // the row is being ended, and the end's line logged
)

// Claim is an alert that lasts, and who is about to tell what of it. Whoever brings it to ClaimRaising or ClaimEnding does
// what follows; if he does not get there, another takes the claim over.
type Claim struct {
	Alert
	State ClaimState
	Owner string    // of the state
	At    time.Time // since when
}

var claimFields = slices.Concat(lifted(alertFields, func(c *Claim) *Alert { return &c.Alert }), []field[Claim]{
	text("state", "raising, open or ending", func(c *Claim) *string { return (*string)(&c.State) }),
	text("owner", "who brought it there", func(c *Claim) *string { return &c.Owner }),
	instant("at", "when", func(c *Claim) *time.Time { return &c.At }),
})

// lifted are fields of a part of a U.
func lifted[T, U any](fields []field[T], at func(*U) *T) (out []field[U]) {
	for _, f := range fields {
		out = append(out, field[U]{f.Column, func(u *U) any { return f.get(at(u)) }, func(u *U, v any) { f.set(at(u), v) }})
	}
	return out
}
