package wire

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestABudgetGivesWhatItHasAndNoMore(t *testing.T) {
	b := NewBudget(100)
	for _, c := range []struct{ asked, granted int64 }{{60, 60}, {30, 30}} {
		if got := b.Take(c.asked); got != c.granted || b.Reached() {
			t.Errorf("asked for %d: got %d, reached %v", c.asked, got, b.Reached())
		}
	}
	if b.TakeWhole(11) || b.Used() != 90 || !b.Reached() {
		t.Errorf("of the last 10, 11 were granted, or nobody noticed: used %d, reached %v", b.Used(), b.Reached())
	}
	if !b.TakeWhole(10) || b.Left() != 0 {
		t.Errorf("the last 10 were not granted: %d left", b.Left())
	}
	if b.Take(1) != 0 {
		t.Error("more than there was")
	}
	if b.Return(5); b.Left() != 5 || !b.Reached() {
		t.Errorf("after giving back 5: %d left, reached %v", b.Left(), b.Reached())
	}
	exact := NewBudget(10)
	if exact.Take(10); !exact.Reached() {
		t.Error("a budget that is used to the last byte is not reached")
	}
}

func TestABudgetIsSharedWithoutLoss(t *testing.T) {
	const most = 1_000_003
	b := NewBudget(most)
	var got atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for {
				n := b.Take(int64(7 + i))
				if n == 0 {
					return
				}
				got.Add(n)
			}
		})
	}
	all.Wait()
	if got.Load() != most || b.Used() != most || !b.Reached() {
		t.Errorf("granted %d, used %d, want %d", got.Load(), b.Used(), most)
	}
}
