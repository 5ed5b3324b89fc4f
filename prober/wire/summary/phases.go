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
	// BelowRTT counts the samples whose network part came out more than a millisecond below the
	// smallest round trip that is known (the kernel's, or the smallest connect phase): the server's
	// figure cannot be right.
	BelowRTT int
}

// belowRTTSlackNS is how far a network part may lie below the smallest round trip: servers write
// Server-Timing in milliseconds, and many in whole ones, rounded up.
const belowRTTSlackNS = 1_000_000

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
	network := networkParts(s)
	slices.Sort(network)
	out.NetworkP50, out.NetworkP99 = NearestRank(network, 0.5), NearestRank(network, 0.99)
	if least, ok := leastRTT(r.TCPInfo, connect); ok {
		out.BelowRTT, _ = slices.BinarySearch(network, least-belowRTTSlackNS)
	}
	return &out
}

// networkParts is round trip − server's own time of the samples that have both. It may be negative.
func networkParts(s wire.Samples) []int64 {
	if len(s.ServerNS) != len(s.RTTNS) {
		return nil
	}
	out := make([]int64, 0, len(s.RTTNS))
	for i, rtt := range s.RTTNS {
		if rtt != wire.Null && s.ServerNS[i] != wire.Null {
			out = append(out, rtt-s.ServerNS[i])
		}
	}
	return out
}

// leastRTT is the smallest round trip that is known beside the requests themselves: the kernel's
// of the last connection, or a connect phase (sorted), which is a round trip of its own.
func leastRTT(info *wire.TCPInfo, connect []int64) (ns int64, ok bool) {
	if info != nil && info.MinRTTUS > 0 && info.MinRTTUS <= int64(wire.MaxTimeout)/1000 {
		ns, ok = info.MinRTTUS*1000, true
	}
	at, _ := slices.BinarySearch(connect, 1)
	if at < len(connect) && (!ok || connect[at] < ns) {
		ns, ok = connect[at], true
	}
	return ns, ok
}
