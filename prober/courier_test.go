package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"isochrone/prober/mailbox"
	"isochrone/prober/spool"
)

// carried is a courier with an inbox that answers as told; use it inside synctest.
type carried struct {
	*courier
	mu       sync.Mutex
	answer   func(name string) error
	attempts []string // names, in the order in which they came
	order    []string // those that were taken
	now      int      // deliveries under way
	most     int      // the most that were
	dropped  []string
}

func newCarried(t *testing.T, o spool.Options, batch int64) *carried {
	t.Helper()
	k := &carried{}
	o.Dropped = func(name string, reason spool.Reason, err error) {
		k.dropped = append(k.dropped, string(reason)+" "+name)
		k.gaveUp(name, reason, err)
	}
	s, err := spool.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	k.courier = &courier{
		inbox: k, spool: s, metrics: newMetrics(s.Stats), log: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1), last: make(chan struct{}), batch: batch,
	}
	return k
}

func (k *carried) Deliver(ctx context.Context, name string, _ []byte) error {
	k.mu.Lock()
	k.attempts = append(k.attempts, name)
	k.now++
	k.most = max(k.most, k.now)
	k.mu.Unlock()
	time.Sleep(100 * time.Millisecond) // a round trip
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now--
	if k.answer != nil {
		if err := k.answer(name); err != nil {
			return err
		}
	}
	k.order = append(k.order, name)
	return nil
}

func (k *carried) putN(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("d%03d", i))
		k.put(names[i], make([]byte, 1000))
	}
	return names
}

// during runs the courier for a time and then cuts it off.
func (k *carried) during(t *testing.T, d time.Duration) {
	t.Helper()
	k.run(ctxFor(t, d))
}

func TestABacklogIsDeliveredSideBySideAndInOrder(t *testing.T) {
	for batch, want := range map[int64]int{1: 1, 3500: 3, 1 << 20: sideBySide} {
		synctest.Test(t, func(t *testing.T) {
			k := newCarried(t, spool.Options{}, batch)
			names := k.putN(48)
			close(k.last)
			began := time.Now()
			k.during(t, time.Hour)
			if took, rounds := time.Since(began), 48/want; took != time.Duration(rounds)*100*time.Millisecond || k.most != want {
				t.Errorf("%d bytes: %d side by side, %s; want %d, and %d round trips", batch, k.most, took, want, rounds)
			}
			for i := 0; i < len(names); i += want { // within a batch any may be first
				if got := slices.Sorted(slices.Values(k.order[i : i+want])); !slices.Equal(got, names[i:i+want]) {
					t.Errorf("%d bytes: batch %q, want %q", batch, got, names[i:i+want])
				}
			}
		})
	}
}

func TestWhileStorageIsAwayOneDocumentIsTriedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCarried(t, spool.Options{}, 1<<20)
		names := k.putN(20)
		back := time.Now().Add(time.Hour)
		k.answer = func(string) error {
			if time.Now().Before(back) {
				return errStorage
			}
			return nil
		}
		k.during(t, 62*time.Minute)
		if len(k.order) != 20 || k.spool.Len() != 0 || k.most != sideBySide {
			t.Fatalf("%d of 20 delivered, %d side by side", len(k.order), k.most)
		}
		// A wait is half a minute on average: some 120 an hour. The first batch had eight attempts.
		if n := len(k.attempts) - 20; n < 60 || n > 260 {
			t.Errorf("%d attempts in vain within an hour", n)
		}
		rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == k.order[0] })
		for i := 0; i < len(rest); i += sideBySide { // after the one that told that storage is back: in order
			to := min(i+sideBySide, len(rest))
			if got := slices.Sorted(slices.Values(k.order[1:][i:to])); !slices.Equal(got, rest[i:to]) {
				t.Errorf("batch %q, want %q", got, rest[i:to])
			}
		}
	})
}

func TestADocumentThatStorageWillNotHaveHoldsUpNoOther(t *testing.T) {
	for _, batch := range []int64{1, 1 << 20} { // also where none is delivered beside it
		for _, poison := range []int{0, 5, 19} {
			synctest.Test(t, func(t *testing.T) {
				k := newCarried(t, spool.Options{}, batch)
				names := k.putN(20)
				k.answer = func(name string) error {
					if name == names[poison] {
						return errStorage
					}
					return nil
				}
				k.during(t, 30*time.Second)
				if len(k.order) != 19 {
					t.Errorf("document %d, batches of %d bytes: %d others were delivered within half a minute, want 19", poison, batch, len(k.order))
				}
				k.attempts = nil
				k.during(t, 24*time.Hour)
				if n := len(k.attempts); n < 20 || n > 24*60*3 {
					t.Errorf("on its own it was tried %d times in a day", n)
				}
				k.answer = nil
				k.during(t, 2*time.Hour)
				if k.spool.Len() != 0 {
					t.Error("it is not delivered although storage takes it now")
				}
			})
		}
	}
}

func TestANewDocumentIsDeliveredWhileAnotherIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCarried(t, spool.Options{}, 1<<20)
		k.answer = func(name string) error {
			if name == "d000" {
				return errStorage
			}
			return nil
		}
		k.putN(30)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { k.run(ctx); close(done) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if at := k.marks["d000"]; at == nil || at.strikes < strikes {
			t.Fatalf("%+v: it is not set back", at)
		}
		for range 5 {
			k.put("new", nil)
			time.Sleep(200 * time.Millisecond)
			if k.spool.Len() != 1 {
				t.Error("a new document waits for one that is set back")
			}
		}
		stop()
		<-done
	})
}

func TestARefusedDocumentIsCountedAndGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCarried(t, spool.Options{}, 1<<20)
		k.putN(3)
		k.answer = func(name string) error {
			if name == "d001" {
				return mailbox.ErrConflict
			}
			return nil
		}
		close(k.last)
		k.during(t, time.Hour)
		if !slices.Equal(k.dropped, []string{"refused d001"}) || k.spool.Len() != 0 || len(k.attempts) != 3 {
			t.Errorf("given up %q, %d left, %d attempts", k.dropped, k.spool.Len(), len(k.attempts))
		}
	})
}

func TestDocumentsExpireDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCarried(t, spool.Options{TTL: time.Hour, Uptime: sinceNow()}, 1<<20)
		k.putN(3)
		k.answer = func(string) error { return errStorage }
		k.during(t, 59*time.Minute)
		if k.spool.Len() != 3 {
			t.Errorf("%d left before the hour is over", k.spool.Len())
		}
		k.during(t, 5*time.Minute)
		if k.spool.Len() != 0 || len(k.dropped) != 3 || k.dropped[0] != "expired d000" {
			t.Errorf("%d left, given up %q", k.spool.Len(), k.dropped)
		}
		if err := k.courier.inbox.Deliver(t.Context(), "x", nil); !errors.Is(err, errStorage) {
			t.Error("the inbox of this test takes documents: it looked at nothing")
		}
	})
}
