package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
)

// The formats of an answer.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatCSV   = "csv"
	formatSVG   = "svg" // of some answers
)

func formats() []string { return []string{formatTable, formatCSV, formatJSON} }

// formatFlag gives a command --format, with its completion.
func formatFlag(cmd *cobra.Command, into *string) {
	choiceFlag(cmd, into, "format", formatTable, formats(), "how to print the answer: table, csv or json")
}

// drawnFormatFlag is formatFlag of an answer that can be drawn.
func drawnFormatFlag(cmd *cobra.Command, into *string) {
	choiceFlag(cmd, into, "format", formatTable, append(formats(), formatSVG), "how to print the answer: table, csv, json, or svg, a drawing")
}

// answer is what a command prints: one of them is chosen by --format.
type answer struct {
	text    func(w *bytes.Buffer, s style) // tables and sentences for people
	object  any                            // for JSON
	records any                            // a slice of flat structs, for CSV
	// simulated says that a model made up some of what the answer rests on: standard error says so.
	simulated bool
	drawing   func() []byte // for SVG; nil where there is none
}

// print writes an answer in one piece, so that a reader never sees half of one.
func (s *session) print(format string, a answer) error {
	var out bytes.Buffer
	switch format {
	case formatTable:
		a.text(&out, s.style())
	case formatJSON:
		if err := writeJSON(&out, a.object); err != nil {
			return err
		}
	case formatCSV:
		if err := writeCSV(&out, a.records); err != nil {
			return err
		}
	case formatSVG:
		if a.drawing == nil {
			return usage("want one of "+strings.Join(formats(), ", "), "this answer has no drawing")
		}
		out.Write(a.drawing())
	default:
		return usage("want one of "+strings.Join(formats(), ", "), "format %q is not known", format)
	}
	if a.simulated {
		defer s.warn("simulated: this answer rests on runs that a model made up, and nobody measured (sweep simulate)")
	}
	return s.write(out.Bytes())
}

func (s *session) write(b []byte) error {
	if _, err := s.stdout.Write(b); err != nil {
		return &problem{code: exitUnreachable, err: fmt.Errorf("writing the answer: %w", err)}
	}
	return nil
}

// writeJSON writes an object, indented. Characters that could steer a terminal are escaped,
// which changes nothing for who parses it.
func writeJSON(w *bytes.Buffer, v any) error {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	writeSafe(w, raw.String())
	return nil
}

// writeSafe writes JSON with the characters escaped that could steer a terminal.
func writeSafe(w *bytes.Buffer, text string) {
	for _, r := range text {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			w.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(w, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(w, `\u%04x`, r)
		}
	}
}

// writeCSV writes a slice of flat structs (RFC 4180): the header is the fields' JSON names, an
// absent value is empty, a list is joined with blanks.
func writeCSV(w *bytes.Buffer, records any) error {
	rows := reflect.ValueOf(records)
	out := csv.NewWriter(w)
	fields := reflect.VisibleFields(rows.Type().Elem())
	fields = slices.DeleteFunc(fields, func(f reflect.StructField) bool { return f.Anonymous })
	line := make([]string, len(fields))
	for i, f := range fields {
		line[i], _, _ = strings.Cut(f.Tag.Get("json"), ",")
	}
	if err := out.Write(line); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	for i := range rows.Len() {
		for j, f := range fields {
			line[j] = csvValue(rows.Index(i).FieldByIndex(f.Index))
		}
		if err := out.Write(line); err != nil {
			return fmt.Errorf("writing CSV: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}

func csvValue(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano)
	case []string:
		return csvText(strings.Join(x, " "))
	}
	switch v.Kind() {
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case reflect.String:
		return csvText(v.String())
	}
	return fmt.Sprint(v.Interface())
}

// csvText makes text safe for a terminal and for a spreadsheet, which would take one that
// begins like a formula for a formula.
func csvText(s string) string {
	s = visible(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// utc is a time for JSON: nil when there is none.
func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
