package functionshost

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// settings are the app settings.
type settings map[string]string

// lookup finds a setting as the host's configuration does: without regard to case, and with
// : for __.
func (s settings) lookup(name string) (string, bool) {
	name = strings.ReplaceAll(name, ":", "__")
	if v, ok := s[name]; ok {
		return v, true
	}
	for k, v := range s {
		if strings.EqualFold(k, name) {
			return v, true
		}
	}
	return "", false
}

// expand replaces each %NAME% by the setting. A setting's value is not expanded again.
func (s settings) expand(text string) (string, error) {
	var out strings.Builder
	rest := text
	for {
		before, after, found := strings.Cut(rest, "%")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, tail, closed := strings.Cut(after, "%")
		if !closed {
			return "", fmt.Errorf("the %% at position %d of %q has no closing %%", len(text)-len(after)-1, text)
		}
		value, ok := s.lookup(name)
		if !ok || value == "" {
			return "", fmt.Errorf("%q does not resolve to a value: set %s", "%"+name+"%", name)
		}
		out.WriteString(value)
		rest = tail
	}
}

// truth is how the host reads a switch: true or 1.
func truth(text string) bool { return text == "1" || strings.EqualFold(text, "true") }

// timeSpan reads .NET's [d.]hh:mm:ss[.fffffff].
func timeSpan(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a time span: want [d.]hh:mm:ss", text)
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return 0, bad
	}
	days, hours, dotted := strings.Cut(parts[0], ".")
	if !dotted {
		days, hours = "0", parts[0]
	}
	var total time.Duration
	for _, p := range []struct {
		text  string
		below uint64
		unit  time.Duration
	}{{days, 1000, 24 * time.Hour}, {hours, 24, time.Hour}, {parts[1], 60, time.Minute}} {
		n, err := strconv.ParseUint(p.text, 10, 16)
		if err != nil || n >= p.below {
			return 0, bad
		}
		total += time.Duration(n) * p.unit
	}
	seconds, err := strconv.ParseFloat(parts[2], 64)
	if err != nil || !(seconds >= 0 && seconds < 60) {
		return 0, bad
	}
	return total + time.Duration(seconds*float64(time.Second)), nil
}
