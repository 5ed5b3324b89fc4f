package config

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// Alerts says what is worth an alert. Without the section in the file every kind is on, with the values
// that stand for what is left out.
type Alerts struct {
	Deviation DeviationAlerts
	Change    ChangeAlerts
	Coverage  CoverageAlerts
	Objective ObjectiveAlerts
}

// DeviationAlerts are about a series that is slower than it usually is at that hour of the week.
type DeviationAlerts struct {
	Off   bool
	Score int           // by how many spreads it has to be slower
	Least time.Duration // and by how much
}

// ChangeAlerts are about a series that got another level.
type ChangeAlerts struct {
	Off   bool
	Least time.Duration // by how much, and by 1 % at least
	Lasts time.Duration // after which the alert ends by itself
}

// CoverageAlerts are about a prober whose planned runs did not come in.
type CoverageAlerts struct {
	Off     bool
	Percent int           // of the planned runs that have to come in
	Window  time.Duration // up to the present, in which they were planned
}

// ObjectiveAlerts are about the objectives of the file.
type ObjectiveAlerts struct{ Off bool }

// DefaultAlerts is what holds where the file says nothing.
func DefaultAlerts() Alerts {
	return Alerts{
		Deviation: DeviationAlerts{Score: 4, Least: 500 * time.Microsecond},
		Change:    ChangeAlerts{Least: 500 * time.Microsecond, Lasts: 24 * time.Hour},
		Coverage:  CoverageAlerts{Percent: 90, Window: 3 * time.Hour},
	}
}

// alerts reads the section of that name, which may be absent.
func (r *reader) alerts(file section, c *Config) {
	c.Alerts = DefaultAlerts()
	n := file.values["alerts"]
	if n == nil {
		return
	}
	s, ok := r.mapping("alerts", n, "deviation", "change", "coverage", "objective")
	if !ok {
		return
	}
	a := &c.Alerts
	r.alertsOf(s, "deviation", &a.Deviation.Off, func(s section) {
		r.whole(s, "score", &a.Deviation.Score, 1, 1000, "spreads above what is usual at that hour of the week")
		r.span(s, "least", &a.Deviation.Least, time.Microsecond, time.Minute, "less is within what a machine's clock and scheduling make")
	}, "score", "least")
	r.alertsOf(s, "change", &a.Change.Off, func(s section) {
		r.span(s, "least", &a.Change.Least, 500*time.Microsecond, time.Minute, "smaller steps are not looked for")
		r.span(s, "lasts", &a.Change.Lasts, time.Hour, 7*24*time.Hour, "a change is told once, and ends by itself after that")
	}, "least", "lasts")
	r.alertsOf(s, "coverage", &a.Coverage.Off, func(s section) {
		r.whole(s, "percent", &a.Coverage.Percent, 1, 100, "of the planned runs have to come in")
		r.span(s, "window", &a.Coverage.Window, time.Hour, 24*time.Hour, "it is looked at every hour")
	}, "percent", "window")
	r.alertsOf(s, "objective", &a.Objective.Off, func(section) {})
}

// alertsOf reads the section of one kind of alerts.
func (r *reader) alertsOf(alerts section, kind string, off *bool, read func(section), keys ...string) {
	n := alerts.values[kind]
	if n == nil {
		return
	}
	s, ok := r.mapping(alerts.place(kind), n, append([]string{"off"}, keys...)...)
	if !ok {
		return
	}
	s.flag("off", off)
	read(s)
	for _, key := range keys {
		if *off && s.has(key) {
			r.fault(s.lineOf(key), "%s: says nothing where off is true; leave one of them out", s.place(key))
		}
	}
}

// whole reads a whole number within bounds.
func (r *reader) whole(s section, key string, to *int, least, most int, why string) {
	if s.number(key, to) && s.has(key) && (*to < least || *to > most) {
		r.fault(s.lineOf(key), "%s %d: want %d to %d: %s", s.place(key), *to, least, most, why)
	}
}

// span reads a time within bounds.
func (r *reader) span(s section, key string, to *time.Duration, least, most time.Duration, why string) {
	if s.duration(key, to) && s.has(key) && (*to < least || *to > most) {
		r.fault(s.lineOf(key), "%s %s: want %s to %s: %s", s.place(key), *to, least, most, why)
	}
}

// rate is like number, for a rate in bit/s that is more than nothing.
func (s section) rate(key string, to *float64) bool {
	n := s.values[key]
	if n == nil {
		return true
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		if bps, err := ParseRate(n.Value); err == nil {
			*to = bps
			return true
		}
	}
	s.r.wrong(s.place(key), n, WantRate)
	return false
}
