package foreign

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"isochrone/sweep/convert/jsontext"
)

// Quantity is a figure as a document writes it. The zero Quantity is one that is not there.
type Quantity struct {
	Text  string // digits, with or without the unit behind them
	Unit  string // as the tool means it: ms, µs, KiB/s …; empty when Text has it
	Where string // the place in the document
}

// quantityOf is a JSON number, or a string that holds one; anything else is not there.
func quantityOf(v jsontext.Value, unit, where string) Quantity {
	if k := v.Kind(); k != jsontext.Number && k != jsontext.String {
		return Quantity{}
	}
	return Quantity{v.Text(), unit, where}
}

// there says whether the document has the figure at all.
func (q Quantity) there() bool { return strings.TrimSpace(q.Text) != "" }

// number splits the text into a number and its unit. Missing is a figure that the tool writes where it
// has none: nan, inf, N/A, a hyphen.
func (q Quantity) number() (v float64, unit string, missing bool, err error) {
	text := strings.TrimSpace(q.Text)
	at := 0
	for at < len(text) && strings.IndexByte("+-.0123456789eE", text[at]) >= 0 {
		if (text[at] == 'e' || text[at] == 'E') && (at+1 >= len(text) || strings.IndexByte("+-0123456789", text[at+1]) < 0) {
			break
		}
		at++
	}
	digits, behind := text[:at], strings.TrimSpace(text[at:])
	if at == 0 || digits == "-" || digits == "+" {
		switch strings.ToLower(strings.TrimLeft(text, "+-")) {
		case "", "nan", "inf", "infinity", "n/a", "na", "null", "nil", "*":
			return 0, "", true, nil
		}
	}
	if len(digits) > 64 {
		return 0, "", false, q.fault("a number of %d digits", len(digits))
	}
	v, err = strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, "", false, q.fault("%.60q is no number", q.Text)
	}
	if behind == "" {
		behind = q.Unit
	}
	return v, behind, false, nil
}

func (q Quantity) fault(format string, args ...any) *Fault {
	return &Fault{Offset: NoOffset, Where: q.Where, Reason: fmt.Sprintf(format, args...)}
}

// in gives the quantity in the base unit of a table of units; nil when it is not there.
func (q Quantity) in(units map[string]float64, least, most float64, what string) (*float64, error) {
	if !q.there() {
		return nil, nil
	}
	v, unit, missing, err := q.number()
	if err != nil || missing {
		return nil, err
	}
	factor, ok := units[unit]
	if !ok {
		return nil, q.fault("the unit %.20q is none of %s", unit, what)
	}
	v *= factor
	if v < least || v > most {
		return nil, q.fault("%.60s %s is not to be believed as %s", q.Text, q.Unit, what)
	}
	return &v, nil
}

// The largest figures that are believed: a round trip of an hour, a day of running, a petabit a second.
const (
	maxDurationNS = float64(24 * time.Hour)
	maxRate       = 1e15
	maxBytes      = float64(1 << 60)
)

// durations are units of time in ns. The unit m is a minute, as in Go's durations.
var durations = map[string]float64{
	"ns": 1, "nsec": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "usec": 1e3, "ms": 1e6, "msec": 1e6,
	"s": 1e9, "sec": 1e9, "seconds": 1e9, "m": 60e9, "min": 60e9,
}

// rates are units of rate in bit/s. A capital B is bytes, a b bits; K, M and G are powers of 1000, and
// Ki, Mi and Gi of 1024. Tools that write MB and mean 1024² are given MiB by their reader.
var rates = prefixed(map[string]float64{"bit/s": 1, "bits/s": 1, "bps": 1, "b/s": 1, "B/s": 8, "bytes/s": 8, "Bps": 8})

// sizes are units of size in bytes.
var sizes = prefixed(map[string]float64{"B": 1, "bytes": 1, "byte": 1, "b": 1.0 / 8, "bits": 1.0 / 8})

func prefixed(base map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for unit, factor := range base {
		out[unit] = factor
		for _, p := range []struct {
			prefix string
			times  float64
		}{{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"m", 1e6}, {"G", 1e9}, {"g", 1e9}, {"T", 1e12},
			{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}} {
			out[p.prefix+unit] = factor * p.times
		}
	}
	return out
}

// Nanoseconds is a duration, which may be negative only where least says so.
func (q Quantity) nanoseconds() (*float64, error) { return q.in(durations, 0, maxDurationNS, "a time") }

func (q Quantity) bitsPerSecond() (*float64, error) { return q.in(rates, 0, maxRate, "a rate") }

func (q Quantity) bytes() (*float64, error) { return q.in(sizes, 0, maxBytes, "a size") }

// ratio is a part of 1; percent signs are read as such.
func (q Quantity) ratio() (*float64, error) {
	return q.in(map[string]float64{"%": 0.01, "percent": 0.01, "ratio": 1, "": 1}, 0, 1.000001, "a ratio")
}

// count is a whole number from 0 to 2³¹ − 1; nil when it is not there.
func (q Quantity) count() (*int, error) {
	v, err := q.in(map[string]float64{"": 1, "packets": 1, "segments": 1, "requests": 1}, 0, math.MaxInt32, "a count")
	if v == nil || err != nil {
		return nil, err
	}
	if *v != math.Trunc(*v) {
		return nil, q.fault("%.60q is no whole number", q.Text)
	}
	n := int(*v)
	return &n, nil
}
