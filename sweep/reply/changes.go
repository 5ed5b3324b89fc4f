package reply

import (
	"time"

	"isochrone/sweep/answers"
)

// Changes is where series got another level: /api/query/changes, and sweep changes --since.
type Changes struct {
	Head
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Series were looked at; SeriesTooShort of them have too few hours to tell.
	Series         int            `json:"series" jsonschema:"series that were looked at"`
	SeriesTooShort int            `json:"series_too_short" jsonschema:"those of them that have too few hours to tell"`
	Changes        []SeriesChange `json:"changes"`
	Next           *string        `json:"next" jsonschema:"where the next page begins; null at the end"`
}

// SeriesChange is a change of one series.
type SeriesChange struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Path   string `json:"path"`
	Probe  string `json:"probe"`
	Change
	Simulated bool `json:"simulated"`
}

// ChangesOf is the reply of a page of changes.
func ChangesOf(environment string, q answers.ChangesQuery, p *answers.ChangesPage, now time.Time) *Changes {
	out := &Changes{Head: headOf(environment, now, &p.Rests), Since: q.Since.UTC(), Until: q.Until.UTC(), Series: p.Series,
		SeriesTooShort: p.Short, Changes: make([]SeriesChange, len(p.Changes)), Next: optional(p.Next)}
	for i := range p.Changes {
		out.Changes[i] = SeriesChangeOf(&p.Changes[i])
	}
	return out
}

// SeriesChangeOf is the reply of one change.
func SeriesChangeOf(c *answers.SeriesChange) SeriesChange {
	return SeriesChange{c.Series.Source, c.Series.Target, c.Series.Path, c.Series.Probe, changeOf(&c.Change), c.Simulated}
}
