package plan

import (
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// Cost is an estimate of what a plan takes, for a person to read before it runs. Payload is
// what the messages of the probes hold: headers of IP and TCP are not in it.
type Cost struct {
	Runs         int           // planned, those whose target is down included
	Samples      int           // warm-up included, those whose target is down left out
	PayloadBytes int64         // sent by all probers together
	Longest      time.Duration // of the longest run, from its first sample to its last timeout
	Probers      []ProberCost  // by id
}

// ProberCost is a prober's part of a plan.
type ProberCost struct {
	Prober        string
	Runs          int   // that it makes as a source
	Down          int   // of these, whose target is down
	Samples       int   // that it sends as a source, warm-up included
	RequestBytes  int64 // payload that it sends as a source
	ResponseBytes int64 // payload that it sends as a target
}

// EgressBytes is the payload that the prober sends.
func (c ProberCost) EgressBytes() int64 { return c.RequestBytes + c.ResponseBytes }

// Cost estimates what the plan takes, if every sample is sent and answered.
func (p *Plan) Cost() Cost {
	var total Cost
	byID := map[string]*ProberCost{}
	prober := func(id string) *ProberCost {
		if byID[id] == nil {
			byID[id] = &ProberCost{Prober: id}
		}
		return byID[id]
	}
	for i := range p.Assignments {
		a := &p.Assignments[i]
		samples := a.Spec.Count + a.Spec.Warmup
		for j := range a.Runs {
			r := &a.Runs[j]
			source := prober(a.Source)
			total.Runs++
			source.Runs++
			if r.Failure != "" {
				source.Down++
				continue
			}
			request, response := payload(a.Spec)
			total.Samples += samples
			source.Samples += samples
			source.RequestBytes += request
			prober(r.Target).ResponseBytes += response
			total.PayloadBytes += request + response
			total.Longest = max(total.Longest, a.Spec.Span())
		}
	}
	for _, c := range byID {
		total.Probers = append(total.Probers, *c)
	}
	slices.SortFunc(total.Probers, func(a, b ProberCost) int { return strings.Compare(a.Prober, b.Prober) })
	return total
}

// payload is what the two sides of a run send: the session's handshake and the messages. A run
// that opens no session sends none.
func payload(s wire.Spec) (request, response int64) {
	if !s.Kind.Authenticated() {
		return 0, 0
	}
	samples := int64(s.Count + s.Warmup)
	return wire.ClientHelloBytes + samples*int64(s.RequestBytes), wire.ReflectorHelloBytes + samples*int64(s.ResponseBytes)
}
