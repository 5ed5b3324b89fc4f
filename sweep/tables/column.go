package tables

import (
	"encoding/json"
	"fmt"
	"time"
)

// Type is a column's type in the table service.
type Type string

// The types that are used: every client of the service reads them as plain text, numbers, times and
// truth values.
const (
	String   Type = "Edm.String"
	Boolean  Type = "Edm.Boolean"
	Int32    Type = "Edm.Int32"
	Double   Type = "Edm.Double"
	DateTime Type = "Edm.DateTime" // UTC, 100 ns
)

// Column describes a column. A row without a value for it does not have the property.
type Column struct {
	Name    string
	Type    Type
	Unit    string // empty where there is none
	Meaning string
}

// Table describes a table. docs/formats.md is held against Columns by a test.
type Table struct {
	// Name with <env>, and <yyyymm> or <yyyy> where there is a table a month or a year.
	Name         string
	PartitionKey string
	RowKey       string
	Holds        string
	Columns      []Column
}

// Tables describes every table that this package keeps.
func Tables() []Table {
	return []Table{
		{"runs<env><yyyymm>", "source", "target|path|probe|rev", "one row a run; rev is ten digits of 9999999999 − the slot's Unix seconds", Columns()},
		{"latest<env>", "path|probe", "source|target", "the newest run of each series", Columns()},
		{"sweeps<env><yyyymm>", "yyyymmddThhmm", "0", "the header of a sweep", columnsOf(headerFields)},
		{"sweeps<env><yyyymm>", "yyyymmddThhmm", "1|source|probe|part", "an assignment of a sweep", columnsOf(entryFields)},
		{"dirty<env>", "hour", "source|yyyymmddThh", "an hour of a source whose rows have changed", columnsOf(dirtyFields)},
		{"dirty<env>", "day", "source|yyyymmdd", "a day of a source whose rows have changed", columnsOf(dirtyFields)},
		{"dirty<env>", "sweep", "yyyymmddThhmm", "a sweep that is not finished", columnsOf(openFields)},
		{"hours<env><yyyy>", "source", "target|path|probe|rev", "one row an hour of a series; rev is of the hour's first second", HourColumns()},
		{"profiles<env>", "source", "target|path|probe|HH", "an hour of the day (UTC) of a series, over the trailing 28 days", ProfileColumns()},
		{"dirty<env>", "profile", "source", "the day on which a source's profiles were computed last", columnsOf(stateFields)},
		{"series<env>", "source", "target|path|probe", "a series that ever had a run", columnsOf(keptSeriesFields)},
		{"levels<env>", "source", "target|path|probe", "median and smallest round trip of a series' hours of four weeks, which alerts are made of", columnsOf(keptLevelFields)},
		{"alerts<env>", "kind", "rev|series", "what was worth telling, and when it was over; rev is of since", AlertColumns()},
		{"alerts<env>", "open", "kind|series", "an alert that lasts, and how far it was told", columnsOf(claimFields)},
		{"probers<env>", "prober", "prober id", "the last registration and heartbeat, as the app saw it", columnsOf(proberFields)},
	}
}

// Columns describes the columns of runs and latest, in the order in which they are written.
func Columns() []Column { return columnsOf(rowFields) }

// HourColumns describes the columns of hours, in the order in which they are written.
func HourColumns() []Column { return columnsOf(hourFields) }

// ProfileColumns describes the columns of profiles, in the order in which they are written.
func ProfileColumns() []Column { return columnsOf(profileFields) }

// field is a column of the rows that a T is stored as.
type field[T any] struct {
	Column
	// get returns a string, bool, int, float64, time.Time, or nil when the row lacks the column.
	get func(*T) any
	// set is given what get returned.
	set func(*T, any)
}

func columnsOf[T any](fields []field[T]) []Column {
	out := make([]Column, len(fields))
	for i, f := range fields {
		out[i] = f.Column
	}
	return out
}

// encode makes the entity of a v.
func encode[T any](partition, row string, fields []field[T], v *T) (entity, error) {
	w := newEntity(partition, row)
	for i := range fields {
		w.put(fields[i].Name, fields[i].get(v))
	}
	return w.done()
}

