package main

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/tables"
)

// explained is where a column of a row comes from, as json and csv hold it.
type explained struct {
	Row      int    `json:"row"` // of those shown, from 1
	Column   string `json:"column"`
	Value    string `json:"value"`
	Unit     string `json:"unit"`
	Original string `json:"original"`
	As       string `json:"original_unit"`
	Where    string `json:"where"`
}

// explain joins a row's columns with how the document writes them.
func explain(row int, record *runRecord, of []foreign.Explanation) []explained {
	values, out := columnsOf(record), make([]explained, 0, len(of))
	for _, e := range of {
		value, ok := values[e.Column]
		if !ok {
			value = absent
		}
		out = append(out, explained{row, e.Column, value, columnUnit(e.Column), e.Original, e.Unit, e.Where})
	}
	return out
}

// columnsOf are a record's values by their names, those of the structs inside it too.
func columnsOf(record *runRecord) map[string]string {
	out := map[string]string{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			f, value := v.Type().Field(i), v.Field(i)
			if f.Anonymous {
				walk(value)
				continue
			}
			if value.Kind() == reflect.Pointer {
				if value.IsNil() {
					continue
				}
				value = value.Elem()
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch x := value.Interface().(type) {
			case float64:
				out[name] = strconv.FormatFloat(x, 'f', -1, 64)
			default:
				out[name] = fmt.Sprint(x)
			}
		}
	}
	walk(reflect.ValueOf(*record))
	for _, name := range []string{"warmup", "sent", "received", "lost", "late", "duplicate", "reordered"} { // the rows' own names
		if v, ok := out[name]; ok {
			out[name+"_count"] = v
		}
	}
	return out
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
		t.add(strconv.Itoa(e.Row), e.Column, e.Value, e.Unit, e.Original, e.As, e.Where)
	}
	t.render(w, st)
}
