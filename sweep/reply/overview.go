package reply

import (
	"time"

	"isochrone/sweep/answers"
)

// Overview is what there is to ask about.
type Overview struct {
	Head
	Paths     []string           `json:"paths"`
	Default   OverviewDefault    `json:"default" jsonschema:"what other answers are about where nothing else is asked for"`
	Probes    []OverviewProbe    `json:"probes"`
	Probers   []OverviewProber   `json:"probers"`
	Endpoints []OverviewEndpoint `json:"endpoints" jsonschema:"targets that are no probers"`
}

// OverviewDefault is the path and probe of an answer where nothing else is asked for.
type OverviewDefault struct {
	Path  string `json:"path"`
	Probe string `json:"probe"`
}

// OverviewProbe is a probe of the configuration.
type OverviewProbe struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Schedule string   `json:"schedule" jsonschema:"cron, five fields, UTC unless it names a zone"`
	Paths    []string `json:"paths"`
}

// OverviewProber is a prober and where its region is.
type OverviewProber struct {
	ID          string   `json:"id"`
	Region      string   `json:"region"`
	DisplayName *string  `json:"display_name"`
	Geography   *string  `json:"geography"`
	Latitude    *float64 `json:"latitude" jsonschema:"degrees north; null for a region that the catalog does not have"`
	Longitude   *float64 `json:"longitude" jsonschema:"degrees east"`
	TimeZone    *string  `json:"time_zone" jsonschema:"IANA"`
	Paths       []string `json:"paths"`
}

// OverviewEndpoint is a target that is no prober. Its address is nobody's business here.
type OverviewEndpoint struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// OverviewOf shapes an overview.
func OverviewOf(o *answers.Overview, now time.Time) *Overview {
	out := &Overview{Head: NewHead(o.Environment, now), Paths: append([]string{}, o.Paths...), Default: OverviewDefault{o.Path, o.Probe},
		Probes: []OverviewProbe{}, Probers: []OverviewProber{}, Endpoints: []OverviewEndpoint{}}
	for _, p := range o.Probes {
		out.Probes = append(out.Probes, OverviewProbe{p.Name, string(p.Kind), p.Schedule, append([]string{}, p.Paths...)})
	}
	for _, p := range o.Probers {
		of := OverviewProber{ID: p.ID, Region: p.Region.Name, DisplayName: optional(p.Region.DisplayName), Geography: optional(p.Region.Geography),
			TimeZone: optional(p.Region.TimeZone), Paths: append([]string{}, p.Paths...)}
		if p.Region.DisplayName != "" {
			latitude, longitude := p.Region.Latitude, p.Region.Longitude
			of.Latitude, of.Longitude = &latitude, &longitude
		}
		out.Probers = append(out.Probers, of)
	}
	for _, e := range o.Endpoints {
		out.Endpoints = append(out.Endpoints, OverviewEndpoint{e.Name, e.Path})
	}
	return out
}
