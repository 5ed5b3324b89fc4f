package ncrontab

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxSpec bounds the work that an expression can cause, in bytes.
const maxSpec = 1024

// field is one of the six.
type field struct {
	name     string
	min, max int
	names    []string // of the values from min on, where they have names
}

var fields = [6]field{
	{name: "second", max: 59},
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: names(1, 12, func(i int) string { return time.Month(i).String() })},
	{name: "day of the week", max: 6, names: names(0, 6, func(i int) string { return time.Weekday(i).String() })},
}

func names(from, to int, name func(int) string) (all []string) {
	for i := from; i <= to; i++ {
		all = append(all, name(i))
	}
	return all
}

// Parse reads an expression. Its errors begin with `parsing schedule "…": ` and name the field
// and the part that is wrong. %NAME% settings are the host's to expand, before.
func Parse(spec string) (Schedule, error) {
	s, err := parse(spec)
	if err != nil {
		return Schedule{}, fmt.Errorf("parsing schedule %q: %w", spec, err)
	}
	return s, nil
}

func parse(spec string) (Schedule, error) {
	trimmed := strings.TrimLeft(spec, " ")
	switch {
	case len(spec) > maxSpec:
		return Schedule{}, fmt.Errorf("longer than %d bytes", maxSpec)
	case strings.HasPrefix(trimmed, "@"):
		return Schedule{}, errors.New("NCRONTAB has no words with @: write six fields")
	case strings.HasPrefix(trimmed, "TZ="), strings.HasPrefix(trimmed, "CRON_TZ="):
		return Schedule{}, errors.New("NCRONTAB has no time zone: times are UTC")
	}
	// The host splits at spaces alone: a tab is part of a field, and wrong there.
	parts := strings.FieldsFunc(spec, func(r rune) bool { return r == ' ' })
	if len(parts) != len(fields) {
		hint := ""
		if len(parts) == len(fields)-1 {
			hint = "; five are cron's: put the second in front"
		}
		return Schedule{}, fmt.Errorf("want 6 fields (second, minute, hour, day, month, day of the week), got %d%s", len(parts), hint)
	}
	s := Schedule{spec: spec}
	sets := [6]*uint64{&s.second, &s.minute, &s.hour, &s.day, &s.month, &s.weekday}
	for i, f := range fields {
		set, err := f.parse(parts[i])
		if err != nil {
			return Schedule{}, fmt.Errorf("%s %q: %w", f.name, parts[i], err)
		}
		*sets[i] = set
	}
	if !s.possible() {
		return Schedule{}, fmt.Errorf("day %q in month %q never comes", parts[3], parts[4])
	}
	return s, nil
}

// possible says whether the calendar has one of the days in one of the months. If it has, the
// date falls on every day of the week within horizon.
func (s Schedule) possible() bool {
	for month := time.January; month <= time.December; month++ {
		const leap = 2024
		length := time.Date(leap, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if has(s.month, int(month)) && first(s.day) <= length {
			return true
		}
	}
	return false
}

// parse reads a list and returns the values that it holds, a bit each.
func (f field) parse(list string) (set uint64, err error) {
	for element := range strings.SplitSeq(list, ",") {
		part, err := f.element(element)
		if err != nil {
			return 0, err
		}
		set |= part
	}
	return set, nil
}

// element reads *, a value or a range, each with or without a step.
func (f field) element(text string) (set uint64, err error) {
	body, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		if step, err = number(stepText); err != nil {
			return 0, fmt.Errorf("step %q: %w", stepText, err)
		}
		if step < 1 {
			return 0, fmt.Errorf("step %q: want at least 1", stepText)
		}
	}
	from, to := f.min, f.max
	lowText, highText, ranged := strings.Cut(body, "-")
	switch {
	case body == "*":
	case ranged:
		if from, err = f.value(lowText); err != nil {
			return 0, err
		}
		if to, err = f.value(highText); err != nil {
			return 0, err
		}
		if from > to {
			return 0, fmt.Errorf("range %q runs backwards (the host would turn it round, to %s-%s)", body, highText, lowText)
		}
	default:
		if from, err = f.value(body); err != nil {
			return 0, err
		}
		if !stepped {
			to = from
		}
	}
	for v := from; v <= to; v += step {
		set |= 1 << v
	}
	return set, nil
}

// value reads a number or a name.
func (f field) value(text string) (int, error) {
	switch {
	case text == "":
		return 0, errors.New("a value is missing")
	case text == "?":
		return 0, errors.New("NCRONTAB has no ?: write *")
	case text[0] >= '0' && text[0] <= '9':
		v, err := number(text)
		if err != nil {
			return 0, fmt.Errorf("%q: %w", text, err)
		}
		if v < f.min || v > f.max {
			return 0, fmt.Errorf("%q: want %d to %d", text, f.min, f.max)
		}
		return v, nil
	}
	for i, name := range f.names {
		if len(text) <= len(name) && strings.EqualFold(text, name[:len(text)]) {
			return f.min + i, nil
		}
	}
	if f.names != nil {
		return 0, fmt.Errorf("%q: want %d to %d, or the beginning of a name from %s to %s", text, f.min, f.max, f.names[0], f.names[len(f.names)-1])
	}
	return 0, fmt.Errorf("%q: want %d to %d", text, f.min, f.max)
}

// number reads decimal digits. What is larger than any field stays so, and does not overflow.
func number(text string) (int, error) {
	if text == "" {
		return 0, errors.New("a number is missing")
	}
	n := 0
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, errors.New("not a number")
		}
		n = min(n*10+int(c-'0'), 1000)
	}
	return n, nil
}
