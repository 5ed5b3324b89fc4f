package plan

import (
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// Cost is an estimate of what a plan takes, for a person to read before it runs.
type Cost struct {
	Runs    int // planned, those whose target is down included
	Samples int // warm-up included, those whose target is down left out
	// Bytes is what all sides send together, as RunBytes counts; UnknownRuns are the runs of which
	// it cannot say, and which are not in it.
	Bytes       int64
	UnknownRuns int
	Longest     time.Duration // of the longest run, from its first sample to its last timeout
	Probers     []ProberCost  // by id, with the endpoints that send something
}

// ProberCost is a prober's part of a plan.
type ProberCost struct {
	Prober        string
	Runs          int   // that it makes as a source
	Down          int   // of these, whose target is down
	Samples       int   // that it sends as a source, warm-up included
	RequestBytes  int64 // that it sends as a source
	ResponseBytes int64 // that it sends as a target
}

// EgressBytes is what the prober sends.
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
			total.Samples += samples
			source.Samples += samples
			total.Longest = max(total.Longest, a.Spec.Span())
			request, response, known := RunBytes(a.Spec)
			if !known {
				total.UnknownRuns++
				continue
			}
			source.RequestBytes += request
			if response > 0 {
				prober(r.Target).ResponseBytes += response
			}
			total.Bytes += request + response
		}
	}
	for _, c := range byID {
		total.Probers = append(total.Probers, *c)
	}
	slices.SortFunc(total.Probers, func(a, b ProberCost) int { return strings.Compare(a.Prober, b.Prober) })
	return total
}

// The sizes that RunBytes reckons with.
const (
	// ipv4Header is that of IPv4 without options. IPv6 takes 20 bytes more a packet.
	ipv4Header = 20
	// udpHeader is that of UDP (RFC 768) and of ICMP's echo (RFC 792) alike.
	udpHeader = 8
	// controlBytes is a control packet of a udp run, which its sessions open and close with.
	controlBytes = 192
	controls     = 2
)

// RunBytes is what the two sides of a run send, if every sample is sent and answered, warm-up
// included: of tcp the session's handshake and the messages, without the headers of TCP and IP,
// whose number the kernel decides; of udp and icmp whole IPv4 packets; of a handshake (connect)
// nothing, for it has no payload. Of bulk kinds it is the run's byte budget, which both sides keep to.
// Of http nobody can say: the server decides what it answers.
func RunBytes(s wire.Spec) (request, response int64, known bool) {
	samples := int64(s.Count + s.Warmup)
	if s.Kind.IsBulk() {
		request = bulkRequestBytes(s)
		return request, s.Bulk.MaxBytes - request, true
	}
	switch s.Kind {
	case wire.KindTCP:
		return wire.ClientHelloBytes + samples*int64(s.RequestBytes), wire.ReflectorHelloBytes + samples*int64(s.ResponseBytes), true
	case wire.KindUDP:
		both := samples*int64(s.RequestBytes+udpHeader+ipv4Header) + controls*(controlBytes+udpHeader+ipv4Header)
		return both, both, true
	case wire.KindICMP:
		both := samples * int64(s.RequestBytes+udpHeader+ipv4Header)
		return both, both, true
	case wire.KindConnect:
		return 0, 0, true
	}
	return 0, 0, false
}

// bulkRequestBytes is the source's part of a bulk run's bytes.
func bulkRequestBytes(s wire.Spec) int64 {
	most := s.Bulk.MaxBytes
	switch {
	case s.Kind == wire.KindThroughput && s.Bulk.Direction == wire.DirectionDown:
		return 0
	case s.Kind == wire.KindThroughput && s.Bulk.Direction == wire.DirectionBoth:
		return most / 2
	case s.Kind == wire.KindSaturate:
		return most - most/100*int64(s.Bulk.ReadPercent)
	case s.Kind == wire.KindLoad && s.AsksURL():
		return 0 // the server's answers
	case s.Kind == wire.KindLoad:
		// At most wire.MaxBulkBytes × wire.MaxMessageBytes, 2^60.
		return most * int64(s.RequestBytes) / int64(s.RequestBytes+s.ResponseBytes)
	}
	return most
}
