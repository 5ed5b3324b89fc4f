// Package ncrontab evaluates NCRONTAB expressions, the schedules of the Functions host's timers,
// so that what the host will make of a schedule is known before it is deployed.
//
// Six fields: second, minute, hour, day of the month, month, day of the week (0 to 6, Sunday is
// 0). Each is a list of *, values, ranges a-b, and either with a step (*/5, 10-40/10, and 5/10
// which is 5-59/10). Months and days of the week may be named, in English, by any beginning of
// the name (J is January, Ju is June, MON is Monday), in any case. An instant is an occurrence
// when all six fields hold: unlike cron, and unlike robfig/cron, which runs the probe schedules,
// the two day fields are not alternatives. There is no ?, L, W, #, @every or TZ=, and no time
// zone: times are UTC, as the Flex Consumption plan has them.
//
// Parse refuses three things that the host takes and that nobody means: a range that runs
// backwards (FRI-MON is Monday to Friday there), a step below one (read as one), and a date that
// never comes (30 February). The grammar is that of github.com/atifaziz/NCrontab, which the host
// links.
package ncrontab

import (
	"math/bits"
	"time"
)

// Schedule is a parsed expression. It may be compared and copied. The zero Schedule has no
// occurrence.
type Schedule struct {
	spec string
	// One bit a value that holds; bit 0 is the value 0, in every field.
	second, minute, hour, day, month, weekday uint64
}

// horizon is how many years a search looks ahead or back. The rarest dates are 29 February on a
// given day of the week: they are at most 40 years apart (across 1900, 2100 …).
const horizon = 41

// lastYear is the last that the host can express.
const lastYear = 9999

// String is the expression as it was given to Parse.
func (s Schedule) String() string { return s.spec }

// Next is the first occurrence after t, in UTC. It is the zero time when there is none before
// the year 10000.
func (s Schedule) Next(t time.Time) time.Time {
	u := t.UTC().Truncate(time.Second).Add(time.Second)
	if s.second == 0 || u.Year() < 1 || u.Year() > lastYear {
		return time.Time{}
	}
	if c, ok := s.clockFrom(clock{u.Hour(), u.Minute(), u.Second()}); ok && s.onDay(u) {
		return c.on(u)
	}
	day := midnight(u).AddDate(0, 0, 1)
	for end := day.Year() + horizon; day.Year() <= min(end, lastYear); {
		switch {
		case !has(s.month, int(day.Month())):
			day = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case !s.onDay(day):
			day = day.AddDate(0, 0, 1)
		default:
			return clock{first(s.hour), first(s.minute), first(s.second)}.on(day)
		}
	}
	return time.Time{}
}

// Prev is the last occurrence before t, in UTC. It is the zero time when there is none after the
// year 0.
func (s Schedule) Prev(t time.Time) time.Time {
	u := t.UTC().Add(-time.Nanosecond).Truncate(time.Second)
	if s.second == 0 || u.Year() < 1 || u.Year() > lastYear {
		return time.Time{}
	}
	if c, ok := s.clockUpTo(clock{u.Hour(), u.Minute(), u.Second()}); ok && s.onDay(u) {
		return c.on(u)
	}
	day := midnight(u).AddDate(0, 0, -1)
	for end := day.Year() - horizon; day.Year() >= max(end, 1); {
		switch {
		case !has(s.month, int(day.Month())):
			day = time.Date(day.Year(), day.Month(), 0, 0, 0, 0, 0, time.UTC)
		case !s.onDay(day):
			day = day.AddDate(0, 0, -1)
		default:
			return clock{last(s.hour), last(s.minute), last(s.second)}.on(day)
		}
	}
	return time.Time{}
}

// onDay says whether all three day fields hold on t's date.
func (s Schedule) onDay(t time.Time) bool {
	return has(s.month, int(t.Month())) && has(s.day, t.Day()) && has(s.weekday, int(t.Weekday()))
}

// clock is a time of the day.
type clock struct{ hour, minute, second int }

func (c clock) on(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), c.hour, c.minute, c.second, 0, time.UTC)
}

// clockFrom is the first time of the day that holds, at or after c.
func (s Schedule) clockFrom(c clock) (clock, bool) {
	if has(s.hour, c.hour) {
		if has(s.minute, c.minute) {
			if v, ok := atLeast(s.second, c.second); ok {
				return clock{c.hour, c.minute, v}, true
			}
		}
		if v, ok := atLeast(s.minute, c.minute+1); ok {
			return clock{c.hour, v, first(s.second)}, true
		}
	}
	v, ok := atLeast(s.hour, c.hour+1)
	return clock{v, first(s.minute), first(s.second)}, ok
}

// clockUpTo is the last time of the day that holds, at or before c.
func (s Schedule) clockUpTo(c clock) (clock, bool) {
	if has(s.hour, c.hour) {
		if has(s.minute, c.minute) {
			if v, ok := atMost(s.second, c.second); ok {
				return clock{c.hour, c.minute, v}, true
			}
		}
		if v, ok := atMost(s.minute, c.minute-1); ok {
			return clock{c.hour, v, last(s.second)}, true
		}
	}
	v, ok := atMost(s.hour, c.hour-1)
	return clock{v, last(s.minute), last(s.second)}, ok
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

func has(set uint64, v int) bool { return set>>v&1 == 1 }

func first(set uint64) int { return bits.TrailingZeros64(set) }

func last(set uint64) int { return 63 - bits.LeadingZeros64(set) }

func atLeast(set uint64, v int) (int, bool) {
	set &= ^uint64(0) << v
	return first(set), set != 0
}

func atMost(set uint64, v int) (int, bool) {
	set &= 1<<(v+1) - 1
	return last(set), set != 0
}