// decode reads an entity into v. Properties that are not columns are left alone.
func decode[T any](body []byte, fields []field[T], v *T) error {
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(body, &properties); err != nil {
		return fmt.Errorf("reading a row: %w", err)
	}
	for i := range fields {
		raw, ok := properties[fields[i].Name]
		if !ok || string(raw) == "null" { // null must not become 0
			continue
		}
		value, err := fields[i].parse(raw)
		if err != nil {
			return fmt.Errorf("reading row %s %s, column %s: %w", properties["PartitionKey"], properties["RowKey"], fields[i].Name, err)
		}
		fields[i].set(v, value)
	}
	return nil
}

func (c Column) parse(raw json.RawMessage) (any, error) {
	switch c.Type {
	case Int32:
		return parseAs[int](raw)
	case Boolean:
		return parseAs[bool](raw)
	case Double:
		return parseAs[float64](raw)
	case DateTime:
		t, err := parseAs[time.Time](raw)
		if err != nil {
			return nil, err
		}
		return t.(time.Time).UTC(), nil
	default:
		return parseAs[string](raw)
	}
}

func parseAs[V any](raw json.RawMessage) (any, error) {
	var v V
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// The makers of fields, one a Go type. field returns where the value is kept.

func text[T any](name, meaning string, at func(*T) *string) field[T] {
	return field[T]{Column{name, String, "", meaning},
		func(v *T) any {
			if s := *at(v); s != "" {
				return s
			}
			return nil
		},
		func(v *T, x any) { *at(v) = x.(string) }}
}

func count[T any](name, unit, meaning string, at func(*T) *int) field[T] {
	return field[T]{Column{name, Int32, unit, meaning},
		func(v *T) any { return *at(v) },
		func(v *T, x any) { *at(v) = x.(int) }}
}

// someCount is a count that is absent for none.
func someCount[T any](name, unit, meaning string, at func(*T) *int) field[T] {
	return field[T]{Column{name, Int32, unit, meaning + "; absent for none"},
		func(v *T) any {
			if n := *at(v); n != 0 {
				return n
			}
			return nil
		},
		func(v *T, x any) { *at(v) = x.(int) }}
}

// marked is true, or absent.
func marked[T any](name, meaning string, at func(*T) *bool) field[T] {
	return field[T]{Column{name, Boolean, "", meaning + "; absent otherwise"},
		func(v *T) any {
			if !*at(v) {
				return nil
			}
			return true
		},
		func(v *T, x any) { *at(v) = x.(bool) }}
}

func maybeCount[T any](name, unit, meaning string, at func(*T) **int) field[T] {
	return field[T]{Column{name, Int32, unit, meaning},
		func(v *T) any {
			if p := *at(v); p != nil {
				return *p
			}
			return nil
		},
		func(v *T, x any) { n := x.(int); *at(v) = &n }}
}

func number[T any](name, unit, meaning string, at func(*T) **float64) field[T] {
	return field[T]{Column{name, Double, unit, meaning},
		func(v *T) any {
			if p := *at(v); p != nil {
				return *p
			}
			return nil
		},
		func(v *T, x any) { f := x.(float64); *at(v) = &f }}
}

func instant[T any](name, meaning string, at func(*T) *time.Time) field[T] {
	return field[T]{Column{name, DateTime, "UTC", meaning},
		func(v *T) any {
			if t := *at(v); !t.IsZero() {
				return t
			}
			return nil
		},
		func(v *T, x any) { *at(v) = x.(time.Time) }}
}

func maybeInstant[T any](name, meaning string, at func(*T) **time.Time) field[T] {
	return field[T]{Column{name, DateTime, "UTC", meaning},
		func(v *T) any {
			if t := *at(v); t != nil {
				return *t
			}
			return nil
		},
		func(v *T, x any) { t := x.(time.Time); *at(v) = &t }}
}

// RunValues are the values of a run in the order of Columns, put into a slice that may be used again: each a
// string, bool, int, float64, time.Time, or nil where the row lacks it.
func RunValues(r *Row, into []any) []any { return valuesOf(rowFields, r, into) }

// HourValues are the values of an hour in the order of HourColumns.
func HourValues(h *Hour, into []any) []any { return valuesOf(hourFields, h, into) }

func valuesOf[T any](fields []field[T], v *T, into []any) []any {
	into = into[:0]
	for i := range fields {
		into = append(into, fields[i].get(v))
	}
	return into
}
