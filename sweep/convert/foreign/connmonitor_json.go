package foreign

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"isochrone/sweep/convert/jsontext"
)

// errConnMonitorMisplaced is JSON in which something else stands than the format has there.
var errConnMonitorMisplaced = errors.New("something else stands here than the format has")

// errConnMonitorLost ends the reading of a text of which too much could not be read.
var errConnMonitorLost = errors.New("the rest is not looked at")

// connMonitorJSON goes through JSON value by value, none of them larger than a row may be.
type connMonitorJSON struct {
	*connMonitorReader
	guard *connMonitorGuard
	dec   *json.Decoder
	base  int64 // bytes in front of what dec reads
	n     int   // rows so far
}

// readJSON reads {"tables":[{"columns":[…],"rows":[[…]]}]}, an array of objects, or objects one after
// the other.
func (c *connMonitorReader) readJSON(b *bufio.Reader, skipped int64) error {
	g := &connMonitorGuard{in: b}
	j := &connMonitorJSON{connMonitorReader: c, guard: g, dec: json.NewDecoder(g), base: skipped}
	first, err := b.Peek(1)
	if err != nil {
		return err
	}
	switch {
	case first[0] == '[':
		err = j.list(func(raw json.RawMessage, at int64) error { return j.object(raw, at) })
	case j.beginsWithTables(b):
		err = j.answer()
	default:
		err = j.objects()
	}
	if err == nil {
		err = j.ended()
	}
	return j.fault(err)
}

// ended sees that nothing follows.
func (j *connMonitorJSON) ended() error {
	_, _, err := j.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return fmt.Errorf("%w: text follows the end", errConnMonitorMisplaced)
	}
	return err
}

// beginsWithTables says whether the object that follows is the answer to a query.
func (j *connMonitorJSON) beginsWithTables(b *bufio.Reader) bool {
	head, _ := b.Peek(4096) // an answer's first member is tables
	t, _ := jsontext.Parse(head, jsontext.Options{Trailing: true})
	return t.Root().Has("tables")
}

// fault turns an error of the text into a part that was left out.
func (j *connMonitorJSON) fault(err error) error {
	var syntax *json.SyntaxError
	reason := ""
	switch {
	case err == nil, errors.Is(err, errConnMonitorLost):
		return nil
	case errors.As(err, &syntax):
		reason = syntax.Error()
	case errors.Is(err, errConnMonitorMisplaced):
		reason = err.Error()
	case errors.Is(err, errConnMonitorRow):
		reason = err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		reason = "the text ends too early"
	default:
		return err
	}
	j.d.leave(Fault{Offset: j.base + j.dec.InputOffset(), Reason: reason})
	return nil
}

// next reads one value, whatever it is.
func (j *connMonitorJSON) next() (json.RawMessage, int64, error) {
	j.guard.since = j.dec.InputOffset()
	var raw json.RawMessage
	err := j.dec.Decode(&raw)
	return raw, j.base + j.dec.InputOffset() - int64(len(raw)), err
}

func (j *connMonitorJSON) token() (json.Token, error) {
	j.guard.since = j.dec.InputOffset()
	return j.dec.Token()
}

// expect reads one of []{} or notes what stands there instead.
func (j *connMonitorJSON) expect(want json.Delim) error {
	t, err := j.token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("%w: want %s", errConnMonitorMisplaced, want)
	}
	return nil
}

// list reads an array, entry by entry.
func (j *connMonitorJSON) list(each func(raw json.RawMessage, at int64) error) error {
	if err := j.expect('['); err != nil {
		return err
	}
	for j.dec.More() {
		raw, at, err := j.next()
		if err != nil {
			return err
		}
		if err := each(raw, at); err != nil {
			return err
		}
		if j.lost() {
			return errConnMonitorLost
		}
	}
	return j.expect(']')
}

