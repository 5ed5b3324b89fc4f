package archive

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
)

// RecordType is what a column of records holds.
type RecordType int

// The types. Instants are UTC, to the microsecond.
const (
	TextRecord    RecordType = iota // string
	CountRecord                     // int, as INT64
	NumberRecord                    // float64
	InstantRecord                   // time.Time
	TruthRecord                     // bool
)

// RecordColumn is a column of records. All of them may be null.
type RecordColumn struct {
	Name string
	Type RecordType
}

// maxRowsPerRecordGroup bounds what is held while records are written.
const maxRowsPerRecordGroup = 16 << 10

// WriteRecords writes records as a Parquet file, in their order, while they are taken: no more than a row group of
// them is held. A value is what the column's type says, or nil. notes go into the footer's metadata once all rows
// are taken.
func WriteRecords(to io.Writer, columns []RecordColumn, rows iter.Seq2[[]any, error], notes func() map[string]string) error {
	w := parquet.NewWriter(to, recordSchema(columns), parquet.CreatedBy("isochrone", "1", "records"), // never the library's version: the bytes would change with it
		parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(1), parquet.MaxRowsPerRowGroup(maxRowsPerRecordGroup))
	const atOnce = 256
	batch := make([]parquet.Row, 0, atOnce)
	flush := func() error {
		_, err := w.WriteRows(batch)
		batch = batch[:0]
		return err
	}
	n := 0
	for values, err := range rows {
		if err != nil {
			return err
		}
		row, err := recordOf(columns, values, batch)
		if err != nil {
			return fmt.Errorf("writing record %d: %w", n, err)
		}
		n++
		if batch = append(batch, row); len(batch) == atOnce {
			if err := flush(); err != nil {
				return fmt.Errorf("writing %d records: %w", n, err)
			}
		}
	}
	if err := flush(); err != nil {
		return fmt.Errorf("writing %d records: %w", n, err)
	}
	if notes != nil {
		list := notes()
		for _, key := range slices.Sorted(maps.Keys(list)) {
			w.SetKeyValueMetadata(key, list[key])
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("writing %d records: %w", n, err)
	}
	return nil
}

// recordOf makes a row, in the memory of an earlier one behind the end of the batch if there is any.
func recordOf(columns []RecordColumn, values []any, batch []parquet.Row) (parquet.Row, error) {
	if len(values) != len(columns) {
		return nil, fmt.Errorf("%d values: want %d", len(values), len(columns))
	}
	var row parquet.Row
	if n := len(batch); n < cap(batch) {
		row = batch[:n+1][n][:0]
	}
	for i, v := range values {
		cell := parquet.NullValue().Level(0, 0, i)
		if v != nil {
			value, ok := recordValue(columns[i].Type, v)
			if !ok {
				return nil, fmt.Errorf("column %q: a %T", columns[i].Name, v)
			}
			cell = value.Level(0, 1, i)
		}
		row = append(row, cell)
	}
	return row, nil
}

func recordValue(as RecordType, v any) (parquet.Value, bool) {
	switch x := v.(type) {
	case string:
		return parquet.ByteArrayValue([]byte(x)), as == TextRecord
	case int:
		return parquet.Int64Value(int64(x)), as == CountRecord
	case float64:
		return parquet.DoubleValue(x), as == NumberRecord
	case bool:
		return parquet.BooleanValue(x), as == TruthRecord
	case time.Time:
		return parquet.Int64Value(x.UnixMicro()), as == InstantRecord
	}
	return parquet.Value{}, false
}

// recordSchema has the columns in their own order: a parquet.Group would sort them by name.
func recordSchema(columns []RecordColumn) *parquet.Schema {
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		var of reflect.Type
		options := ",optional"
		switch c.Type {
		case TextRecord:
			of, options = reflect.TypeFor[string](), ",optional,dict"
		case CountRecord:
			of = reflect.TypeFor[int64]()
		case NumberRecord:
			of = reflect.TypeFor[float64]()
		case TruthRecord:
			of = reflect.TypeFor[bool]()
		case InstantRecord:
			of, options = reflect.TypeFor[int64](), ",optional,timestamp(microsecond:utc)"
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: of, Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s%s"`, c.Name, options))}
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}
