package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"strconv"

	"isochrone/sweep/answers"
	"isochrone/sweep/archive"
	"isochrone/sweep/tables"
)

// writeRecords writes rows while they are read, and says how many.
func writeRecords(to io.Writer, format string, e *answers.Export) (n int, err error) {
	counted := counting(e.Rows, &n)
	out := bufio.NewWriterSize(faultyWriter{to}, 64<<10)
	switch format {
	case formatJSON:
		err = writeRowsJSON(out, e.Columns, counted)
	case formatParquet:
		err = archive.WriteRecords(out, recordColumns(e.Columns), counted, func() map[string]string {
			return map[string]string{"isochrone.runs": strconv.Itoa(e.Rests.Runs), "isochrone.simulated": strconv.FormatBool(e.Rests.Simulated)}
		})
	default:
		err = writeRowsCSV(out, e.Columns, counted)
	}
	if err != nil {
		return n, err
	}
	return n, out.Flush()
}

func counting(rows iter.Seq2[[]any, error], n *int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for values, err := range rows {
			if err == nil {
				*n++
			}
			if !yield(values, err) || err != nil {
				return
			}
		}
	}
}

func writeRowsCSV(out *bufio.Writer, columns []tables.Column, rows iter.Seq2[[]any, error]) error {
	w := csv.NewWriter(out)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.Name
	}
	if err := w.Write(line); err != nil {
		return err
	}
	for values, err := range rows {
		if err != nil {
			return err
		}
		for i, v := range values {
			line[i] = recordText(v)
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// writeRowsJSON writes one array with a row a line, the keys in the order of the columns.
func writeRowsJSON(out *bufio.Writer, columns []tables.Column, rows iter.Seq2[[]any, error]) error {
	keys := make([][]byte, len(columns))
	for i, c := range columns {
		key, err := json.Marshal(c.Name)
		if err != nil {
			return err
		}
		keys[i] = append(key, ':')
	}
	var line, safe bytes.Buffer
	before := "[\n"
	for values, err := range rows {
		if err != nil {
			return err
		}
		line.Reset()
		line.WriteString(before + "{")
		before = ",\n"
		for i, v := range values {
			if i > 0 {
				line.WriteByte(',')
			}
			line.Write(keys[i])
			text, err := json.Marshal(v)
			if err != nil {
				return err
			}
			safe.Reset()
			writeSafe(&safe, string(text))
			line.Write(safe.Bytes())
		}
		line.WriteByte('}')
		if _, err := out.Write(line.Bytes()); err != nil {
			return err
		}
	}
	if before == "[\n" {
		before = "["
	} else {
		before = "\n"
	}
	_, err := out.WriteString(before + "]\n")
	return err
}

// recordColumns are the columns as a Parquet file has them.
func recordColumns(columns []tables.Column) []archive.RecordColumn {
	types := map[tables.Type]archive.RecordType{tables.String: archive.TextRecord, tables.Int32: archive.CountRecord,
		tables.Double: archive.NumberRecord, tables.Boolean: archive.TruthRecord, tables.DateTime: archive.InstantRecord}
	out := make([]archive.RecordColumn, len(columns))
	for i, c := range columns {
		out[i] = archive.RecordColumn{Name: c.Name, Type: types[c.Type]}
	}
	return out
}
