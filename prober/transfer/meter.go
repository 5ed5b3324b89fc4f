package transfer

import (
	"time"

	"isochrone/prober/wire"
)

const (
	// readEvery is how often a meter is read.
	readEvery = 100 * time.Millisecond
	// maxReadings is how often it is read at the most: of long runs less often than readEvery.
	maxReadings = wire.MaxFlowIntervals / 2
)

// Meter turns a receiver's count into intervals, by its own monotonic clock. The ramp ends with the
// first reading that is due at its end or later, and the count with the first that is a whole
// duration after that: a reading that is late makes an interval longer, never a rate wrong.
type Meter struct {
	begin        time.Time
	every        time.Duration
	ramp, during time.Duration
	ramped       bool
	counting     time.Duration // since when it counts
	last         time.Duration
	total        int64
	over         bool
}

// NewMeter makes a meter that begins then, at a total of zero.
func NewMeter(begin time.Time, ramp, during time.Duration) *Meter {
	every := max(readEvery, ((ramp+during)/maxReadings).Round(time.Millisecond)+time.Millisecond)
	if (ramp+during)/readEvery <= maxReadings {
		every = readEvery
	}
	return &Meter{begin: begin, every: every, ramp: ramp, during: during, ramped: ramp == 0}
}

// Due is when it is to be read next.
func (m *Meter) Due() time.Time {
	next := (m.last/m.every + 1) * m.every
	if next-m.last < m.every/2 { // the one before was late, or early at the end of the ramp
		next += m.every
	}
	switch {
	case m.over: // it may still be read, as often as before
	case !m.ramped:
		next = min(next, max(m.ramp, m.last+1))
	default:
		next = min(next, max(m.counting+m.during, m.last+1))
	}
	return m.begin.Add(next)
}

// Read notes what has arrived since the reading before.
func (m *Meter) Read(total int64) wire.Reading {
	now := max(time.Since(m.begin), m.last+1)
	r := wire.Reading{AtNS: int64(m.last), ForNS: int64(now - m.last), Bytes: total - m.total, Ramp: !m.ramped}
	m.last, m.total = now, total
	switch {
	case !m.ramped && now >= m.ramp:
		m.ramped, m.counting = true, now
	case m.ramped && now-m.counting >= m.during:
		m.over = true
	}
	return r
}

// Over says whether the duration was counted.
func (m *Meter) Over() bool { return m.over }

// Since is the time of the last reading since the beginning.
func (m *Meter) Since() time.Duration { return m.last }
