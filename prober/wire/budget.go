package wire

import "sync/atomic"

// Budget meters the payload of a bulk session at one of its ends. Any number of goroutines may take
// from it.
type Budget struct {
	most  int64
	used  atomic.Int64
	short atomic.Bool
}

// NewBudget is a budget of so many bytes.
func NewBudget(most int64) *Budget { return &Budget{most: most} }

// Take takes up to n bytes, and returns how many it got: 0 when the budget is used up.
func (b *Budget) Take(n int64) (granted int64) {
	for {
		used := b.used.Load()
		granted = max(min(n, b.most-used), 0)
		if granted < n {
			b.short.Store(true)
		}
		if b.used.CompareAndSwap(used, used+granted) {
			return granted
		}
	}
}

// TakeWhole takes n bytes or none: a message that does not fit is not begun.
func (b *Budget) TakeWhole(n int64) bool {
	for {
		used := b.used.Load()
		if n > b.most-used {
			b.short.Store(true)
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// Return gives back what was taken and not moved. The budget stays reached if it was.
func (b *Budget) Return(n int64) { b.used.Add(-n) }

// Left is how much may still be taken.
func (b *Budget) Left() int64 { return b.most - b.used.Load() }

// Used is how much was taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Short says whether somebody asked for more than was left.
func (b *Budget) Short() bool { return b.short.Load() }

// Reached says whether the budget is used up, or somebody asked for more than was left.
func (b *Budget) Reached() bool { return b.Short() || b.Left() <= 0 }
