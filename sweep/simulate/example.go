package simulate

import (
	"fmt"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/convert"
	"isochrone/sweep/result"
)

// Example is one document of a history, as it is stored.
type Example struct {
	Probe   string
	Source  string
	Body    []byte
	Results []result.Result
}

// Examples are the first documents of a slot, one a probe: they say how large a history is before it is made.
func (m *Model) Examples(c *config.Config, s Slot) ([]Example, error) {
	plans := planner{model: m, config: c, hash: fmt.Sprintf("%064x", 0)}
	p, err := plans.plan(s)
	if err != nil {
		return nil, err
	}
	var out []Example
	seen := map[string]bool{}
	for i := range p.Assignments {
		a := &p.Assignments[i]
		if seen[a.Probe] {
			continue
		}
		seen[a.Probe] = true
		d, err := m.Document(p, a)
		if err != nil {
			return nil, err
		}
		body, err := Encode(d)
		if err != nil {
			return nil, err
		}
		rs, err := convert.Results(d, convert.Identity{Environment: p.Environment, Source: a.Source, Probe: a.Probe, Slot: p.Slot, Assignment: a.ID,
			Attempt: d.Attempt, Part: a.Part, DocumentBlob: "raw-" + p.Environment + "/documents/v=1/src=" + a.Source + "/date=2026-11-30/" + wire.SlotName(p.Slot) + a.ID})
		if err != nil {
			return nil, err
		}
		out = append(out, Example{a.Probe, a.Source, body, rs})
	}
	return out, nil
}
