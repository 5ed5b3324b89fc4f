package main

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// explained is where a column of a row comes from, as json and csv hold it.
type explained struct {
	Row      int     `json:"row"` // of those shown, from 1
	Column   string  `json:"column"`
	Value    *string `json:"value"` // nil: the row lacks it, because what the document writes is no number
	Unit     string  `json:"unit"`
	Original string  `json:"original"`
	As       string  `json:"original_unit"`
	Where    string  `json:"where"`
}

// explain joins a row's columns with how the document writes them.
func explain(row int, r *result.Result, of []foreign.Explanation) []explained {
	stored := tables.RowOf(r)
	values, out := tables.Values(&stored), make([]explained, 0, len(of))
	for _, e := range of {
		out = append(out, explained{row, e.Column, columnText(values[e.Column]), columnUnit(e.Column), e.Original, e.Unit, e.Where})
	}
	return out
}

// columnText is a column's value as it is stored; nil for one that the row lacks.
func columnText(v any) *string {
	text := ""
	switch v := v.(type) {
	case nil:
		return nil
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		text = v.UTC().Format(time.RFC3339Nano)
	default:
		text = fmt.Sprint(v)
	}
	return &text
}

// columnUnit is the unit of a row's column.
func columnUnit(column string) string {
	for _, c := range tables.Columns() {
		if c.Name == column {
			return c.Unit
		}
	}
	return ""
}

// explainTable shows where the figures come from.
func explainTable(w *bytes.Buffer, st style, all []explained) {
	t := &table{columns: []column{number("row"), left("column"), number("value"), left("unit"), number("in the document"), left("unit"), left("where")}}
	for _, e := range all {
		value := absent
		if e.Value != nil {
			value = *e.Value
		}
		t.add(strconv.Itoa(e.Row), e.Column, value, e.Unit, e.Original, e.As, e.Where)
	}
	t.render(w, st)
}
