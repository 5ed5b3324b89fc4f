package ingest

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"isochrone/sweep/dispatch/storetest"
)

func holding(t *testing.T, s *storetest.Store) *Ingester {
	t.Helper()
	s.Deliver("northeurope/1020_"+strings.Repeat("a", 32)+"_0000000a.json.gz", []byte("rubbish"), time.Now())
	return &Ingester{Environment: "test1", Inbox: s, Archive: s, Rows: s, Ledger: s, Now: time.Now, Log: slog.New(slog.DiscardHandler), Budget: NewBudget()}
}

// Who waits for room and runs out of time has neither lost nor spoilt anything.
func TestWhoFindsNoRoomLeavesTheDocument(t *testing.T) {
	for what, of := range map[string]func(*Budget) (*semaphore.Weighted, int64){
		"for the body":           func(b *Budget) (*semaphore.Weighted, int64) { return b.bodies, bodiesBudget },
		"for what is made of it": func(b *Budget) (*semaphore.Weighted, int64) { return b.opened, openedBudget },
	} {
		t.Run(what, func(t *testing.T) {
			s := storetest.New("test1")
			g := holding(t, s)
			full, n := of(g.Budget)
			if !full.TryAcquire(n) {
				t.Fatal("the budget is not empty")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if report, err := g.Drain(ctx); err == nil || !strings.Contains(err.Error(), "of memory") || report.Left != 1 {
				t.Errorf("report %+v, error %v", report, err)
			}
			if n := s.Attempts(s.Waiting()[0]); n != 0 {
				t.Errorf("%d attempts", n)
			}
			full.Release(n)
			if report, err := g.Drain(t.Context()); err != nil || report.Quarantined != 1 {
				t.Errorf("then: report %+v, error %v", report, err)
			}
			if !g.Budget.bodies.TryAcquire(bodiesBudget) || !g.Budget.opened.TryAcquire(openedBudget) {
				t.Error("room was not given back")
			}
		})
	}
}

func TestTheLargestDocumentFindsRoom(t *testing.T) {
	b := NewBudget()
	for range 2 {
		leave, err := b.open(t.Context(), 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
}

func TestAnIngesterWithoutBudgetHasOneOfItsOwn(t *testing.T) {
	g, other := &Ingester{}, &Ingester{}
	own := g.budget()
	if own == nil || g.budget() != own || other.budget() == own {
		t.Error("want one for each")
	}
}
