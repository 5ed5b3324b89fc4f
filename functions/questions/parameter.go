package questions

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// parameter is one of a question's. In the query it stands once, and never empty.
type parameter struct {
	name, meaning string
	form          form
	required      bool
	fallback      string // what stands where it is left out; "" where nothing does, or the configuration decides
	example       string
}

// form is how a parameter is written.
type form struct {
	want    string // for people, after "want "
	pattern string // of the description; "" where choices or check say it all
	choices []string
	check   func(text string) error // nil where pattern or choices are all
}

// maxValue bounds a value, in bytes. No name, time or token is longer.
const maxValue = 1000

func (f *form) accepts(text string) bool {
	switch {
	case text == "" || len(text) > maxValue:
		return false
	case len(f.choices) > 0:
		return slices.Contains(f.choices, text)
	case f.pattern != "" && !regexp.MustCompile(f.pattern).MatchString(text):
		return false
	}
	return f.check == nil || f.check(text) == nil
}

func (p parameter) optional() parameter {
	p.required, p.meaning = false, p.meaning+"; without it all"
	return p
}

// filter is the parameter where nothing stands for it.
func (p parameter) filter() parameter {
	p.meaning = "only of this " + p.name + "; without it all"
	return p
}

var (
	nameForm = form{want: "a name of the configuration", check: func(text string) error {
		if strings.HasPrefix(text, wire.ForeignPrefix) {
			return wire.ValidateName("name", strings.TrimPrefix(text, wire.ForeignPrefix))
		}
		return wire.ValidateName("name", text)
	}}
	timeForm = form{want: "a time such as 2026-11-30T10:20:00Z or 2026-11-30", check: func(text string) error {
		_, err := parseTime(text)
		return err
	}}
	sinceForm = form{want: "how far back, such as 90m, 24h or 7d, or a time such as 2026-11-30T10:20:00Z", check: func(text string) error {
		if _, err := parseBack(text); err == nil {
			return nil
		}
		_, err := parseTime(text)
		return err
	}}
	durationForm = form{want: "a duration such as 30m, 4h or 2d", check: func(text string) error {
		_, err := parseBack(text)
		return err
	}}
	sizeForm = form{want: config.WantSize, check: func(text string) error {
		_, err := config.ParseSize(text)
		return err
	}}
	rateForm = form{want: config.WantRate, check: func(text string) error {
		_, err := config.ParseRate(text)
		return err
	}}
	kilometreForm = form{want: "kilometres, 0 to 20100", pattern: `^\d{1,5}(\.\d{1,3})?$`, check: func(text string) error {
		if km, err := strconv.ParseFloat(text, 64); err != nil || km > 20_100 {
			return errors.New("it is farther than half of the Earth's girth")
		}
		return nil
	}}
	booleanForm = form{want: "true or false", choices: []string{"true", "false"}}
	pathsForm   = form{want: "two paths with a comma between them, such as public,peering", check: func(text string) error {
		a, b, ok := strings.Cut(text, ",")
		if !ok || a == b || wire.ValidateName("path", a) != nil || wire.ValidateName("path", b) != nil {
			return errors.New("not two paths")
		}
		return nil
	}}
	limitForm = form{want: fmt.Sprintf("a whole number from 1 to %d", maxLimit), pattern: `^[1-9]\d{0,3}$`, check: func(text string) error {
		if n, err := strconv.Atoi(text); err != nil || n > maxLimit {
			return errors.New("too many")
		}
		return nil
	}}
	tokenForm = form{want: "next of the page before, as it is", pattern: `^[A-Za-z0-9_-]{1,900}$`}
)

// The parameters that several questions have.
var (
	source = parameter{name: "source", meaning: "prober that measures", form: nameForm, required: true, example: "westeurope"}
	target = parameter{name: "target", meaning: "prober or endpoint that is measured", form: nameForm, required: true, example: "eastus"}
	path   = parameter{name: "path", meaning: "path; without it the probe's first, or that of the overview's default", form: nameForm, example: "public"}
	probe  = parameter{name: "probe", meaning: "probe; without it the first that measures the round trip over the path", form: nameForm, example: "tcp-64"}
	paths  = parameter{name: "paths", meaning: "the two paths: the answer is the first less the second", form: pathsForm, required: true, example: "public,peering"}
	until  = parameter{name: "until", meaning: "before this time; without it now", form: timeForm, example: "2026-11-30T00:00:00Z"}
	limit  = parameter{name: "limit", meaning: "entries of one page", form: limitForm, fallback: strconv.Itoa(defaultLimit), example: "100"}
	next   = parameter{name: "next", meaning: "token of the page, from the answer before; the other parameters must be the same", form: tokenForm, example: "eyJhdCI6MTAwfQ"}
)

func since(fallback string) parameter {
	return parameter{name: "since", meaning: "how far back to look, or from when on", form: sinceForm, fallback: fallback, example: "7d"}
}

// parseTime reads a time as the command line does.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("time %.40q cannot be read", text)
}

// maxBack bounds durations: ten years.
const maxBack = 10 * 366 * day

// parseBack reads a duration that is more than nothing, in days too.
func parseBack(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int
		if n, err = strconv.Atoi(days); err == nil && n > 0 && n <= int(maxBack/day) {
			return time.Duration(n) * day, nil
		}
	}
	if err != nil || d <= 0 || d > maxBack {
		return 0, fmt.Errorf("duration %.40q cannot be read", text)
	}
	return d, nil
}
