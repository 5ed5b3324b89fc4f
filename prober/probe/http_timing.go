package probe

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// serverTiming reads how long the server says that it held the request, from the values of the
// Server-Timing fields (W3C Server Timing, section 3). It is read strictly: if anything does not
// follow the grammar, or a duration cannot be, nothing is believed.
//
// The specification does not say how metrics relate: one may be part of another, or run beside
// it. So the metric named total is taken if there is one. Otherwise it is the longest: the server
// took at least so long, where the sum may be more than it took, and would make the network
// seem faster than it is.
func serverTiming(values []string) (held time.Duration, ok bool) {
	total, longest := time.Duration(-1), time.Duration(-1)
	for _, v := range values {
		r := timingReader{rest: v}
		for r.next() {
			if r.dur < 0 {
				continue
			}
			longest = max(longest, r.dur)
			if strings.EqualFold(r.name, "total") {
				total = max(total, r.dur)
			}
		}
		if r.bad {
			return 0, false
		}
	}
	if total < 0 {
		total = longest
	}
	return max(total, 0), total >= 0
}

// timingReader reads metrics: token *( OWS ";" OWS token OWS "=" OWS ( token / quoted-string ) ),
// in a list of RFC 9110, section 5.6.1, which may have empty elements.
type timingReader struct {
	rest string
	bad  bool

	name string
	dur  time.Duration // negative: it has none
}

// next reads one metric, and reports whether there was one.
func (r *timingReader) next() bool {
	for r.space(); r.take(','); r.space() {
	}
	if r.rest == "" || r.bad {
		return false
	}
	r.dur = -1
	if r.name = r.token(); r.name == "" {
		return r.fail()
	}
	measured := false
	for r.space(); r.take(';'); r.space() {
		r.space()
		param := r.token()
		r.space()
		if param == "" || !r.take('=') {
			return r.fail()
		}
		r.space()
		value, ok := r.value()
		if !ok {
			return r.fail()
		}
		if !strings.EqualFold(param, "dur") || measured { // of several the first counts
			continue
		}
		measured = true
		if r.dur, ok = milliseconds(value); !ok {
			return r.fail()
		}
	}
	if r.rest != "" && r.rest[0] != ',' {
		return r.fail()
	}
	return true
}

func (r *timingReader) fail() bool {
	r.bad = true
	return false
}

func (r *timingReader) space() { r.rest = strings.TrimLeft(r.rest, " \t") }

func (r *timingReader) take(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *timingReader) token() string {
	n := 0
	for n < len(r.rest) && isTokenByte(r.rest[n]) {
		n++
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

// value reads a token or a quoted-string (RFC 9110, section 5.6.4).
func (r *timingReader) value() (string, bool) {
	if !r.take('"') {
		t := r.token()
		return t, t != ""
	}
	var out strings.Builder
	for i := 0; i < len(r.rest); i++ {
		c := r.rest[i]
		if c == '"' {
			r.rest = r.rest[i+1:]
			return out.String(), true
		}
		if c == '\\' {
			if i++; i == len(r.rest) {
				break
			}
			c = r.rest[i]
		}
		if c < ' ' && c != '\t' || c == 0x7F {
			break
		}
		out.WriteByte(c)
	}
	return "", false
}

func isTokenByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// maxServerTime bounds what a server may claim; a document holds no more.
const maxServerTime = 24 * time.Hour

// milliseconds reads a decimal number, with an exponent or without.
func milliseconds(s string) (time.Duration, bool) {
	if s == "" || len(s) > 32 || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f > float64(maxServerTime/time.Millisecond) {
		return 0, false
	}
	// A fraction of a nanosecond is the binary number's, not the server's: its decimals show how
	// finely it measures.
	return time.Duration(math.Round(f * float64(time.Millisecond))), true
}
