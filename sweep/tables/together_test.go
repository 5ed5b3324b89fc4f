package tables

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func named(row string) []operation { return []operation{{entity: entity{partition: "p", row: row}}} }

// Those who come while a write is under way are written together, by one that begins after they came.
func TestThoseWhoWaitAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := together{limit: time.Minute}
		var begun []int // operations of each write
		write := func(_ context.Context, ops []operation) error {
			begun = append(begun, len(ops))
			time.Sleep(time.Second)
			return nil
		}
		var all sync.WaitGroup
		start := time.Now()
		for i := range 10 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				came := time.Now()
				if err := x.write(t.Context(), named(fmt.Sprint(i)), write); err != nil {
					t.Error(err)
				}
				if took := time.Since(came); took < time.Second {
					t.Errorf("caller %d waited %s: less than a write takes", i, took)
				}
			})
		}
		all.Wait()
		if took := time.Since(start); took != 2*time.Second || len(begun) != 2 || begun[0] != 1 || begun[1] != 9 {
			t.Errorf("%d writes of %d operations took %s: want one of 1 and one of 9, and 2 s", len(begun), begun, took)
		}
	})
}

// What one of several callers wants cannot be written: the others do not hear of it.
func TestAFaultIsItsOwnersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := together{limit: time.Minute}
		bad := errors.New("bad")
		write := func(_ context.Context, ops []operation) error {
			time.Sleep(time.Second)
			for _, op := range ops {
				if op.row == "3" {
					return bad
				}
			}
			return nil
		}
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				if err := x.write(t.Context(), named(fmt.Sprint(i)), write); (i == 3) != errors.Is(err, bad) {
					t.Errorf("caller %d: %v", i, err)
				}
			})
		}
		all.Wait()
	})
}

// A caller who gives up takes nobody with him, though the write was begun for him.
func TestACallerWhoGivesUpLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := together{limit: time.Minute}
		write := func(ctx context.Context, _ []operation) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		hasty, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if err := x.write(hasty, named("a"), write); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the hasty one: %v", err)
			}
		})
		all.Go(func() {
			time.Sleep(50 * time.Millisecond)
			if err := x.write(t.Context(), named("b"), write); err != nil {
				t.Errorf("the other: %v", err)
			}
		})
		all.Wait()
		synctest.Wait()
	})
}

// A write that hangs ends, and the next begins.
func TestAWriteThatHangsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := together{limit: time.Minute}
		hang := func(ctx context.Context, _ []operation) error { <-ctx.Done(); return ctx.Err() }
		begun := time.Now()
		for range 2 {
			if err := x.write(t.Context(), named("a"), hang); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took != 2*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}
