package reply

import (
	"time"

	"isochrone/sweep/answers"
)

// Probers is which probers live.
type Probers struct {
	Head
	Probers []Prober `json:"probers"`
}

// Prober is what is known of a prober. Nil is absent: it never registered, or does not say.
type Prober struct {
	ID            string     `json:"id"`
	Region        *string    `json:"region"`
	State         string     `json:"state" jsonschema:"fresh, silent, never registered or not configured"`
	Heartbeat     *time.Time `json:"heartbeat"`
	HeartbeatAgeS *float64   `json:"heartbeat_age_s"`
	Version       *string    `json:"version"`
	VMSize        *string    `json:"vm_size"`
	ClockErrorMS  *float64   `json:"clock_error_ms" jsonschema:"the kernel's bound on the clock's error; null when the clock is not synchronised"`
	Paths         []string   `json:"paths" jsonschema:"paths on which it has registered an address"`
	Finding       *string    `json:"finding" jsonschema:"what is wrong with it, for people"`
}

// ProbersOf shapes what is known of the probers. Regions are the configuration's, by id.
func ProbersOf(environment string, probers []answers.Prober, regions map[string]string, now time.Time) *Probers {
	out := &Probers{Head: NewHead(environment, now), Probers: []Prober{}}
	for i := range probers {
		p := &probers[i]
		of := Prober{ID: p.ID, Region: optional(regions[p.ID]), State: string(p.State), Paths: []string{}, Finding: optional(p.Finding())}
		if r := &p.Registration; p.State != answers.NeverRegistered {
			age := p.Age.Seconds()
			of.Heartbeat, of.HeartbeatAgeS, of.Version, of.VMSize = utc(r.Heartbeat), &age, optional(r.Provenance.ProberVersion), optional(r.Provenance.VMSize)
			if of.Region == nil {
				of.Region = optional(r.Region)
			}
			if ns := r.Provenance.ClockErrorNS; ns != nil {
				ms := float64(*ns) / 1e6
				of.ClockErrorMS = &ms
			}
			for _, a := range r.Addresses {
				of.Paths = append(of.Paths, a.Path)
			}
		}
		out.Probers = append(out.Probers, of)
	}
	return out
}

// Still is the answer without what the passing of time alone changes.
func (a *Probers) Still() any {
	out := *a
	out.Probers = make([]Prober, len(a.Probers))
	copy(out.Probers, a.Probers)
	for i := range out.Probers {
		out.Probers[i].HeartbeatAgeS = nil
	}
	return &out
}
