package topology

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// section is a mapping of the file whose keys are known. Its methods leave to alone when the
// key is absent, and say whether to can be relied on.
type section struct {
	r      *reader
	at     string // where it is, such as pairs[1]; empty for the file itself
	line   int
	values map[string]*yaml.Node
}

func (s section) place(key string) string {
	if s.at == "" {
		return key
	}
	return s.at + "." + key
}

// lineOf is the line of a key's value, or the section's when the key is absent.
func (s section) lineOf(key string) int {
	if n := s.values[key]; n != nil {
		return n.Line
	}
	return s.line
}

// has says whether the key is there, whatever its value.
func (s section) has(key string) bool { return s.values[key] != nil }

// text reads a key's text; ok is false when it is absent or not a text.
func (s section) text(key string) (string, bool) {
	n := s.values[key]
	if n == nil {
		return "", false
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Value != "" {
		return n.Value, true
	}
	s.r.wrong(s.place(key), n, "a text")
	return "", false
}

// whole reads a whole number.
func (s section) whole(key string, to *int64, least, most int64) bool {
	n := s.values[key]
	if n == nil {
		return true
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || v < least || v > most {
		s.r.wrong(s.place(key), n, fmt.Sprintf("a whole number, %d to %d", least, most))
		return false
	}
	*to = v
	return true
}

// fraction reads a number that need not be whole.
func (s section) fraction(key string, to *float64, least, most float64) bool {
	n := s.values[key]
	if n == nil {
		return true
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	isNumber := n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!int" || n.ShortTag() == "!!float")
	if !isNumber || err != nil || !(v >= least && v <= most) { // so written that NaN fails
		want := fmt.Sprintf("a number, %g to %g", least, most)
		if most == 1 {
			want = "a probability, 0 to 1, such as 0.01 for one packet in a hundred"
		}
		s.r.wrong(s.place(key), n, want)
		return false
	}
	*to = v
	return true
}

// duration reads a time with its unit, from 0 to most.
func (s section) duration(key string, to *time.Duration, most time.Duration) bool {
	n := s.values[key]
	if n == nil {
		return true
	}
	v, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || err != nil || v < 0 || v > most {
		s.r.wrong(s.place(key), n, fmt.Sprintf("a time with its unit, such as 200us or 20ms, up to %s", most))
		return false
	}
	*to = v
	return true
}

var quantityForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([kMG]?)$`)

// quantity reads a number that may end in k, M or G, which are powers of 1,000.
func (s section) quantity(key string, to *int64, least, most int64, unit string) bool {
	n := s.values[key]
	if n == nil {
		return true
	}
	m := quantityForm.FindStringSubmatch(n.Value)
	if n.Kind == yaml.ScalarNode && m != nil {
		v, err := strconv.ParseFloat(m[1], 64)
		v *= map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[m[2]]
		if err == nil && v >= float64(least) && v <= float64(most) {
			*to = int64(v)
			return true
		}
	}
	s.r.wrong(s.place(key), n, fmt.Sprintf("%s, %d to %d, such as 2000000 or 2M", unit, least, most))
	return false
}

// flag reads true or false.
func (s section) flag(key string, to *bool) {
	n := s.values[key]
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" && (n.Value == "true" || n.Value == "false"):
		*to = n.Value == "true"
	default:
		s.r.wrong(s.place(key), n, "true or false")
	}
}
