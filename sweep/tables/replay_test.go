package tables

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"isochrone/sweep/result"
)

// compared are the changes that CompareRuns finds, in words.
func compared(t *testing.T, s *Store, rs []result.Result) (ds []result.Difference, words string) {
	t.Helper()
	ds, err := s.CompareRuns(background(t), rs)
	must(t, err)
	for _, d := range ds {
		words += d.Change.String() + " "
	}
	return ds, words
}

// Whatever a row holds, every column, is the same when it was written from the same result.
func TestARowIsTheSameAsTheResultThatItWasWrittenFrom(t *testing.T) {
	s, ctx := newStore(t), background(t)
	planned := full(t, s.environment)
	planned.Slot = slot0
	foreign := foreignOf(t, s.environment, "a", slot0.Add(123456789*time.Nanosecond).Truncate(time.Second), 3)
	foreign[1].Tool, foreign[1].Counted = "fping", &result.Counted{Sent: true}
	foreign[2].Run.Detail = "not UTF-8: \xff"
	_, words := compared(t, s, append([]result.Result{planned}, foreign...))
	if words != "added added added added " {
		t.Errorf("before: %s", words)
	}
	must(t, s.PutResults(ctx, []result.Result{planned}))
	must(t, s.AddForeign(ctx, foreign))
	ds, words := compared(t, s, append([]result.Result{planned}, foreign...))
	if words != "same same same same " {
		t.Errorf("after: %s %+v", words, ds)
	}
}

func TestOnlyWhatDiffersIsMendedAndOnlyAsItWasCompared(t *testing.T) {
	s, ctx := newStore(t), background(t)
	rs := foreignOf(t, s.environment, "a", slot0, 4)
	must(t, s.AddForeign(ctx, rs[:3]))
	rs[1].Run.Detail, rs[1].Provenance.VMSize = "otherwise", "Standard_D8s_v5"
	ds, words := compared(t, s, rs)
	if words != "same changed same added " || !slices.Equal(ds[1].Columns, []string{"detail", "vm_size"}) || ds[1].Document != rs[1].Document {
		t.Errorf("%s %+v", words, ds[1])
	}
	// Somebody else changes the row after it was compared.
	other := rs[1]
	other.Run.Detail = "somebody else's"
	otherwise, _ := compared(t, s, []result.Result{other})
	must(t, s.MendRuns(ctx, []result.Result{other}, otherwise))
	if err := s.MendRuns(ctx, rs, ds); !errors.Is(err, result.ErrChanged) {
		t.Errorf("mending what was changed since: %v", err)
	}
	if ds, words = compared(t, s, rs); words != "same changed same added " {
		t.Errorf("then: %s", words)
	}
	must(t, s.MendRuns(ctx, rs, ds))
	if err := s.MendRuns(ctx, rs, ds); !errors.Is(err, result.ErrChanged) { // ours, since
		t.Errorf("mending twice: %v", err)
	}
	if _, words := compared(t, s, rs); words != "same same same same " {
		t.Errorf("mended: %s", words)
	}
}

func TestARowThatCannotBeReadIsReplaced(t *testing.T) {
	s, ctx := newStore(t), background(t)
	rs := foreignOf(t, s.environment, "a", slot0, 1)
	must(t, s.AddForeign(ctx, rs))
	partition, row, err := runKey(rs[0].Series, rs[0].Slot)
	must(t, err)
	w := newEntity(partition, row)
	w.put("rtt_max_us", "a text")
	broken, err := w.done()
	must(t, err)
	must(t, s.write(ctx, s.monthName(runsTables, slot0), []operation{{entity: broken, kind: "insertreplace"}}))
	ds, words := compared(t, s, rs)
	if words != "changed " || !slices.Equal(ds[0].Columns, []string{"unreadable"}) {
		t.Fatalf("%s %+v", words, ds)
	}
	must(t, s.MendRuns(ctx, rs, ds))
	if _, words := compared(t, s, rs); words != "same " {
		t.Errorf("mended: %s", words)
	}
}

