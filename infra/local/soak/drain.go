package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"isochrone/sweep/ledger"
)

const (
	// drainTime is how long one order may take in the end, by the machine's clock.
	drainTime = 45 * time.Second
	// drainRounds bounds how often the end is tried: each round is a minute of the month or more.
	drainRounds = 40
)

// drain lets everything come to its end: no faults, no kills, every clock right, everybody there.
func (m *month) drain(ctx context.Context) error {
	m.calm = true
	m.away = time.Time{}
	for _, c := range m.crew() {
		c.skew, c.back = 0, time.Time{}
	}
	if err := m.muster(); err != nil {
		return err
	}
	// One slot more: its sweep finds the slots before it that left no trace.
	if err := m.slot(ctx, m.end); err != nil {
		return err
	}
	m.end = m.end.Add(time.Hour)
	if err := m.settle(ctx, "documents", 2*time.Minute, func() (string, error) {
		m.send(ctx)
		m.ordered(ctx, m.probers, order{Do: doStep, Beat: true})
		m.ordered(ctx, m.handlers[:1], order{Do: doIngest})
		waiting, err := m.blobs.InboxSize(ctx)
		if waiting+m.spooled()+len(m.unsent) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d in the inbox, %d in spools", waiting, m.spooled()), err
	}); err != nil {
		return err
	}
	// A slot that was marked open and never planned stays so as long as a plan might come.
	m.clock.set(m.clock.month().Add(ledger.LateLimit+time.Hour), 0)
	if err := m.settle(ctx, "sweeps", time.Minute, func() (string, error) {
		m.ordered(ctx, m.handlers[:1], order{Do: doIngest})
		open, err := m.rows.OpenSweeps(ctx)
		if len(open) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d are open", len(open)), err
	}); err != nil {
		return err
	}
	if err := m.settle(ctx, "the lake", time.Minute, func() (string, error) {
		m.ordered(ctx, m.handlers[:1], order{Do: doCompact})
		marks, err := m.rows.DayMarks(ctx)
		if len(marks) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d days are marked", len(marks)), err
	}); err != nil {
		return err
	}
	return m.settle(ctx, "hours", time.Minute, func() (string, error) {
		m.ordered(ctx, m.handlers[:1], order{Do: doRollup})
		marks, err := m.rows.HourMarks(ctx)
		if len(marks) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d are marked", len(marks)), err
	})
}

// settle repeats a round until nothing is left, each step of the month's clock later.
func (m *month) settle(ctx context.Context, what string, step time.Duration, round func() (left string, err error)) error {
	left := ""
	for range drainRounds {
		m.clock.set(m.clock.month().Add(step), 0)
		var err error
		if left, err = round(); err != nil {
			return fmt.Errorf("bringing %s to their end: %w", what, err)
		}
		if left == "" {
			return ctx.Err()
		}
	}
	return fmt.Errorf("bringing %s to their end: after %d rounds without faults, %s", what, drainRounds, strings.TrimSpace(left))
}

// ordered gives an order and waits for it for as long as it may take.
func (m *month) ordered(ctx context.Context, members []*member, o order) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	m.each(ctx, members, o, func(c *member, a answer, err error) {
		if err != nil {
			m.note("%s %s at the end: %v", c.task.Name, o.Do, err)
		}
		if o.Do == doStep {
			c.spooled = a.Counts["spooled"]
			m.tally.refused += a.Counts["refused"]
			m.tally.dropped[c.task.Name+" "+time.Duration(c.starts).String()] = a.Counts["dropped"]
		}
		m.tally.received += a.Counts["received"]
		m.tally.expired += a.Counts["expired"]
	})
}
