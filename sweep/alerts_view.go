package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"isochrone/sweep/alerts"
	"isochrone/sweep/reply"
)

// alertsAnswer turns alerts into the three formats.
func alertsAnswer(o *reply.Alerts, open bool) answer {
	return answer{object: o, records: o.Alerts, simulated: o.Simulated, text: func(w *bytes.Buffer, st style) {
		what := "alerts"
		if open {
			what = "open alerts"
		}
		fmt.Fprintf(w, "%s of environment %s from %s to %s\n", what, o.Environment, stamp(o.Since), stamp(o.Until))
		t := &table{columns: []column{left("raised"), left("ended"), left("kind"), left("since"), left("series"), left("message")}}
		for i := range o.Alerts {
			t.rows = append(t.rows, alertRow(&o.Alerts[i]))
		}
		if len(t.rows) > 0 {
			t.render(w, st)
		}
		fmt.Fprintf(w, "\nn = %s, %d open\n", plural(len(o.Alerts), "alert", "alerts"), o.Open)
	}}
}

func alertRow(a *reply.Alert) []cell {
	ended, message := cell{text: "lasts", tone: alarm}, a.Message
	if a.Ended != nil {
		ended = cell{text: minute(*a.Ended)}
	}
	if a.EndMessage != nil {
		message += "; over: " + *a.EndMessage
	}
	return []cell{{text: minute(a.Raised)}, ended, {text: a.Kind}, {text: minute(a.Since)}, {text: a.Series}, {text: visible(message)}}
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02T15:04Z") }

// checkedObject is what a dry run found.
type checkedObject struct {
	reply.Head
	Series   int             `json:"series"`
	Findings []checkedRecord `json:"findings"`
}

type checkedRecord struct {
	State string `json:"state"` // raised, lasts or ends
	reply.Alert
}

func checkedOf(environment string, r alerts.Report, found []alerts.Finding, now time.Time) *checkedObject {
	o := &checkedObject{Head: reply.NewHead(environment, now), Series: r.Series, Findings: []checkedRecord{}}
	for i := range found {
		o.Findings = append(o.Findings, checkedRecord{found[i].State, reply.AlertOf(&found[i].Alert)})
		o.Simulated = o.Simulated || found[i].Simulated
	}
	slices.SortFunc(o.Findings, func(a, b checkedRecord) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Series, b.Series))
	})
	return o
}

// states say what would become of a finding, for people.
var states = map[string]string{alerts.StateRaised: "would be raised", alerts.StateLasts: "lasts", alerts.StateEnds: "would end"}

func (o *checkedObject) answer() answer {
	return answer{object: o, records: o.Findings, simulated: o.Simulated, text: func(w *bytes.Buffer, st style) {
		fmt.Fprintf(w, "alerts of environment %s as they would be at %s\n", o.Environment, stamp(o.GeneratedAt))
		t := &table{columns: []column{left("state"), left("kind"), left("since"), left("series"), left("message")}}
		for i := range o.Findings {
			f := &o.Findings[i]
			state, message := cell{text: states[f.State]}, f.Message
			if f.State != alerts.StateEnds {
				state.tone = alarm
			}
			if f.EndMessage != nil {
				message = *f.EndMessage
			}
			t.rows = append(t.rows, []cell{state, {text: f.Kind}, {text: minute(f.Since)}, {text: f.Alert.Series}, {text: visible(message)}})
		}
		if len(t.rows) > 0 {
			t.render(w, st)
		}
		fmt.Fprintf(w, "\nn = %s; %d series were judged\n", plural(len(o.Findings), "finding", "findings"), o.Series)
	}}
}

func (o *checkedObject) verdict() error {
	n := 0
	for i := range o.Findings {
		if o.Findings[i].State != alerts.StateEnds {
			n++
		}
	}
	if n > 0 {
		return bad("see docs/alerts.md for what each kind means and what to do", "%s", plural(n, "alert is open, or would be raised", "alerts are open, or would be raised"))
	}
	return nil
}
