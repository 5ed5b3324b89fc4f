package questions

import (
	"context"
	"slices"
	"time"

	"isochrone/sweep/reply"
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

// nowQuestions are about the newest sweeps.
func nowQuestions() []question {
	return []question{
		{name: "overview", summary: "What is measured and where: probers, paths, probes and endpoints.", answer: reply.Overview{}, ask: askOverview},
		{name: "matrix", summary: "The newest run of every ordered pair that one probe measures over one path.",
			parameters: []parameter{path, probe}, answer: reply.MatrixAnswer{}, ask: askMatrix},
		{name: "coverage", summary: "What became of every planned run, by prober and hour.",
			parameters: []parameter{source.optional(), path.filter(), probe.filter(), since("24h"), until, limit, next}, most: 31 * day, answer: reply.Coverage{}, ask: askCoverage},
		{name: "probers", summary: "Which probers live.", answer: reply.Probers{}, ask: askProbers},
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
