package tables

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// flat reads a page of entities as the service writes it: {"value":[{…},{…}]}, where an entity is names with
// texts, numbers and nothing deeper. It is a fifth of the work of encoding/json with maps. Anything else is an
// error.
type flat struct {
	b  []byte
	at int
}

var errNotFlat = errors.New("it is not the JSON of a page of entities")

// page calls entity for the properties of each entity, at its opening brace.
func (f *flat) page(entity func() error) error {
	if !f.take('{') {
		return errNotFlat
	}
	for first := true; ; first = false {
		if f.take('}') {
			break
		}
		if !first && !f.take(',') {
			return errNotFlat
		}
		name, err := f.name()
		if err != nil {
			return err
		}
		if string(name) != "value" {
			if _, err := f.value(); err != nil {
				return err
			}
			continue
		}
		if err := f.list(entity); err != nil {
			return err
		}
	}
	if f.blanks(); f.at != len(f.b) {
		return errNotFlat
	}
	return nil
}

func (f *flat) list(entity func() error) error {
	if !f.take('[') {
		return errNotFlat
	}
	for first := true; !f.take(']'); first = false {
		if !first && !f.take(',') {
			return errNotFlat
		}
		if err := entity(); err != nil {
			return err
		}
	}
	return nil
}

// properties calls each with the name and the raw value of what an entity has.
func (f *flat) properties(each func(name, raw []byte)) error {
	if !f.take('{') {
		return errNotFlat
	}
	for first := true; !f.take('}'); first = false {
		if !first && !f.take(',') {
			return errNotFlat
		}
		name, err := f.name()
		if err != nil {
			return err
		}
		raw, err := f.value()
		if err != nil {
			return err
		}
		each(name, raw)
	}
	return nil
}

func (f *flat) name() ([]byte, error) {
	f.blanks()
	raw, err := f.text()
	if err != nil || !f.take(':') {
		return nil, errNotFlat
	}
	return raw[1 : len(raw)-1], nil // ours have nothing that is escaped
}

// value is a text with its quotes, a number or a word.
func (f *flat) value() ([]byte, error) {
	f.blanks()
	if f.at < len(f.b) && f.b[f.at] == '"' {
		return f.text()
	}
	begin := f.at
	for f.at < len(f.b) {
		switch c := f.b[f.at]; {
		case c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t':
			if f.at == begin {
				return nil, errNotFlat
			}
			return f.b[begin:f.at], nil
		case c == '{' || c == '[' || c == '"' || c == ':':
			return nil, errNotFlat
		}
		f.at++
	}
	return nil, errNotFlat
}

func (f *flat) text() ([]byte, error) {
	begin := f.at
	if f.at >= len(f.b) || f.b[f.at] != '"' {
		return nil, errNotFlat
	}
	for f.at++; f.at < len(f.b); f.at++ {
		switch f.b[f.at] {
		case '\\':
			f.at++
		case '"':
			f.at++
			return f.b[begin:f.at], nil
		}
	}
	return nil, errNotFlat
}

func (f *flat) take(c byte) bool {
	f.blanks()
	if f.at < len(f.b) && f.b[f.at] == c {
		f.at++
		return true
	}
	return false
}

func (f *flat) blanks() {
	for f.at < len(f.b) && (f.b[f.at] == ' ' || f.b[f.at] == '\n' || f.b[f.at] == '\r' || f.b[f.at] == '\t') {
		f.at++
	}
}

// parseFlat is Column.parse without encoding/json, where nothing is escaped.
func (c Column) parseFlat(raw []byte) (any, error) {
	quoted := len(raw) > 1 && raw[0] == '"'
	switch c.Type {
	case Int32:
		return strconv.Atoi(string(raw))
	case Boolean:
		return strconv.ParseBool(string(raw))
	case Double:
		return strconv.ParseFloat(string(raw), 64)
	case DateTime:
		if !quoted {
			return nil, fmt.Errorf("%.40q is no time", raw)
		}
		t, err := time.Parse(time.RFC3339Nano, string(raw[1:len(raw)-1]))
		if err != nil {
			return nil, err
		}
		return t.UTC(), nil
	}
	if !quoted {
		return nil, fmt.Errorf("%.40q is no text", raw)
	}
	for _, b := range raw {
		if b == '\\' || b < ' ' {
			return parseAs[string](json.RawMessage(raw))
		}
	}
	return string(raw[1 : len(raw)-1]), nil
}
