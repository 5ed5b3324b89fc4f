package reflect

import (
	"io"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// eventually tries until it works, for ten seconds.
func eventually(t *testing.T, what string, works func() bool) {
	t.Helper()
	for range 1000 {
		if works() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not in ten seconds: %s", what)
}

// used is what a live session has used of its budget.
func (r *running) used(id wire.SessionID) int64 {
	r.bulk.mu.Lock()
	defer r.bulk.mu.Unlock()
	if s := r.bulk.live[id]; s != nil {
		return s.budget.Used()
	}
	return -1
}

// Who opens a session again goes on with the budget that it had.
func TestAReopenedSessionHasWhatIsLeftOfItsBudget(t *testing.T) {
	s := listedBulk(1)
	s.Spec.Bulk.MaxBytes = 10_000
	r, _ := open(t, Limits{}, s)
	first := wire.Opening{Role: wire.RoleUp, Spec: s.Spec}
	for _, c := range []struct{ write, used int64 }{{6000, 6000}, {5000, 10_000}} {
		var said wire.Accepted
		eventually(t, "the session is open", func() bool {
			conn, answer := introduce(t, r, s, control(s))
			if said = answer; said.Failure != "" {
				return false
			}
			stream, answer := introduce(t, r, s, first)
			if answer.Failure != "" {
				t.Fatal(answer)
			}
			write(t, stream, make([]byte, c.write))
			eventually(t, "all is counted", func() bool { return r.used(s.ID) == c.used })
			_ = conn.Close()
			return true
		})
	}
	eventually(t, "the session has nothing left", func() bool {
		_, said := introduce(t, r, s, control(s))
		return said.Failure == wire.FailureBudget
	})
}

// A sender that waits for its rate, here for half an hour, does not keep its session's slot.
func TestASlowRateHoldsNoSlot(t *testing.T) {
	slow, next := listedBulk(1), listedBulk(2)
	slow.Spec.Bulk.Direction, slow.Spec.Bulk.RateBPS = wire.DirectionDown, 8
	r, _ := open(t, Limits{}, slow, next)
	conn, said := introduce(t, r, slow, control(slow))
	if said.Failure != "" {
		t.Fatal(said)
	}
	down, said := introduce(t, r, slow, wire.Opening{Role: wire.RoleDown, Spec: slow.Spec})
	if said.Failure != "" {
		t.Fatal(said)
	}
	if err := wire.WriteFrame(conn, wire.ThroughputOrder{}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(down, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	eventually(t, "another session is admitted", func() bool {
		_, said := introduce(t, r, next, control(next))
		return said.Failure == ""
	})
}
