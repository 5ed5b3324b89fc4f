package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// The limits of a series: what a person has is far smaller, and what unpacks to more is refused
// before it fills the memory.
const (
	maxSeriesLines     = 10_000_000
	maxSeriesLineBytes = 4096
	maxSeriesMS        = 1e9 // of a round trip: more than eleven days
)

// lastSecond is that of the year 9999, the last that RFC 3339 can name.
const lastSecond = 253_402_300_799

// series is a file of round trips, in the order of its lines.
type series struct {
	times     []time.Time
	values    []float64 // ms; NaN: missing
	missing   int
	backwards int // lines whose time is before that of the line above
}

// seriesRefusal is why a file is no series.
type seriesRefusal struct {
	line   int // from 1; 0 is the whole of it
	text   string
	remedy string
}

func (r *seriesRefusal) Error() string {
	if r.line == 0 {
		return r.text
	}
	return fmt.Sprintf("line %d: %s", r.line, r.text)
}

// readSeries reads a series, packed or not. What is wrong with it is a *seriesRefusal.
func readSeries(in io.Reader) (*series, error) {
	text := bufio.NewReader(in)
	if head, _ := text.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(text)
		if err != nil {
			return nil, fmt.Errorf("undoing gzip: %w", err)
		}
		text = bufio.NewReader(unpacked)
	}
	var s series
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, maxSeriesLineBytes), maxSeriesLineBytes)
	n, headed := 0, false
	for lines.Scan() {
		n++
		if n > maxSeriesLines {
			return nil, &seriesRefusal{n, fmt.Sprintf("it has more than %s lines", count(maxSeriesLines)), "split it, or take means of neighbours"}
		}
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" {
			continue
		}
		if len(s.times) == 0 && !headed && heading(line) {
			headed = true
			continue
		}
		if r := s.add(line); r != nil {
			r.line = n
			return nil, r
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &seriesRefusal{n + 1, fmt.Sprintf("it has more than %d bytes", maxSeriesLineBytes), "want a line a round trip: Unix seconds, a comma, milliseconds"}
	case err != nil:
		return nil, fmt.Errorf("after line %d: %w", n, err)
	case len(s.times) == 0:
		return nil, &seriesRefusal{0, "it has no round trips", "want a line a round trip: Unix seconds, a comma, milliseconds"}
	}
	return &s, nil
}

// heading says whether the first line names columns: it does not begin with a digit, a sign or a point.
func heading(line string) bool {
	field, _, _ := strings.Cut(line, ",")
	field = strings.Trim(field, `" `)
	return field == "" || !strings.ContainsRune("0123456789+-.", rune(field[0]))
}

// add reads a line. Unix seconds may have a fraction.
func (s *series) add(line string) *seriesRefusal {
	first, rest, found := strings.Cut(line, ",")
	if !found {
		return &seriesRefusal{0, fmt.Sprintf("no comma in %q", cut(visible(line), maxCell)), "want Unix seconds, a comma, milliseconds"}
	}
	second, _, _ := strings.Cut(rest, ",")
	first, second = strings.Trim(first, `" `), strings.Trim(second, `" `)
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil || !(seconds >= 0) {
		return &seriesRefusal{0, fmt.Sprintf("time %q", cut(visible(first), maxCell)), "want Unix seconds, such as 1796032800"}
	}
	if seconds > lastSecond {
		return &seriesRefusal{0, fmt.Sprintf("time %q is after the year 9999", cut(visible(first), maxCell)), "want Unix seconds: divide milliseconds by 1,000"}
	}
	value := math.NaN()
	if second != "" {
		if value, err = strconv.ParseFloat(second, 64); err != nil || math.IsInf(value, 0) {
			return &seriesRefusal{0, fmt.Sprintf("round trip %q", cut(visible(second), maxCell)), "want milliseconds, such as 81.25, or nothing where none came back"}
		}
		if value > maxSeriesMS {
			return &seriesRefusal{0, fmt.Sprintf("a round trip of %s ms", cut(visible(second), maxCell)), "want milliseconds, less than eleven days of them: divide microseconds by 1,000"}
		}
	}
	if !(value > 0) {
		value = math.NaN()
		s.missing++
	}
	whole, part := math.Modf(seconds)
	at := time.Unix(int64(whole), int64(math.Round(part*1e6))*1000).UTC()
	if n := len(s.times); n > 0 && at.Before(s.times[n-1]) {
		s.backwards++
	}
	s.times, s.values = append(s.times, at), append(s.values, value)
	return nil
}
