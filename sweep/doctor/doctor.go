// Package doctor looks at everything that an environment needs to go on measuring, and says of each
// part whether it is in order and what to do where it is not. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
	"isochrone/sweep/inbox"
	"isochrone/sweep/tables"
)

// State says how a part is.
type State string

// The states. Only a Fault keeps the environment from measuring, or loses what it measured.
const (
	OK      State = "ok"
	Warning State = "warning"
	Fault   State = "fault"
	// Unknown: it could not be looked at.
	Unknown State = "unknown"
)

// The checks, in the order in which they are made.
const (
	CheckAccess        = "access"
	CheckClock         = "clock"
	CheckConfiguration = "configuration"
	CheckProbers       = "probers"
	CheckAddresses     = "addresses"
	CheckSchedule      = "schedule"
	CheckSweeps        = "sweeps"
	CheckInbox         = "inbox"
	CheckHours         = "hours"
	CheckLake          = "lake"
	CheckQuarantine    = "quarantine"
	CheckAlerts        = "alerts"
)

// Finding is what was found of one part.
type Finding struct {
	Check   string
	Subject string // what of it: a container, a prober; empty where it is the whole
	State   State
	Text    string
	// Err is what kept it from being looked at; nil for most.
	Err error
	// Remedy is what to do; empty where nothing is to be done.
	Remedy string
}

// Blobs is where the environment's documents lie (archive.Store).
type Blobs interface {
	answers.StatusBlobs
	// Access asks for each of the containers.
	Access(ctx context.Context) []account.Access
	// Inbox lists what waits, of each folder the first by name.
	Inbox(ctx context.Context, most int) iter.Seq2[inbox.Item, error]
	// Quarantined lists what was refused, newest first.
	Quarantined(ctx context.Context, since time.Time, prefix string) iter.Seq2[inbox.Held, error]
}

// Rows is where the environment's rows lie (tables.Store).
type Rows interface {
	answers.Ledger
	// Access asks for each of the tables.
	Access(ctx context.Context, now time.Time) []account.Access
	// ServiceTime is the storage service's clock, exact to a second.
	ServiceTime(ctx context.Context) (time.Time, error)
	// OpenSweeps lists the slots of sweeps that nobody has closed yet.
	OpenSweeps(ctx context.Context) ([]time.Time, error)
	// HourMarks lists the hours that wait to be computed.
	HourMarks(ctx context.Context) ([]tables.HourMark, error)
	// DayMarks lists the days that wait to be compacted.
	DayMarks(ctx context.Context) ([]tables.DayMark, error)
	// Claims lists the alerts that are open.
	Claims(ctx context.Context) ([]tables.Claim, error)
}

// Doctor examines one environment.
type Doctor struct {
	Environment string
	Blobs       Blobs
	Rows        Rows
	Resolver    Resolver
	// Now is this machine's clock.
	Now func() time.Time
}

// examination is one round through the checks. Each adds its findings, and leaves what the later
// ones need.
type examination struct {
	*Doctor
	findings []Finding
	now      time.Time // by the storage service's clock, where it could be asked
	config   *config.Config
	hash     string // of the configuration
	probers  []answers.Prober
}

// Examine makes all checks, and returns at least one finding of each. What cannot be looked at is
// Unknown, with the reason.
func (d *Doctor) Examine(ctx context.Context) []Finding {
	e := &examination{Doctor: d, now: d.Now().UTC()}
	for _, check := range []struct {
		name  string
		make  func(context.Context) error
		needs bool // a configuration
	}{
		{CheckAccess, e.access, false},
		{CheckClock, e.clock, false},
		{CheckConfiguration, e.configuration, false},
		{CheckProbers, e.heartbeats, false},
		{CheckAddresses, e.addresses, true},
		{CheckSchedule, e.schedule, true},
		{CheckSweeps, e.sweeps, false},
		{CheckInbox, e.waiting, false},
		{CheckHours, e.hours, false},
		{CheckLake, e.lake, false},
		{CheckQuarantine, e.quarantine, false},
		{CheckAlerts, e.alerts, false},
	} {
		if check.needs && e.config == nil {
			e.add(Finding{Check: check.name, State: Unknown, Text: "there is no usable configuration to hold it against"})
			continue
		}
		if err := check.make(ctx); err != nil {
			remedy := "see what access says, and try again"
			if errors.Is(err, context.DeadlineExceeded) {
				remedy = "give it more time with --timeout"
			}
			e.add(Finding{Check: check.name, State: Unknown, Text: "it could not be looked at", Err: err, Remedy: remedy})
		}
	}
	return e.findings
}

// found adds what is not in order.
func (e *examination) found(check, subject string, state State, text, remedy string) {
	e.add(Finding{Check: check, Subject: subject, State: state, Text: text, Remedy: remedy})
}

func (e *examination) add(f Finding) { e.findings = append(e.findings, f) }

func (e *examination) ok(check, subject, format string, args ...any) {
	e.add(Finding{Check: check, Subject: subject, State: OK, Text: fmt.Sprintf(format, args...)})
}

// age is a time before now for people, to a second below an hour and to a minute above.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d/time.Hour), int(d%time.Hour/time.Minute))
	}
	return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// plural is a count with its noun.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// slotAllowance is how long after its slot a sweep may be planned without anybody wondering.
const slotAllowance = 3 * time.Minute

// nextDue is the first slot after t at which any probe is due; zero where there is none.
func nextDue(c *config.Config, t time.Time) (first time.Time) {
	for i := range c.Probes {
		if next := wire.Slot(c.Probes[i].Next(t)); !c.Probes[i].Next(t).IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	return first
}
