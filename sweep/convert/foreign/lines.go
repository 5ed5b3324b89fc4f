package foreign

import (
	"bufio"
	"io"
	"strings"
)

// maxLineBytes bounds a line of a text that is read line by line.
const maxLineBytes = 64 << 10

// numberedLines reads a text line by line, in constant memory, and knows where each line stands.
type numberedLines struct {
	in     *bufio.Reader
	line   int   // of the last line, from 1
	offset int64 // bytes in front of it
	next   int64 // bytes in front of what follows it
	ended  bool  // the last line has its line feed
}

func newNumberedLines(in io.Reader) *numberedLines {
	return &numberedLines{in: bufio.NewReaderSize(in, maxLineBytes)}
}

// read gives the next line without its end. The error is io.EOF, a *Fault for a line that is too long
// (the next call goes on behind it), or in's own.
func (l *numberedLines) read() (string, error) {
	l.line++
	l.offset = l.next
	part, err := l.in.ReadSlice('\n')
	l.next += int64(len(part))
	if err == bufio.ErrBufferFull {
		if err := l.skip(); err != nil {
			return "", err
		}
		return "", l.fault("a line of more than 64 KiB")
	}
	if err != nil && (err != io.EOF || len(part) == 0) {
		return "", err
	}
	l.ended = err == nil
	return strings.TrimRight(string(part), "\r\n"), nil
}

// skip goes to the end of a line that is too long.
func (l *numberedLines) skip() error {
	for {
		part, err := l.in.ReadSlice('\n')
		l.next += int64(len(part))
		switch err {
		case nil, io.EOF:
			return nil
		case bufio.ErrBufferFull:
		default:
			return err
		}
	}
}

// fault is a Fault at the last line.
func (l *numberedLines) fault(reason string) *Fault {
	return &Fault{Line: l.line, Offset: l.offset, Reason: reason}
}