func TestTheNewestRunFollowsAndANewerOneStays(t *testing.T) {
	s, ctx := newStore(t), background(t)
	run := measured(t, seriesOf(s.environment, "westeurope", "eastus"), slot0, 1000)
	for _, c := range []struct {
		stored time.Time
		want   result.Change
	}{{slot0.Add(-time.Minute), result.Changed}, {slot0, result.Same}, {slot0.Add(time.Minute), result.Same}} {
		stored := run
		stored.Slot = c.stored
		must(t, s.PutLatest(ctx, []result.Result{stored}))
		ds, err := s.CompareLatest(ctx, []result.Result{run})
		must(t, err)
		if ds[0].Change != c.want {
			t.Errorf("stored %s: %+v, want %s", c.stored, ds[0], c.want)
		}
		must(t, s.MendLatest(ctx, []result.Result{run}, ds))
		slots, err := s.LatestSlots(ctx)
		if want := max(c.stored.Unix(), slot0.Unix()); err != nil || len(slots) != 1 || slots[run.Series].Unix() != want {
			t.Errorf("stored %s: then %v, %v", c.stored, slots, err)
		}
	}
	if _, err := s.CompareLatest(ctx, foreignOf(t, s.environment, "a", slot0, 1)); !errors.Is(err, ErrRefused) {
		t.Errorf("a foreign run: %v", err)
	}
}

func TestTheRowsOfAForeignDocumentAreFoundInEveryMonthAndDeletedAsRead(t *testing.T) {
	s, ctx := newStore(t), background(t)
	a := append(foreignOf(t, s.environment, "a", slot0, 2), foreignOf(t, s.environment, "a", slot0.AddDate(0, 2, 0), 1)...)
	a[1].Series.Target = "brazilsouth"
	must(t, s.AddForeign(ctx, a))
	must(t, s.AddForeign(ctx, foreignOf(t, s.environment, "b", slot0.Add(time.Hour), 1)))
	for _, c := range []struct {
		source, target, path string
		want                 int
	}{{"office", "", "", 3}, {"office", "eastus", a[0].Series.Path, 2}, {"office", "brazilsouth", a[0].Series.Path, 1}, {"westeurope", "", "", 0}} {
		ds, err := s.ForeignRuns(ctx, a[0].Document, c.source, c.target, c.path)
		if err != nil || len(ds) != c.want {
			t.Errorf("%+v: %+v, %v", c, ds, err)
		}
	}
	ds, err := s.ForeignRuns(ctx, a[0].Document, "office", "eastus", a[0].Series.Path)
	must(t, err)
	must(t, s.RemoveRuns(ctx, ds))
	must(t, s.RemoveRuns(ctx, ds)) // gone
	expectHolders(t, s, map[string]int{"a": 1, "b": 1})
	// What has become another row since stays.
	stale := ds[:1]
	must(t, s.AddForeign(ctx, foreignOf(t, s.environment, "c", stale[0].Slot, 1)))
	must(t, s.RemoveRuns(ctx, stale))
	expectHolders(t, s, map[string]int{"a": 1, "b": 1, "c": 1})
	for _, bad := range [][2]string{{"raw' or '1' eq '1", "office"}, {a[0].Document, ""}, {a[0].Document, "a|b"}} {
		if _, err := s.ForeignRuns(ctx, bad[0], bad[1], "", ""); !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := s.RemoveRuns(ctx, []result.Difference{{Series: a[0].Series, Slot: slot0}}); !errors.Is(err, ErrRefused) {
		t.Errorf("a row that was not read: %v", err)
	}
}

func TestMendingSurvivesABadConnection(t *testing.T) {
	bad, good, _ := newFlaky(t, 9)
	ctx := background(t)
	for i := range 10 {
		rs := foreignOf(t, bad.environment, "a", slot0, 5)
		for j := range rs {
			rs[j].Run.Detail = fmt.Sprint(i)
		}
		for {
			ds, err := bad.CompareRuns(ctx, rs)
			must(t, err)
			if err := bad.MendRuns(ctx, rs, ds); err == nil {
				break
			} else if !errors.Is(err, result.ErrChanged) { // our own try whose answer was lost
				t.Fatal(err)
			}
		}
		if _, words := compared(t, good, rs); words != "same same same same same " {
			t.Fatalf("round %d: %s", i, words)
		}
	}
}
