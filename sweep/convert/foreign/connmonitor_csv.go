package foreign

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxConnMonitorRow bounds one row: its longest columns list the hops of a path.
const maxConnMonitorRow = 1 << 20

// errConnMonitorRow is a row beyond the bound, after which a reader has lost its place.
var errConnMonitorRow = errors.New("a row of more than a mebibyte")

// connMonitorGuard ends a reader that reads on and on without coming to the end of a row.
type connMonitorGuard struct {
	in          io.Reader
	read, since int64 // bytes in all, and at the end of the last row
}

func (g *connMonitorGuard) Read(p []byte) (int, error) {
	if g.read-g.since > maxConnMonitorRow {
		return 0, errConnMonitorRow
	}
	n, err := g.in.Read(p[:min(len(p), maxConnMonitorRow)])
	g.read += int64(n)
	return n, err
}

// read finds out in which way the rows are written.
func (c *connMonitorReader) read(in io.Reader) error {
	b := bufio.NewReader(in)
	var skipped int64
	for {
		next, err := b.Peek(1)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch next[0] {
		case ' ', '\t', '\r', '\n':
			if _, err := b.Discard(1); err != nil {
				return err
			}
			skipped++
			continue
		case '{', '[':
			return c.readJSON(b, skipped)
		}
		return c.readCSV(b)
	}
}

// connMonitorHeader gives each column's place, and the zone of the times: a portal's export writes
// TimeGenerated [UTC], or another zone.
func connMonitorHeader(header []string) (columns map[string]int, zone string) {
	columns = map[string]int{}
	for i, name := range header {
		name, in, bracket := strings.Cut(strings.TrimSpace(name), " [")
		if name == "TimeGenerated" && bracket {
			zone = strings.TrimSuffix(in, "]")
		}
		if _, twice := columns[name]; !twice {
			columns[name] = i
		}
	}
	return columns, zone
}

// connMonitorSeparator is what stands between the names of a header: a comma, or what a spreadsheet writes
// instead.
func connMonitorSeparator(line string) rune {
	for _, s := range []rune{';', '\t'} {
		if strings.Count(line, string(s)) > strings.Count(line, ",") {
			return s
		}
	}
	return ','
}

func connMonitorSplit(line string) []string {
	r := csv.NewReader(strings.NewReader(line))
	r.Comma = connMonitorSeparator(line)
	header, err := r.Read()
	if err != nil {
		return nil
	}
	return header
}

func (c *connMonitorReader) readCSV(b *bufio.Reader) error {
	line, err := b.Peek(4096) // a header is shorter, and the rest of it is of the same kind
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	guard := &connMonitorGuard{in: b}
	r := csv.NewReader(guard)
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = connMonitorSeparator(string(line)), -1, true
	header, err := r.Read()
	if fault := connMonitorCSVFault(err, r); fault != nil {
		return fault
	}
	if err != nil {
		return err
	}
	columns, zone := connMonitorHeader(header)
	if !isConnMonitorTable(func(name string) bool { _, ok := columns[name]; return ok }) {
		return &Fault{Line: 1, Offset: NoOffset, Reason: "its first line does not name the columns TimeGenerated, ChecksTotal, ChecksFailed, a source's and a destination's"}
	}
	width := len(header)
	for {
		guard.since = r.InputOffset()
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if fault := connMonitorCSVFault(err, r); fault != nil {
			c.d.leave(*fault)
			if errors.Is(err, errConnMonitorRow) || c.lost() {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
		number, _ := r.FieldPos(0)
		row := &connMonitorRow{line: number, offset: NoOffset, where: fmt.Sprintf("line %d", number), zone: zone, cell: func(column string) string {
			if i, ok := columns[column]; ok {
				return record[i]
			}
			return ""
		}}
		if len(record) != width {
			c.d.leave(row.fault("", fmt.Sprintf("it has %d fields, the first line names %d", len(record), width)))
		} else if err := c.row(row); err != nil {
			return err
		}
		if c.lost() {
			return nil
		}
	}
}

// lost says whether so much could not be read that the rest is not worth the time.
func (c *connMonitorReader) lost() bool {
	return c.d.lost(10*MaxFindings, Fault{Offset: NoOffset})
}

// connMonitorCSVFault is what is wrong with a row, if it is the text's fault.
func connMonitorCSVFault(err error, r *csv.Reader) *Fault {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return &Fault{Line: parse.StartLine, Offset: NoOffset, Reason: parse.Err.Error()}
	}
	if errors.Is(err, errConnMonitorRow) {
		return &Fault{Offset: r.InputOffset(), Reason: err.Error()}
	}
	return nil
}
