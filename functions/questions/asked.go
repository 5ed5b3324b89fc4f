package questions

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"isochrone/sweep/answers"
	"isochrone/sweep/config"
)

// Rows is where rows are read. tables.Store satisfies it.
type Rows interface {
	answers.LatestRows
	answers.RunRows
	answers.CoverageRows
	answers.AlertRows
	answers.SeriesHours
}

// Blobs is where the configuration and the probers' registrations are read. archive.Store satisfies it.
type Blobs interface {
	answers.CoverageBlobs
}

// asked is one question with what it was asked with, and where its answer is found.
type asked struct {
	question    *question
	values      map[string]string // as they were given
	environment string
	now         time.Time
	// since and until bound the time; zero where the question has none.
	since, until time.Time
	rows         Rows
	blobs        Blobs
	config       *config.Config
	at           int    // entries that the pages before had
	after        string // the last of them, where the answer knows by itself
}

// text is a parameter's value, or what stands where it is left out.
func (a *asked) text(name string) string {
	if v, ok := a.values[name]; ok {
		return v
	}
	p, _ := a.question.parameterOf(name)
	return p.fallback
}

// hostParameters are the host's own: the function's key, and its name.
func hostParameter(name string) bool {
	return strings.EqualFold(name, "code") || strings.EqualFold(name, "clientId")
}

// maxQuery bounds a query, in bytes: eight values of the greatest length.
const maxQuery = 4 << 10

// parse checks the query against the question's parameters. All faults come at once.
func parse(q *question, raw string, now time.Time) (*asked, *refusal) {
	if len(raw) > maxQuery {
		return nil, &refusal{http.StatusRequestURITooLong, []fault{{"", fmt.Sprintf("the query has more than %d bytes", maxQuery), "leave out what the question does not need"}}}
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badRequest("", "escape it as a URL asks for: %26 for &, %3B for ;", "the query cannot be read") // without its text: it may hold the key
	}
	a := &asked{question: q, values: map[string]string{}, now: now.UTC()}
	var faults []fault
	for _, name := range sortedNames(query) {
		given := query[name]
		if hostParameter(name) {
			continue
		}
		p, known := q.parameterOf(name)
		switch {
		case !known:
			faults = append(faults, fault{clip(name), fmt.Sprintf("%s has no parameter %q", q.name, clip(name)), "it has " + q.names()})
		case len(given) > 1:
			faults = append(faults, fault{name, fmt.Sprintf("%s is given %d times", name, len(given)), "give it once"})
		case !p.form.accepts(given[0]):
			faults = append(faults, fault{name, fmt.Sprintf("%s is %q", name, clip(given[0])), "want " + p.form.want})
		default:
			a.values[name] = given[0]
		}
	}
	for i := range q.parameters {
		if p := &q.parameters[i]; p.required && query[p.name] == nil {
			faults = append(faults, fault{p.name, p.name + " is missing", "want " + p.form.want + ": " + p.meaning})
		}
	}
	faults = append(faults, a.readTimes()...)
	if len(faults) > 0 {
		return nil, &refusal{http.StatusBadRequest, faults}
	}
	if r := a.readPage(); r != nil {
		return nil, r
	}
	return a, nil
}

// readTimes fills in since and until, where the question has them and they can be read.
func (a *asked) readTimes() []fault {
	if _, has := a.question.parameterOf("since"); !has {
		return nil
	}
	a.until = a.now
	if text, given := a.values["until"]; given {
		a.until, _ = parseTime(text)
	}
	text := a.text("since")
	if back, err := parseBack(text); err == nil {
		a.since = a.now.Add(-back)
	} else if a.since, err = parseTime(text); err != nil {
		return nil // parse said so
	}
	switch {
	case a.since.Before(a.now.Add(-a.question.most)):
		return []fault{{"since", fmt.Sprintf("since lies more than %d days back", a.question.most/day), fmt.Sprintf("want %dd at the most; sweep export has all", a.question.most/day)}}
	case !a.since.Before(a.until):
		return []fault{{"since", "since is not before until", "want a time that is past, and an until after it"}}
	}
	return nil
}

func (q *question) names() string {
	if len(q.parameters) == 0 {
		return "none"
	}
	names := make([]string, len(q.parameters))
	for i := range q.parameters {
		names[i] = q.parameters[i].name
	}
	return strings.Join(names, ", ")
}

func sortedNames(query url.Values) []string {
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// clip shortens what somebody sent for a message.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if r := []rune(text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return text
}
