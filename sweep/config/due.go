package config

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"

	"isochrone/prober/wire"
)

// day is a day of UTC: a day of a zone whose clocks change is one hour shorter or longer.
const day = 24 * time.Hour

// maxRotation is how many times of a day a schedule may name that rotates. Four weeks meet them all,
// with days to spare for one on which a clock changes.
const maxRotation = 24

// Due says whether the probe is due at a slot, a whole minute.
//
// A schedule names a minute of its own time zone's clock: where the clock goes forward the
// minutes that are left out are not due that day, and where it goes back those that are
// repeated are due twice, as two slots.
func (p *Probe) Due(slot time.Time) bool {
	slot = wire.Slot(slot)
	return p.Cron != nil && p.Next(slot.Add(-time.Second)).Equal(slot)
}

// Next is the first slot after t at which the probe is due, in UTC; the zero time where there is none for
// five years.
func (p *Probe) Next(t time.Time) time.Time {
	if !p.Rotate {
		if next := p.Cron.Next(t.UTC()); !next.IsZero() {
			return next.UTC()
		}
		return time.Time{}
	}
	for today := t.UTC().Truncate(day); ; today = today.Add(day) {
		if slot := p.rotated(today); slot.After(t) {
			return slot
		}
	}
}

// rotated is the one slot of a day of UTC at which a probe that rotates is due.
//
// The times of the schedule's clock take turns, one a day. Where clocks change, a time may be
// missing from a day: then it changes places with the next day's, so that it is met all the same, within
// a day of its turn.
func (p *Probe) rotated(today time.Time) time.Time {
	times := p.times()
	n := len(times)
	number := int(today.Unix() / int64(day/time.Second))
	turn := func(of int) int { return times[((of%n)+n)%n] }
	if _, there := p.at(today.Add(-day), turn(number-1)); !there {
		if slot, there := p.at(today, turn(number-1)); there {
			return slot
		}
	}
	if slot, there := p.at(today, turn(number)); there {
		return slot
	}
	if slot, there := p.at(today, turn(number+1)); there {
		return slot
	}
	return p.Cron.Next(today.Add(-time.Second)).UTC() // several are missing: whatever comes first
}

// at is the first slot in a day of UTC at which the schedule's clock shows a minute of the day.
func (p *Probe) at(today time.Time, minute int) (slot time.Time, there bool) {
	end := today.Add(day)
	for slot = p.Cron.Next(today.Add(-time.Second)); !slot.IsZero() && slot.Before(end); slot = p.Cron.Next(slot) {
		if local := slot.In(p.zone()); local.Hour()*60+local.Minute() == minute {
			return slot.UTC(), true
		}
	}
	return time.Time{}, false
}

func (p *Probe) zone() *time.Location {
	if s, ok := p.Cron.(*cron.SpecSchedule); ok {
		return s.Location
	}
	return time.UTC
}

// times are the minutes of the day that the schedule names by its own clock, in order.
func (p *Probe) times() (out []int) {
	s, ok := p.Cron.(*cron.SpecSchedule)
	if !ok {
		return []int{0}
	}
	for hour := range 24 {
		for minute := range 60 {
			if s.Hour&(1<<hour) != 0 && s.Minute&(1<<minute) != 0 {
				out = append(out, hour*60+minute)
			}
		}
	}
	return out
}

// rotates returns an error unless a schedule can rotate: it is due every day, and at as many times as
// four weeks meet.
func rotates(s *cron.SpecSchedule) error {
	const days, months, weekdays = 1<<32 - 1<<1, 1<<13 - 1<<1, 1<<7 - 1
	if s.Dom&days != days || s.Month&months != months || s.Dow&weekdays != weekdays {
		return fmt.Errorf("want a schedule that is due every day, such as 0 * * * *: the day is what the time rotates by")
	}
	const minutes, hours = 1<<60 - 1, 1<<24 - 1
	if n := bits.OnesCount64(s.Minute&minutes) * bits.OnesCount64(s.Hour&hours); n < 2 || n > maxRotation {
		return fmt.Errorf("the schedule names %d of a day's times; want 2 to %d, which four weeks meet all", n, maxRotation)
	}
	return nil
}
