package socket

import "sync/atomic"

// Threads bounds how many of a program's threads wait in the kernel for one connection each, as a
// Stream's do. A few are woken sooner than the runtime's poller wakes a goroutine; hundreds would
// be hundreds of stacks, and more work for the scheduler that they are to avoid.
type Threads struct {
	taken atomic.Int32
	limit int32
}

// NewThreads makes a budget of limit threads; of none, if limit is 0.
func NewThreads(limit int) *Threads { return &Threads{limit: int32(limit)} }

// Take takes a thread out of the budget, which Give puts back. It returns false if none is left.
func (t *Threads) Take() bool {
	if t.taken.Add(1) <= t.limit {
		return true
	}
	t.taken.Add(-1)
	return false
}

// Give puts back what Take took.
func (t *Threads) Give() { t.taken.Add(-1) }
