package reply

import (
	"time"

	"isochrone/sweep/answers"
	"isochrone/sweep/tables"
)

// Alerts is what was worth telling: /api/query/alerts, and sweep alerts.
type Alerts struct {
	Head
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Open   int       `json:"open" jsonschema:"how many of them last"`
	Alerts []Alert   `json:"alerts" jsonschema:"the newest first, by when they were raised"`
	Next   *string   `json:"next" jsonschema:"token of the next page; null on the last"`
}

// Alert is one of them. Nil is what its kind does not have.
type Alert struct {
	Kind       string     `json:"kind" jsonschema:"deviation, change, coverage or objective"`
	Series     string     `json:"series" jsonschema:"source|target|path|probe of a series; of coverage a prober, or app; of an objective its name"`
	Source     *string    `json:"source"`
	Target     *string    `json:"target"`
	Path       *string    `json:"path"`
	Probe      *string    `json:"probe"`
	Since      time.Time  `json:"since" jsonschema:"when what it is about began"`
	Raised     time.Time  `json:"raised_at" jsonschema:"when it was found"`
	Ended      *time.Time `json:"ended_at" jsonschema:"when it was found to be over; null while it lasts"`
	Message    string     `json:"message"`
	EndMessage *string    `json:"end_message" jsonschema:"why it is over; null while it lasts"`
	Simulated  bool       `json:"simulated" jsonschema:"a model made up some of what it rests on"`
}

// AlertsOf is the reply of alerts.
func AlertsOf(environment string, q answers.AlertQuery, found []tables.Alert, now time.Time) *Alerts {
	out := &Alerts{Head: NewHead(environment, now), Since: q.Since.UTC(), Until: q.Until.UTC(), Alerts: make([]Alert, len(found))}
	for i := range found {
		out.Alerts[i] = AlertOf(&found[i])
		if found[i].Ended.IsZero() {
			out.Open++
		}
		out.Simulated = out.Simulated || found[i].Simulated
	}
	return out
}

// AlertOf is the reply of one alert.
func AlertOf(a *tables.Alert) Alert {
	out := Alert{Kind: string(a.Kind), Series: a.Subject, Since: a.Since.UTC(), Raised: a.Raised.UTC(), Ended: utc(a.Ended), Message: a.Message,
		EndMessage: optional(a.EndMessage), Simulated: a.Simulated}
	if is, ok := a.Series(); ok {
		out.Source, out.Target, out.Path, out.Probe = &is.Source, &is.Target, &is.Path, &is.Probe
	}
	return out
}
