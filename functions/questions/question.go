package questions

import (
	"context"
	"slices"
	"time"

	"isochrone/sweep/reply"
	"isochrone/sweep/tables"
)

// question is one thing that can be asked.
type question struct {
	name, summary string
	parameters    []parameter
	answer        any // a zero value of what ask returns, for the description
	// most is how far back since may lie; 0 where the question has none.
	most time.Duration
	ask  func(ctx context.Context, a *asked) (any, error)
}

// table lists the questions in the order of the description.
func table() []question {
	return slices.Concat(nowQuestions(), historyQuestions(), planningQuestions())
}

const openAlerts = "open"

var (
	alertKind  = parameter{name: "kind", meaning: "only of this kind; without it all", form: form{want: "deviation, change, coverage or objective", choices: alertKinds()}, example: "deviation"}
	alertState = parameter{name: "state", meaning: "only those that last; without it all", form: form{want: "open", choices: []string{openAlerts}}, example: openAlerts}
)

func alertKinds() (names []string) {
	for _, k := range tables.AlertKinds() {
		names = append(names, string(k))
	}
	return names
}

// nowQuestions are about the newest sweeps.
func nowQuestions() []question {
	return []question{
		{name: "overview", summary: "What is measured and where: probers, paths, probes and endpoints.", answer: reply.Overview{}, ask: askOverview},
		{name: "matrix", summary: "The newest run of every ordered pair that one probe measures over one path.",
			parameters: []parameter{path, probe}, answer: reply.MatrixAnswer{}, ask: askMatrix},
		{name: "coverage", summary: "What became of every planned run, by prober and hour.",
			parameters: []parameter{source.optional(), path.filter(), probe.filter(), since("24h"), until, limit, next}, most: 31 * day, answer: reply.Coverage{}, ask: askCoverage},
		{name: "probers", summary: "Which probers live.", answer: reply.Probers{}, ask: askProbers},
		{name: "alerts", summary: "What was worth telling, and what of it lasts.",
			parameters: []parameter{alertKind, alertState, since("7d"), until, limit, next}, most: mostHistory, answer: reply.Alerts{}, ask: askAlerts},
	}
}

const day = 24 * time.Hour

// parameterOf finds a question's parameter.
func (q *question) parameterOf(name string) (*parameter, bool) {
	for i := range q.parameters {
		if q.parameters[i].name == name {
			return &q.parameters[i], true
		}
	}
	return nil, false
}

func find(questions []question, name string) (*question, bool) {
	for i := range questions {
		if questions[i].name == name {
			return &questions[i], true
		}
	}
	return nil, false
}
