package main

import (
	"bytes"
	"fmt"
	"time"

	"isochrone/sweep/answers"
)

// shortfallHours is how far back a status looks for what is missing.
const shortfallHours = 6 * time.Hour

// shortfallObject is what a prober did not deliver in the last hours.
type shortfallObject struct {
	Prober  string       `json:"prober"`
	Planned int          `json:"planned_runs"`
	Missing int          `json:"missing_runs"`
	Reasons []fateObject `json:"reasons"`
}

func shortfallObjects(shortfalls []answers.Shortfall) []shortfallObject {
	out := []shortfallObject{}
	for _, s := range shortfalls {
		o := shortfallObject{Prober: s.Prober, Planned: s.Planned, Missing: s.Missing, Reasons: []fateObject{}}
		for _, why := range s.Why {
			o.Reasons = append(o.Reasons, fateObject{string(why.Fate), why.Reason, why.Runs})
		}
		out = append(out, o)
	}
	return out
}

// shortfallTable says in a line a prober what is missing, and where to ask for more.
func shortfallTable(w *bytes.Buffer, st style, o statusObject) {
	if len(o.Shortfalls) == 0 {
		return
	}
	t := table{columns: []column{left("prober"), number("planned runs"), number("missing"), number("reasons"), left("reason of most")}}
	for _, s := range o.Shortfalls {
		most := s.Reasons[0]
		t.rows = append(t.rows, []cell{{text: s.Prober}, {text: count(s.Planned)}, {count(s.Missing), alarm}, {text: count(len(s.Reasons))},
			{text: most.Fate + ": " + most.Reason}})
	}
	fmt.Fprintf(w, "\nmissing since %s, by prober; by hour: sweep coverage\n", stamp(*o.ShortfallSince))
	t.render(w, st)
}
