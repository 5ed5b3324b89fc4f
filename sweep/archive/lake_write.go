package archive

import (
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"isochrone/prober/wire"
)

// lakeWriter writes rows column by column, a row group at a time: rows as structs with pointers take
// several times as long.
type lakeWriter struct {
	w       *parquet.GenericWriter[LakeSample]
	words   *dictionary
	columns [][]parquet.Value
	n       int
}

func newLakeWriter(to io.Writer, words *dictionary, inputs string, simulated bool) *lakeWriter {
	w := &lakeWriter{words: words, w: parquet.NewGenericWriter[LakeSample](to, append(markOf(simulated),
		parquet.CreatedBy("isochrone", strconv.Itoa(LakeVersion), "lake"), // never the library's version: the bytes would change with it
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1),
		parquet.MaxRowsPerRowGroup(maxRowsPerRowGroup),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("target"), parquet.Ascending("path"), parquet.Ascending("time"))),
		parquet.KeyValueMetadata(MetaLakeVersion, strconv.Itoa(LakeVersion)),
		parquet.KeyValueMetadata(MetaInputs, inputs),
	)...)}
	w.columns = make([][]parquet.Value, len(w.w.ColumnWriters()))
	return w
}

func (w *lakeWriter) text(column int, number uint32, definition int) {
	v := parquet.ValueOf(w.words.texts[number]).Level(0, definition, column)
	w.columns[column] = append(w.columns[column], v)
}

func (w *lakeWriter) add(r *lakeRow) error {
	w.text(0, r.target, 0)
	w.text(1, r.path, 0)
	for i, v := range r.numbers {
		column, value := 2+i, parquet.Value{}
		switch {
		case i < lakeRequired:
			value = parquet.Int64Value(v).Level(0, 0, column)
		case v != wire.Null:
			value = parquet.Int64Value(v).Level(0, 1, column)
		default:
			value = parquet.NullValue().Level(0, 0, column)
		}
		w.columns[column] = append(w.columns[column], value)
	}
	const failure = 2 + numberColumns
	if r.failure != 0 {
		w.text(failure, r.failure, 1)
	} else {
		w.columns[failure] = append(w.columns[failure], parquet.NullValue().Level(0, 0, failure))
	}
	w.n++
	if w.n%valuesAtOnce != 0 {
		return nil
	}
	if err := w.values(); err != nil {
		return err
	}
	if w.n%maxRowsPerRowGroup != 0 {
		return nil
	}
	return w.w.Flush()
}

// valuesAtOnce is how many rows are gathered before they are handed over; row groups are a multiple of it.
const valuesAtOnce = 4 << 10

func (w *lakeWriter) values() error {
	for i, c := range w.w.ColumnWriters() {
		if len(w.columns[i]) == 0 {
			continue
		}
		if _, err := c.WriteRowValues(w.columns[i]); err != nil {
			return err
		}
		w.columns[i] = w.columns[i][:0]
	}
	return nil
}

func (w *lakeWriter) close() error {
	if err := w.values(); err != nil {
		return err
	}
	return w.w.Close()
}
