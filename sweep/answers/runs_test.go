package answers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"isochrone/sweep/tables"
)

// history is runs in the store's order: by series, newest first within one.
func history(seriesCount, slots int) (out []tables.Row) {
	for i := range seriesCount {
		for j := range slots {
			out = append(out, tables.Row{Series: series(fmt.Sprintf("s%02d", i), "eastus", "public", "tcp-64"), Slot: slot.Add(time.Duration(-j) * 10 * time.Minute)})
		}
	}
	return out
}

func TestRunsAreTheNewestOfAllSeriesTogether(t *testing.T) {
	from := &store{runs: history(7, 50)}
	for _, limit := range []int{1, 10, 14, 349, 350, 351} {
		got, err := ReadRuns(t.Context(), from, tables.RunQuery{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if got.Total != 350 || len(got.Rows) != min(limit, 350) {
			t.Fatalf("limit %d: %d rows of %d, want %d of 350", limit, len(got.Rows), got.Total, min(limit, 350))
		}
		for i, r := range got.Rows {
			wantSlot, wantSource := slot.Add(time.Duration(-(i/7))*10*time.Minute), fmt.Sprintf("s%02d", i%7)
			if !r.Slot.Equal(wantSlot) || r.Series.Source != wantSource {
				t.Fatalf("limit %d: row %d is %s of %s, want %s of %s", limit, i, r.Slot, r.Series.Source, wantSlot, wantSource)
			}
		}
	}
	for _, asked := range from.limits {
		if asked != 0 {
			t.Errorf("the store was asked for %d rows: its order is by series, and the newest of other series would be lost", asked)
		}
	}
}

func TestRunsWithoutALimitAreAll(t *testing.T) {
	got, err := ReadRuns(t.Context(), &store{runs: history(3, 100)}, tables.RunQuery{})
	if err != nil || len(got.Rows) != 300 || got.Total != 300 {
		t.Errorf("%d rows of %d, %v; want 300 of 300", len(got.Rows), got.Total, err)
	}
}

func TestRunsAreNotAnsweredInPart(t *testing.T) {
	broken := errors.New("storage is away")
	if got, err := ReadRuns(t.Context(), &store{runs: history(1, 5), err: broken}, tables.RunQuery{}); !errors.Is(err, broken) || got != nil {
		t.Errorf("%v, %v; want no answer and the store's error", got, err)
	}
}
