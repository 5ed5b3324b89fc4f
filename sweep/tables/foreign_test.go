package tables

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/sweep/result"
)

// foreignOf are the results of a foreign document of one series: runs a second apart, from a
// second on.
func foreignOf(t testing.TB, env, document string, from time.Time, n int) []result.Result {
	t.Helper()
	series := seriesOf(env, "office", "eastus")
	series.Probe = "ext.mine"
	out := make([]result.Result, n)
	for i := range out {
		out[i] = measured(t, series, from.Add(time.Duration(i)*time.Second), 1000)
		out[i].Assignment, out[i].Attempt, out[i].Tool = "", "", "isochrone"
		out[i].Document = "raw-" + env + "/foreign/date=2026-11-30/" + document + ".json"
	}
	return out
}

// holders counts the rows by the document that they are of.
func holders(t testing.TB, s *Store) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, r := range allRuns(t, s, RunQuery{}) {
		_, name, _ := strings.Cut(r.Document, "date=2026-11-30/")
		out[strings.TrimSuffix(name, ".json")]++
	}
	return out
}

func expectHolders(t testing.TB, s *Store, want map[string]int) {
	t.Helper()
	if got := holders(t, s); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("rows by document: %v, want %v", got, want)
	}
}

func TestAForeignRunStaysTheFirstDocuments(t *testing.T) {
	s, ctx := newStore(t), background(t)
	a, b := foreignOf(t, s.environment, "a", slot0, 2), foreignOf(t, s.environment, "b", slot0.Add(time.Second), 3)
	must(t, s.AddForeign(ctx, a))
	must(t, s.AddForeign(ctx, a)) // the same again
	if err := s.AddForeign(ctx, b); !errors.Is(err, result.ErrTaken) || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), a[0].Document) {
		t.Errorf("another document with a run in common: %v", err)
	}
	expectHolders(t, s, map[string]int{"a": 2})
	must(t, s.AddForeign(ctx, b[1:]))
	expectHolders(t, s, map[string]int{"a": 2, "b": 2})
}

// A row of the second batch, and one in the next month's table, which are not written together
// with those before them.
func TestAForeignDocumentIsStoredWholeOrNotAtAll(t *testing.T) {
	for name, taken := range map[string]time.Duration{"in the second batch": 0, "in the next month": 249 * time.Second} {
		t.Run(name, func(t *testing.T) {
			s, ctx := newStore(t), background(t)
			from := time.Date(2026, 11, 30, 23, 57, 55, 0, time.UTC) // 125 rows in each month
			must(t, s.AddForeign(ctx, foreignOf(t, s.environment, "a", from.Add(taken), 1)))
			b := foreignOf(t, s.environment, "b", from, 250)
			if err := s.AddForeign(ctx, b); !errors.Is(err, result.ErrTaken) {
				t.Errorf("error is %v", err)
			}
			expectHolders(t, s, map[string]int{"a": 1})
		})
	}
}

// The process ended in the middle, and before its next try another document took a row.
func TestWhatWasStoredOfAForeignDocumentBeforeAConflictIsTakenBack(t *testing.T) {
	s, ctx := newStore(t), background(t)
	b := foreignOf(t, s.environment, "b", slot0, 3)
	must(t, s.AddForeign(ctx, b[1:])) // the newest come first
	must(t, s.AddForeign(ctx, foreignOf(t, s.environment, "a", slot0, 1)))
	if err := s.AddForeign(ctx, b); !errors.Is(err, result.ErrTaken) {
		t.Errorf("error is %v", err)
	}
	expectHolders(t, s, map[string]int{"a": 1})
	s2 := newStore(t)
	b = foreignOf(t, s2.environment, "b", slot0, 3)
	must(t, s2.AddForeign(ctx, b[1:]))
	must(t, s2.AddForeign(ctx, b)) // nobody did: it goes on
	expectHolders(t, s2, map[string]int{"b": 3})
}

func TestOfForeignDocumentsAtOnceOneIsStored(t *testing.T) {
	s, ctx := newStore(t), background(t)
	must(t, s.Ensure(ctx, slot0))
	var lock sync.Mutex
	stored := map[string]int{}
	var work sync.WaitGroup
	for i := range 6 {
		document := fmt.Sprint("d", i)
		rs := foreignOf(t, s.environment, document, slot0, 120+i)
		work.Go(func() {
			err := s.AddForeign(ctx, rs)
			switch {
			case err == nil:
				lock.Lock()
				stored[document] = len(rs)
				lock.Unlock()
			case !errors.Is(err, result.ErrTaken):
				t.Error(err)
			}
		})
	}
	work.Wait()
	if len(stored) > 1 {
		t.Errorf("stored are %v", stored)
	}
	expectHolders(t, s, stored)
}

func TestForeignDocumentsSurviveABadConnection(t *testing.T) {
	bad, good, transport := newFlaky(t, 5)
	ctx := background(t)
	for i := range 10 {
		from := slot0.Add(time.Duration(i) * time.Hour)
		a, b := foreignOf(t, bad.environment, "a", from, 3), foreignOf(t, bad.environment, "b", from.Add(-time.Second), 2)
		must(t, bad.AddForeign(ctx, a))
		if err := bad.AddForeign(ctx, b); !errors.Is(err, result.ErrTaken) {
			t.Fatalf("document %d: %v", i, err)
		}
	}
	expectHolders(t, good, map[string]int{"a": 30})
	for i, n := range transport.counts {
		if n < 3 {
			t.Errorf("fault %d was injected %d times: the test shows nothing", i, n)
		}
	}
}

func TestAForeignDocumentThatCannotBeDeletedIsAFault(t *testing.T) {
	a, env := azuritetest.Environment(t)
	s, err := open(a, env, settings{patience: patience{try: time.Second, first: time.Millisecond, most: time.Millisecond, budget: 20 * time.Millisecond},
		transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodDelete {
				return nil, errCut
			}
			return http.DefaultClient.Do(r)
		})})
	must(t, err)
	ctx := background(t)
	b := foreignOf(t, env, "b", slot0, 2)
	must(t, s.AddForeign(ctx, b[1:]))
	must(t, s.AddForeign(ctx, foreignOf(t, env, "a", slot0, 1)))
	if err := s.AddForeign(ctx, b); err == nil || errors.Is(err, result.ErrTaken) {
		t.Errorf("error is %v: want a fault, so that it is tried again", err)
	}
}

func TestAddForeignRefusesWhatIsNotOneForeignDocument(t *testing.T) {
	s := newStore(t)
	ours, other := foreignOf(t, s.environment, "a", slot0, 1), foreignOf(t, s.environment, "b", slot0.Add(time.Minute), 1)
	ours[0].Series.Probe = "tcp-64"
	none := foreignOf(t, s.environment, "a", slot0, 1)
	none[0].Document = ""
	for what, rs := range map[string][]result.Result{"a planned run": ours, "no document": none,
		"two documents": append(foreignOf(t, s.environment, "a", slot0, 1), other...)} {
		if err := s.AddForeign(context.Background(), rs); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
