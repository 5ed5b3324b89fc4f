package archive

import (
	"bytes"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

var recordColumns = []RecordColumn{{"slot", InstantRecord}, {"target", TextRecord}, {"run_count", CountRecord}, {"rtt_p50_us", NumberRecord}, {"simulated", TruthRecord}}

func recordsOf(n int, last error) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		values := make([]any, 5) // used again, as by whoever streams
		for i := range n {
			values[0], values[1], values[2], values[3], values[4] = time.Date(2026, 11, 30, 10, 0, i, 1500, time.UTC), "eastus", i, float64(i)/2, i%2 == 0
			if i%3 == 1 {
				values[1], values[2], values[3], values[4] = nil, nil, nil, nil
			}
			if !yield(values, nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

func TestRecordsAreReadBackInTheirOrderWithNullWhereNothingWas(t *testing.T) {
	const n = maxRowsPerRecordGroup + 1000 // in two groups
	var out bytes.Buffer
	if err := WriteRecords(&out, recordColumns, recordsOf(n, nil), func() map[string]string { return map[string]string{"isochrone.runs": "7"} }); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Slot   time.Time `parquet:"slot,optional,timestamp(microsecond:utc)"`
		Target *string   `parquet:"target,optional"`
		Runs   *int64    `parquet:"run_count,optional"`
		P50    *float64  `parquet:"rtt_p50_us,optional"`
		Made   *bool     `parquet:"simulated,optional"`
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := f.Lookup("isochrone.runs"); v != "7" || len(f.RowGroups()) != 2 {
		t.Errorf("note %q in %d row groups; want 7 in 2", v, len(f.RowGroups()))
	}
	for i, c := range f.Schema().Fields() {
		if c.Name() != recordColumns[i].Name || !c.Optional() {
			t.Errorf("column %d is %q, optional %t; want %q", i, c.Name(), c.Optional(), recordColumns[i].Name)
		}
	}
	rows, err := parquet.Read[row](bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil || len(rows) != n {
		t.Fatalf("%d rows, %v; want %d", len(rows), err, n)
	}
	for i, r := range rows {
		if want := time.Date(2026, 11, 30, 10, 0, i, 1000, time.UTC); !r.Slot.Equal(want) {
			t.Fatalf("row %d: slot %s, want %s to the microsecond", i, r.Slot, want)
		}
		if null := i%3 == 1; null != (r.Target == nil) || null != (r.Runs == nil) || null != (r.P50 == nil) || null != (r.Made == nil) {
			t.Fatalf("row %d: %+v", i, r)
		} else if !null && (*r.Target != "eastus" || *r.Runs != int64(i) || *r.P50 != float64(i)/2 || *r.Made != (i%2 == 0)) {
			t.Fatalf("row %d: %s %d %f", i, *r.Target, *r.Runs, *r.P50)
		}
	}
}

func TestRecordsThatCannotBeReadOrWrittenAreErrors(t *testing.T) {
	lost := errors.New("the storage is gone")
	if err := WriteRecords(&bytes.Buffer{}, recordColumns, recordsOf(5, lost), nil); !errors.Is(err, lost) {
		t.Errorf("%v, want that of the rows", err)
	}
	for _, values := range [][]any{{1, "x", 1, 1.0, true}, {time.Time{}, "x", 1, 1.0}, {time.Time{}, "x", int64(1), 1.0, true}, {time.Time{}, "x", 1, 1.0, "true"}} {
		if err := WriteRecords(&bytes.Buffer{}, recordColumns, func(yield func([]any, error) bool) { yield(values, nil) }, nil); err == nil {
			t.Errorf("%v: no error", values)
		}
	}
	if err := WriteRecords(&bytes.Buffer{}, recordColumns, recordsOf(0, nil), nil); err != nil {
		t.Errorf("no rows: %v", err)
	}
}
