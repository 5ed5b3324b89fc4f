package wire

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Null is the value of a Column's entry that is absent. It is null in JSON and "-" in XML, and
// never a measurement.
const Null int64 = math.MinInt64

// Column is one value of every sample of a run: whole numbers, with Null where there is none.
// In JSON an array of numbers and nulls, in XML a list separated by blanks.
type Column []int64

// MarshalJSON writes the array.
func (c Column) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 2+12*len(c))
	b = append(b, '[')
	for i, v := range c {
		if i > 0 {
			b = append(b, ',')
		}
		if v == Null {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendInt(b, v, 10)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads an array of whole numbers and nulls, no longer than MaxSamples.
func (c *Column) UnmarshalJSON(b []byte) error {
	entries, err := splitArray(b)
	if err != nil || entries == nil {
		*c = nil
		return err
	}
	out := make(Column, len(entries))
	for i, e := range entries {
		if string(e) == "null" {
			out[i] = Null
			continue
		}
		v, err := strconv.ParseInt(string(e), 10, 64)
		if err != nil || v == Null {
			return fmt.Errorf("entry %d: %q is not a whole number of 64 bits", i, cutForError(e))
		}
		out[i] = v
	}
	*c = out
	return nil
}

// MarshalXML writes the list; an absent column is no element.
func (c Column) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if c == nil {
		return nil
	}
	b := make([]byte, 0, 12*len(c))
	for i, v := range c {
		if i > 0 {
			b = append(b, ' ')
		}
		if v == Null {
			b = append(b, '-')
		} else {
			b = strconv.AppendInt(b, v, 10)
		}
	}
	return e.EncodeElement(string(b), start)
}

// UnmarshalXML reads the list.
func (c *Column) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	fields, err := xmlList(d, start)
	if err != nil {
		return err
	}
	out := make(Column, len(fields))
	for i, f := range fields {
		if f == "-" {
			out[i] = Null
			continue
		}
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil || v == Null {
			return fmt.Errorf("<%s> entry %d: %q is not a whole number of 64 bits", start.Name.Local, i, cutForError([]byte(f)))
		}
		out[i] = v
	}
	*c = out
	return nil
}

// FailureColumn is the failure code of every sample, "" where there was a reply. In JSON an
// array of strings and nulls, in XML a list separated by blanks with "-" for none.
type FailureColumn []Failure

// MarshalJSON writes the array.
func (c FailureColumn) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 2+6*len(c))
	b = append(b, '[')
	for i, f := range c {
		if i > 0 {
			b = append(b, ',')
		}
		if f == "" {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendQuote(b, string(f))
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads an array of failure codes and nulls, no longer than MaxSamples.
func (c *FailureColumn) UnmarshalJSON(b []byte) error {
	entries, err := splitArray(b)
	if err != nil || entries == nil {
		*c = nil
		return err
	}
	out := make(FailureColumn, len(entries))
	for i, e := range entries {
		if string(e) == "null" {
			continue
		}
		if len(e) < 2 || e[0] != '"' || e[len(e)-1] != '"' {
			return fmt.Errorf("entry %d: %q is not a failure code", i, cutForError(e))
		}
		f, err := parseFailure(string(e[1 : len(e)-1]))
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		out[i] = f
	}
	*c = out
	return nil
}

// MarshalXML writes the list; an absent column is no element.
func (c FailureColumn) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if c == nil {
		return nil
	}
	words := make([]string, len(c))
	for i, f := range c {
		if words[i] = string(f); f == "" {
			words[i] = "-"
		}
	}
	return e.EncodeElement(strings.Join(words, " "), start)
}

// UnmarshalXML reads the list.
func (c *FailureColumn) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	fields, err := xmlList(d, start)
	if err != nil {
		return err
	}
	out := make(FailureColumn, len(fields))
	for i, word := range fields {
		if word == "-" {
			continue
		}
		if out[i], err = parseFailure(word); err != nil {
			return fmt.Errorf("<%s> entry %d: %w", start.Name.Local, i, err)
		}
	}
	*c = out
	return nil
}

func parseFailure(word string) (Failure, error) {
	for _, f := range Failures() {
		if string(f) == word {
			return f, nil // the constant, so that the document's bytes are not held
		}
	}
	return "", fmt.Errorf("failure code %q is not one of %q", cutForError([]byte(word)), Failures())
}

// splitArray cuts a JSON array of scalars without commas inside into its entries. The decoder
// has checked the syntax before it calls UnmarshalJSON; objects and arrays inside fail when
// their pieces are parsed.
func splitArray(b []byte) ([][]byte, error) {
	b = bytes.TrimSpace(b)
	if string(b) == "null" {
		return nil, nil
	}
	if len(b) < 2 || b[0] != '[' || b[len(b)-1] != ']' {
		return nil, fmt.Errorf("%q is not an array", cutForError(b))
	}
	b = bytes.TrimSpace(b[1 : len(b)-1])
	if len(b) == 0 {
		return [][]byte{}, nil
	}
	n := 1 + bytes.Count(b, []byte{','})
	if n > MaxSamples {
		return nil, fmt.Errorf("%d entries: a document holds at most %d samples", n, MaxSamples)
	}
	out := make([][]byte, 0, n)
	for len(out) < n-1 {
		i := bytes.IndexByte(b, ',')
		out = append(out, bytes.TrimSpace(b[:i]))
		b = b[i+1:]
	}
	return append(out, bytes.TrimSpace(b)), nil
}

func xmlList(d *xml.Decoder, start xml.StartElement) ([]string, error) {
	var text string
	if err := d.DecodeElement(&text, &start); err != nil {
		return nil, err
	}
	fields := strings.Fields(text)
	if len(fields) > MaxSamples {
		return nil, fmt.Errorf("<%s>: %d entries: a document holds at most %d samples", start.Name.Local, len(fields), MaxSamples)
	}
	return fields, nil
}

func cutForError(b []byte) string {
	if len(b) > 40 {
		b = b[:40]
	}
	return string(b)
}
