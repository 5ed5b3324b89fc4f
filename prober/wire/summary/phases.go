package summary

import (
	"slices"

	"isochrone/prober/wire"
)

// HTTP holds the medians of an http run's phases, in nanoseconds. Null: too few requests had the
// phase for a median (NearestRank).
type HTTP struct {
	DNSP50, ConnectP50, TLSP50, FirstByteP50 *float64
	// NetworkP50 and NetworkP99 are of round trip − server's own time (Server-Timing).
	NetworkP50, NetworkP99 *float64
	// BelowRTT counts the samples whose network part came out further below the smallest round trip
	// that is known (the kernel's, or the smallest connect phase) than the server's figures are
	// coarse (belowRTTSlack), or below zero: the server's figure cannot be right. Null: no sample
	// that was received has a figure of the server's.
	BelowRTT *int
}

// maxBelowRTTSlackNS is how coarse a server's figures may be: whole milliseconds.
const maxBelowRTTSlackNS = 1_000_000

// belowRTTSlack is how far a network part may lie below the smallest round trip because the
// server rounded its own time up: one unit of the last decimal place that any of its figures uses,
// a millisecond at most, and never more than half of the round trip.
func belowRTTSlack(server []int64, least int64) int64 {
	unit := int64(maxBelowRTTSlackNS)
	for _, v := range server {
		for v%unit != 0 { // ends at 1
			unit /= 10
		}
	}
	return min(unit, least/2)
}

func httpOf(r *wire.Run) *HTTP {
	if r.Kind != wire.KindHTTP {
		return nil
	}
	s := r.Samples
	var out HTTP
	connect := s.ConnectNS.Values()
	for _, phase := range []struct {
		values []int64
		to     **float64
	}{{s.DNSNS.Values(), &out.DNSP50}, {connect, &out.ConnectP50}, {s.TLSNS.Values(), &out.TLSP50}, {s.FirstByteNS.Values(), &out.FirstByteP50}} {
		slices.Sort(phase.values)
		*phase.to = NearestRank(phase.values, 0.5)
	}
	out.NetworkP50, out.NetworkP99, out.BelowRTT = networkOf(r, connect)
	return &out
}

// networkOf is what is known of round trip − server's own time. connect is the connect phases, sorted.
func networkOf(r *wire.Run, connect []int64) (p50, p99 *float64, belowRTT *int) {
	network, server := networkParts(r.Samples)
	slices.Sort(network)
	if len(network) > 0 {
		least := leastRTT(r, connect)
		below, _ := slices.BinarySearch(network, least-belowRTTSlack(server, least))
		belowRTT = &below
	}
	return NearestRank(network, 0.5), NearestRank(network, 0.99), belowRTT
}

func (h *HTTP) belowRTT() *int {
	if h == nil {
		return nil
	}
	return h.BelowRTT
}

// networkParts is round trip − server's own time of the samples that have both, and that time. A
// part may be negative.
func networkParts(s wire.Samples) (network, server []int64) {
	if len(s.ServerNS) != len(s.RTTNS) {
		return nil, nil
	}
	for i, rtt := range s.RTTNS {
		if rtt != wire.Null && s.ServerNS[i] != wire.Null {
			network, server = append(network, rtt-s.ServerNS[i]), append(server, s.ServerNS[i])
		}
	}
	return network, server
}

// leastRTT is the smallest round trip that is known beside the requests themselves, in nanoseconds:
// the kernel's of the last connection, or a connect phase, which is a round trip of its own, of the
// samples (sorted) or of those before them. 0: none is known.
func leastRTT(r *wire.Run, connect []int64) int64 {
	var least int64
	known := func(ns int64) {
		if ns > 0 && ns <= int64(wire.MaxTimeout) && (least == 0 || ns < least) {
			least = ns
		}
	}
	if r.TCPInfo != nil && r.TCPInfo.MinRTTUS <= int64(wire.MaxTimeout)/1000 {
		known(r.TCPInfo.MinRTTUS * 1000)
	}
	if r.LeastConnectNS != nil {
		known(*r.LeastConnectNS)
	}
	if at, _ := slices.BinarySearch(connect, 1); at < len(connect) {
		known(connect[at])
	}
	return least
}
