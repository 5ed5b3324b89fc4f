package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// event is something that happens at an instant of the month.
type event struct {
	at time.Time
	do func(ctx context.Context)
}

// slot simulates an hour: what is done to the system, and the ticks and steps around the slot.
func (m *month) slot(ctx context.Context, slot time.Time) error {
	m.tally.slots++
	m.delayed = false
	m.mishaps(slot)
	if err := m.muster(); err != nil {
		return err
	}
	events := m.events(slot)
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	outage := -1
	if m.chance(60) {
		outage = m.random.IntN(len(events))
		m.tally.outages++
	}
	victim, when := m.victim(len(events))
	for i, e := range events {
		m.clock.set(e.at, 0)
		var beside sync.WaitGroup
		if i == outage {
			calm := m.weather.rate.Load()
			m.weather.become(1)
			beside.Go(func() {
				time.Sleep(300 * time.Millisecond)
				m.weather.rate.Store(calm)
			})
		}
		if victim != nil && i == when {
			delay := time.Duration(m.random.IntN(60)) * time.Millisecond
			beside.Go(func() {
				time.Sleep(delay)
				m.killed(victim, victim.kill())
			})
		}
		step, cancel := context.WithTimeout(ctx, stepTime)
		e.do(step)
		cancel()
		beside.Wait()
		if victim != nil && i == when && !victim.back.After(m.clock.month()) { // it comes back at once
			if err := m.muster(); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// chance is one in n, or as many as the month is rough.
func (m *month) chance(n int) bool { return !m.calm && m.random.IntN(n) < m.rough }

// killed notes a kill.
func (m *month) killed(c *member, was bool) {
	switch {
	case !was:
	case slices.Contains(m.handlers, c):
		m.tally.killedHandlers++
	default:
		m.tally.killedProbers++
	}
}

// victim picks whom a slot kills, at which of its events, and for how long.
func (m *month) victim(events int) (*member, int) {
	if !m.chance(5) {
		return nil, 0
	}
	c := m.handlers[1]
	if m.random.IntN(2) == 0 {
		c = m.probers[1+m.random.IntN(len(m.probers)-1)]
	}
	c.back = time.Time{}
	if m.random.IntN(3) == 0 {
		c.back = m.clock.month().Add(time.Duration(1+m.random.IntN(240)) * time.Minute)
	}
	return c, m.random.IntN(events)
}

// mishaps decides on an hour's weather, and on clocks and on the app as a whole.
func (m *month) mishaps(slot time.Time) {
	switch r := m.random.IntN(1000); {
	case m.calm:
		m.weather.become(0)
	case r < 850:
		m.weather.become(0.002)
	case r < 980:
		m.weather.become(0.02)
	default:
		m.weather.become(0.15)
	}
	wrong := false
	for _, c := range m.crew() {
		if c.skew != 0 && slot.After(c.skewed) {
			c.skew = 0
		}
		wrong = wrong || c.skew != 0
	}
	if !wrong && m.chance(16) {
		all := m.crew()
		c := all[m.random.IntN(len(all))]
		c.skew = time.Duration(10+m.random.IntN(590)) * time.Second
		if m.random.IntN(2) == 0 {
			c.skew = -c.skew
		}
		c.skewed = slot.Add(time.Duration(m.random.IntN(6)) * time.Hour)
		m.tally.jumps++
	}
	if slot.After(m.away) && m.chance(100) {
		m.away = slot.Add(time.Duration(60+m.random.IntN(300)) * time.Minute)
		m.tally.awake++
	}
}

// events are what happens around a slot.
func (m *month) events(slot time.Time) []event {
	chosen := m.handlers[m.random.IntN(2)]
	if chosen.alive() == nil {
		chosen = m.handlers[0]
	}
	both := m.chance(20)
	m.delayed = chosen.skew != 0
	tick := slot.Add(50*time.Millisecond - chosen.skew) // the host goes by the same machine's clock
	out := []event{
		{slot.Add(-10 * time.Second), m.step(true)},
		{slot.Add(40 * time.Second), m.step(false)},
		{slot.Add(90 * time.Second), m.tick(doIngest, nil, false)},
		{slot.Add(150 * time.Second), m.laggards},
		{slot.Add(12 * time.Minute), m.laggards},
		{slot.Add(13 * time.Minute), m.tick(doIngest, nil, both)},
		{slot.Add(16 * time.Minute), m.tick(doRollup, nil, both)},
	}
	switch {
	case !slot.Before(m.away): // the app is there at the slot
		out = append(out, event{tick, m.tick(doSweep, chosen, both)})
		if chosen.skew > 0 {
			out = append(out, event{tick.Add(-10 * time.Second), m.step(true)})
		}
	case m.away.Before(slot.Add(time.Hour)): // it comes back within the hour, past due
		out = append(out, event{m.away, m.tick(doSweep, nil, false)}, event{m.away.Add(40 * time.Second), m.step(true)},
			event{m.away.Add(2 * time.Minute), m.tick(doIngest, nil, false)})
	}
	if slot.Hour()%strangersEvery == 0 {
		m.unsent = append(m.unsent, m.measured(slot.Add(14*time.Minute)))
	}
	if len(m.unsent) > 0 {
		out = append(out, event{slot.Add(15 * time.Minute), m.send})
	}
	if slot.Hour() == 1 {
		out = append(out, event{slot.Add(20 * time.Minute), m.tick(doCompact, nil, both)})
	}
	if slot.Hour()%6 == 5 {
		out = append(out, event{slot.Add(30 * time.Minute), m.weigh})
	}
	return out
}

// each gives orders side by side and waits for them.
func (m *month) each(ctx context.Context, members []*member, o order, then func(*member, answer, error)) {
	var all sync.WaitGroup
	var one sync.Mutex
	for _, c := range members {
		all.Go(func() {
			o := o
			o.Now = m.clock.month()
			a, err := c.ask(ctx, o)
			one.Lock()
			defer one.Unlock()
			then(c, a, err)
		})
	}
	all.Wait()
}

// step has probers do what they do all the time.
func (m *month) step(beat bool) func(context.Context) {
	return func(ctx context.Context) { m.stepOf(ctx, m.probers, beat) }
}

func (m *month) stepOf(ctx context.Context, probers []*member, beat bool) {
	m.each(ctx, probers, order{Do: doStep, Beat: beat}, func(c *member, a answer, err error) {
		if errors.Is(err, errGone) || errors.Is(err, errBusy) || ctx.Err() != nil {
			return
		}
		c.spooled = a.Counts["spooled"]
		m.tally.refused += a.Counts["refused"]
		m.tally.dropped[c.task.Name+" "+time.Duration(c.starts).String()] = a.Counts["dropped"]
	})
}

// laggards has those probers make another step that have something left to do.
func (m *month) laggards(ctx context.Context) {
	var behind []*member
	for _, p := range m.probers {
		if p.spooled > 0 || p.skew != 0 || m.delayed {
			behind = append(behind, p)
		}
	}
	m.stepOf(ctx, behind, true)
}

// tick fires a timer, on one of the handlers or on both. A tick that fails counts as served, as the host
// has it.
func (m *month) tick(do string, on *member, both bool) func(context.Context) {
	return func(ctx context.Context) {
		if m.clock.month().Before(m.away) {
			return
		}
		to := on // if it was killed meanwhile, the tick fails: its host fires all the same
		if to == nil {
			to = m.handlers[m.random.IntN(2)]
			if to.alive() == nil {
				to = m.handlers[0]
			}
		}
		members := []*member{to}
		if both {
			members = m.handlers
		}
		o := order{Do: do}
		if do == doSweep {
			o.Next = m.next
			m.next = m.clock.month().Add(to.skew).Truncate(time.Hour).Add(time.Hour)
		}
		m.each(ctx, members, o, func(_ *member, a answer, err error) {
			if err != nil {
				m.delayed = true
				m.tally.failedTicks++
				m.note("%s %s: %v", m.clock.month().Format(time.RFC3339), do, err)
			}
			m.tally.sweeps += a.Counts["planned"]
			m.tally.missed += a.Counts["missed"]
			m.tally.received += a.Counts["received"]
			m.tally.expired += a.Counts["expired"]
		})
	}
}

// note writes a line into the children's log.
func (m *month) note(format string, args ...any) {
	_, _ = m.log.WriteString(sprintLine(format, args...))
}