// objects reads rows that follow each other.
func (j *connMonitorJSON) objects() error {
	for {
		raw, at, err := j.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := j.object(raw, at); err != nil {
			return err
		}
		if j.lost() {
			return errConnMonitorLost
		}
	}
}

// object reads a row that names its columns.
func (j *connMonitorJSON) object(raw json.RawMessage, at int64) error {
	j.n++
	row := &connMonitorRow{offset: at, where: fmt.Sprintf("row %d", j.n)}
	t, fault := jsontext.Parse(raw, jsontext.Options{})
	if fault != nil || t.Root().Kind() != jsontext.Object {
		j.d.leave(row.fault("", "it is no object with a row's columns"))
		return nil
	}
	cells := map[string]string{}
	for name, v := range t.Root().Members() {
		if _, twice := cells[name]; twice {
			j.d.leave(row.fault("", fmt.Sprintf("%.60q stands in it twice", name)))
			return nil
		}
		cells[name] = connMonitorCell(v)
	}
	row.cell = func(column string) string { return cells[column] }
	return j.row(row)
}

func connMonitorCell(v jsontext.Value) string {
	if v.Kind() == jsontext.Null {
		return ""
	}
	return v.Text()
}

// answer reads what the query interface says.
func (j *connMonitorJSON) answer() error {
	return j.members(func(name string) error {
		switch name {
		case "tables":
			if err := j.expect('['); err != nil {
				return err
			}
			for j.dec.More() {
				if err := j.table(); err != nil {
					return err
				}
			}
			return j.expect(']')
		case "error":
			_, at, err := j.next()
			if err == nil {
				j.d.leave(Fault{Offset: at, Where: "error", Reason: "the query had an error: rows are missing"})
			}
			return err
		}
		_, _, err := j.next()
		return err
	})
}

// members reads an object, member by member.
func (j *connMonitorJSON) members(each func(name string) error) error {
	if err := j.expect('{'); err != nil {
		return err
	}
	for j.dec.More() {
		t, err := j.token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if err := each(name); err != nil {
			return err
		}
	}
	return j.expect('}')
}

// table reads one table, whose columns stand in front of its rows.
func (j *connMonitorJSON) table() error {
	var columns map[string]int
	return j.members(func(name string) error {
		switch name {
		case "columns":
			raw, at, err := j.next()
			if err != nil {
				return err
			}
			columns = map[string]int{}
			t, _ := jsontext.Parse(raw, jsontext.Options{})
			for i, c := range t.Root().Values() {
				columns[c.Get("name").Text()] = i
			}
			if !isConnMonitorTable(func(name string) bool { _, ok := columns[name]; return ok }) {
				j.d.leave(Fault{Offset: at, Where: "columns", Reason: "the table is none of Connection Monitor's"})
				columns = map[string]int{}
			}
			return nil
		case "rows":
			if columns == nil {
				return fmt.Errorf("%w: the rows stand in front of the names of their columns", errConnMonitorMisplaced)
			}
			return j.list(func(raw json.RawMessage, at int64) error { return j.array(columns, raw, at) })
		}
		_, _, err := j.next()
		return err
	})
}

// array reads a row whose columns stand in front of all rows.
func (j *connMonitorJSON) array(columns map[string]int, raw json.RawMessage, at int64) error {
	j.n++
	if len(columns) == 0 {
		return nil
	}
	row := &connMonitorRow{offset: at, where: fmt.Sprintf("row %d", j.n)}
	t, fault := jsontext.Parse(raw, jsontext.Options{})
	var cells []string
	for _, v := range t.Root().Values() {
		cells = append(cells, connMonitorCell(v))
	}
	if fault != nil || len(cells) != len(columns) {
		j.d.leave(row.fault("", fmt.Sprintf("it has %d fields, and the table %d columns", len(cells), len(columns))))
		return nil
	}
	row.cell = func(column string) string {
		if i, ok := columns[column]; ok {
			return cells[i]
		}
		return ""
	}
	return j.row(row)
}
