package main

import (
	"sync"
	"time"
)

// clock shows the time of the simulated month. The driver sets it forward; between two settings it goes at
// the pace of the machine's. A child's own clock may be wrong: it is skew ahead of the month's.
type clock struct {
	mu   sync.Mutex
	base time.Time
	at   time.Time // when base was set, by the machine's monotonic clock
	skew time.Duration
}

// set sets the month's time and the child's skew. The month's time never goes back.
func (c *clock) set(month time.Time, skew time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.at.IsZero() || month.After(c.base.Add(now.Sub(c.at))) {
		c.base, c.at = month, now
	}
	c.skew = skew
}

// month is the month's time.
func (c *clock) month() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(time.Since(c.at)).UTC()
}

// now is the time as the child has it.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(time.Since(c.at)).Add(c.skew).UTC()
}
