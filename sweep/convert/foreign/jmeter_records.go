package foreign

import (
	"bytes"
	"fmt"
	"io"
)

// jtlRecords reads the records of a CSV file one by one, in constant memory: fields are separated by
// one byte, and may stand in double quotes, with line breaks and doubled quotes in them (RFC 4180,
// and JMeter's CSVSaveService). encoding/csv takes a quote that is never closed for a field that goes
// to the end of the file; here it costs the line that it stands in.
type jtlRecords struct {
	in        io.Reader
	separator byte

	buffer     []byte
	start, end int // of what is not read yet
	ended      bool
	line       int   // of buffer[start], from 1
	offset     int64 // of buffer[start]

	fields  [][]byte
	escaped []int // fields with doubled quotes
}

// The limits of a record.
const (
	maxJTLRecord = 256 << 10
	maxJTLFields = 1024
)

func newJTLRecords(in io.Reader, separator byte) *jtlRecords {
	return &jtlRecords{in: in, separator: separator, buffer: make([]byte, maxJTLRecord), line: 1}
}

// next reads a record into fields, and tells the place where it begins. Empty lines are left out. A
// *Fault is a line that is no record: the next call goes on behind it. io.EOF is the end; any other
// error is in's own.
func (r *jtlRecords) next() (line int, offset int64, err error) {
	for {
		line, offset = r.line, r.offset
		n, fault := r.record(r.buffer[r.start:r.end])
		if n == 0 && fault == nil { // it may go on in what is not read yet
			if !r.ended && r.end-r.start < len(r.buffer) {
				if err := r.fill(); err != nil {
					return line, offset, err
				}
				continue
			}
			if r.start == r.end {
				return line, offset, io.EOF
			}
			fault = &Fault{Reason: fmt.Sprintf("a quote is not closed, or the row has more than %d bytes", maxJTLRecord)}
		}
		if fault != nil {
			fault.Line, fault.Offset = line, offset
			if err := r.skipLine(); err != nil {
				return line, offset, err
			}
			return line, offset, fault
		}
		r.advance(n)
		if len(r.fields) > 0 {
			return line, offset, nil
		}
	}
}

func (r *jtlRecords) advance(n int) {
	r.line += bytes.Count(r.buffer[r.start:r.start+n], newline)
	r.offset += int64(n)
	r.start += n
}

var newline = []byte{'\n'}

// fill reads until the buffer is full: a record is looked at twice at most.
func (r *jtlRecords) fill() error {
	r.end = copy(r.buffer, r.buffer[r.start:r.end])
	r.start = 0
	n, err := io.ReadFull(r.in, r.buffer[r.end:])
	r.end += n
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		r.ended = true
		return nil
	}
	return err
}

// skipLine goes behind the next line break, however far it is.
func (r *jtlRecords) skipLine() error {
	for {
		if i := bytes.IndexByte(r.buffer[r.start:r.end], '\n'); i >= 0 {
			r.advance(i + 1)
			return nil
		}
		r.advance(r.end - r.start)
		if r.ended {
			return nil
		}
		if err := r.fill(); err != nil {
			return err
		}
	}
}

// record reads one record off text, and says how many bytes it took: none when it is not whole.
func (r *jtlRecords) record(text []byte) (int, *Fault) {
	end := bytes.IndexByte(text, '\n')
	line := text
	if end >= 0 {
		line = text[:end]
	} else if !r.ended {
		return 0, nil
	}
	r.fields, r.escaped = r.fields[:0], r.escaped[:0]
	if bytes.IndexByte(line, '"') >= 0 {
		return r.quoted(text)
	}
	taken := min(len(line)+1, len(text))
	if line = bytes.TrimSuffix(line, carriageReturn); len(line) == 0 {
		return taken, nil
	}
	for {
		i := bytes.IndexByte(line, r.separator)
		if i < 0 {
			break
		}
		if fault := r.field(line[:i]); fault != nil {
			return 0, fault
		}
		line = line[i+1:]
	}
	return taken, r.field(line)
}

var carriageReturn = []byte{'\r'}

func (r *jtlRecords) field(b []byte) *Fault {
	if len(r.fields) >= maxJTLFields {
		return &Fault{Reason: fmt.Sprintf("a row of more than %d fields", maxJTLFields)}
	}
	r.fields = append(r.fields, b[:len(b):len(b)])
	return nil
}

// quoted reads a record that has a quote somewhere. The text is changed only once all of it is
// known to be whole: otherwise its lines are looked at again.
func (r *jtlRecords) quoted(text []byte) (int, *Fault) {
	for at := 0; ; at++ { // behind a separator
		next, fault := r.oneField(text, at)
		if fault != nil {
			return 0, fault
		}
		if next < 0 {
			return 0, nil
		}
		if next < len(text) && text[next] == r.separator {
			at = next
			continue
		}
		if next < len(text) && text[next] == '\r' {
			next++
		}
		for _, i := range r.escaped {
			r.fields[i] = undouble(r.fields[i])
		}
		return min(next+1, len(text)), nil
	}
}

// oneField reads the field that begins at a place, and says where it ends: at a separator, a line
// break or the end of the text. Less than 0 is a field that is not whole.
func (r *jtlRecords) oneField(text []byte, at int) (int, *Fault) {
	if at < len(text) && text[at] == '"' {
		return r.quotedField(text, at+1)
	}
	for i := at; i < len(text); i++ {
		if c := text[i]; c == r.separator || c == '\n' {
			end := i
			if c == '\n' && i > at && text[i-1] == '\r' {
				end--
			}
			return end, r.field(text[at:end])
		}
	}
	if !r.ended {
		return -1, nil
	}
	return len(text), r.field(text[at:])
}

func (r *jtlRecords) quotedField(text []byte, at int) (int, *Fault) {
	doubled := false
	for i := at; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 || i+n+1 >= len(text) && !r.ended {
			return -1, nil
		}
		i += n
		if i+1 < len(text) {
			switch c := text[i+1]; {
			case c == '"':
				doubled = true
				i++
				continue
			case c == '\r' && i+2 >= len(text) && !r.ended:
				return -1, nil
			case c != r.separator && c != '\n' && (c != '\r' || i+2 < len(text) && text[i+2] != '\n'):
				return 0, &Fault{Reason: "something follows a quote that closes a field"}
			}
		}
		if doubled {
			r.escaped = append(r.escaped, len(r.fields))
		}
		return i + 1, r.field(text[at:i])
	}
}

// undouble makes two quotes one, in place.
func undouble(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); i++ {
		out = append(out, b[i])
		if b[i] == '"' {
			i++
		}
	}
	return out
}
