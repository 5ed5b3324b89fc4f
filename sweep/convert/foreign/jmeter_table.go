package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// jtlNames are the names in a CSV header. Latency and Connect are not there: see docs/formats.md.
var jtlNames = map[string]jtlColumn{
	"timeStamp": jtlTime, "elapsed": jtlElapsed, "label": jtlLabel, "responseCode": jtlCode, "responseMessage": jtlMessage,
	"threadName": jtlThread, "success": jtlSuccess, "failureMessage": jtlReason, "bytes": jtlBytes, "sentBytes": jtlSentBytes,
	"allThreads": jtlActive, "URL": jtlURL, "SampleCount": jtlSamples, "ErrorCount": jtlErrors, "Hostname": jtlHost, "IdleTime": jtlIdle,
}

// The columns of files without a header. The first eight are those of every version's defaults; what
// follows them is known by their number.
var (
	jtlFirst  = []jtlColumn{jtlTime, jtlElapsed, jtlLabel, jtlCode, jtlMessage, jtlThread, jtlNone, jtlSuccess}
	jtlBehind = map[int][]jtlColumn{
		12: {jtlBytes, jtlNone, jtlActive, jtlNone},                                                    // 2.13
		16: {jtlReason, jtlBytes, jtlSentBytes, jtlNone, jtlActive, jtlNone, jtlIdle, jtlNone},         // 3.1 to 4
		17: {jtlReason, jtlBytes, jtlSentBytes, jtlNone, jtlActive, jtlURL, jtlNone, jtlIdle, jtlNone}, // 5
	}
)

// jtlHeader is the columns that a header names; nil when it is none.
func jtlHeader(fields [][]byte) []jtlColumn {
	layout := make([]jtlColumn, len(fields))
	var known [jtlColumns]bool
	for i, name := range fields {
		c, ok := jtlNames[string(bytes.Trim(bytes.TrimSpace(name), `"`))]
		if !ok || known[c] {
			layout[i] = jtlNone
			continue
		}
		layout[i], known[c] = c, true
	}
	others := 0
	for _, c := range []jtlColumn{jtlTime, jtlLabel, jtlCode, jtlThread, jtlSuccess} {
		if known[c] {
			others++
		}
	}
	if !known[jtlElapsed] || others < 2 {
		return nil
	}
	return layout
}

// jtlDefault is the columns of a first row that is no header; nil when it is no row of JMeter's either.
func jtlDefault(fields [][]byte) []jtlColumn {
	if len(fields) < len(jtlFirst) {
		return nil
	}
	var clock jtlClock
	at, _ := clock.read(fields[0])
	if _, ok := digits(fields[1]); at == jtlNoTime || !ok || !isTruth(fields[7]) {
		return nil
	}
	layout := make([]jtlColumn, len(fields))
	for i := range layout {
		layout[i] = jtlNone
	}
	copy(layout, jtlFirst)
	copy(layout[len(jtlFirst):], jtlBehind[len(fields)])
	return layout
}

func isTruth(b []byte) bool {
	return bytes.EqualFold(b, []byte("true")) || bytes.EqualFold(b, []byte("false"))
}

// openJTLTable finds out the separator and the columns by the first record. Without a layout it is no file
// of JMeter's. first says that the record is a row itself, which next has read.
func openJTLTable(in io.Reader) (records *jtlRecords, layout []jtlColumn, first bool) {
	r := newJTLRecords(in, ',')
	for r.start == r.end && !r.ended {
		if r.fill() != nil {
			return r, nil, false
		}
	}
	blanks := len(r.buffer[:r.end]) - len(bytes.TrimLeft(r.buffer[:r.end], " \t\r\n"))
	r.advance(blanks)
	for _, separator := range []byte(",;\t|") {
		trial := *r
		trial.separator, trial.buffer, trial.ended = separator, bytes.Clone(r.buffer[:r.end]), true
		if _, _, err := trial.next(); err != nil {
			continue
		}
		if layout = jtlHeader(trial.fields); layout == nil {
			layout = jtlDefault(trial.fields)
			first = layout != nil
		}
		if layout != nil {
			r.separator = separator
			return r, layout, first
		}
	}
	return r, nil, false
}

// readTable reads CSV. A header in the middle, as JMeter writes when it appends to a file, holds for
// what follows it.
func (j *jtlFold) readTable(in io.Reader) error {
	r, layout, isRow := openJTLTable(in)
	if layout == nil {
		return &Fault{Line: 1, Offset: 0, Reason: "its first line is neither a header nor a row of JMeter's columns"}
	}
	for row := 0; ; row++ {
		line, offset, err := r.next()
		if fault, ok := errors.AsType[*Fault](err); ok {
			j.d.leave(*fault)
			continue
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if row == 0 && !isRow {
			continue
		}
		if string(r.fields[0]) == "timeStamp" || string(r.fields[0]) == "elapsed" {
			if again := jtlHeader(r.fields); again != nil {
				layout = again
				continue
			}
		}
		if len(r.fields) != len(layout) {
			j.d.leave(Fault{Line: line, Offset: offset, Reason: fmt.Sprintf("a row of %d fields where %d are usual", len(r.fields), len(layout))})
			continue
		}
		s := jtlSample{line: line, offset: offset}
		for i, c := range layout {
			if c != jtlNone {
				s.field[c] = r.fields[i]
			}
		}
		if _, err := j.add(&s); err != nil {
			return err
		}
	}
}
