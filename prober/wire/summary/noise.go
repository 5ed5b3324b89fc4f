package summary

import (
	"slices"

	"isochrone/prober/wire"
)

// Reason says why a run is degraded: what its own noise may have done to it.
type Reason string

// The reasons.
const (
	ReasonLateSends      Reason = "late_sends"      // 1 % of the samples left more than 5 ms late
	ReasonClientOverhead Reason = "client_overhead" // waking up is a large part of the round trip
	ReasonServerDwell    Reason = "server_dwell"    // 1 % of the requests were held for more than 5 ms (udp: 100 ms)
	ReasonCPUSteal       Reason = "cpu_steal"       // the hypervisor took more than 5 % of the time
	ReasonClockStep      Reason = "clock_step"      // the wall clock was set during the run
	ReasonSplitBelowRTT  Reason = "split_below_rtt" // a network part came out below the smallest round trip
	ReasonDamaged        Reason = "damaged"         // a part of the foreign document could not be read, and is left out
	ReasonUnsynchronised Reason = "unsynchronised"  // a foreign tool's one-way delays are of clocks that do not agree; they are left out
)

// When a run is degraded.
const (
	// maxLatenessNS: a Go timer is 1 to 2 ms late at p99 on a machine that is well, so 5 ms is
	// one that was not. A stall that delays sending delays reading too.
	maxLatenessNS = 5_000_000
	// maxDwellNS: a target that is well answers within a small part of a millisecond.
	maxDwellNS = 5_000_000
	// maxStillNS is the same for udp, whose round trip has the dwell taken out: a reflector that
	// stands still for so long is on a machine that is not to be relied on.
	maxStillNS = 100_000_000
	// Waking up takes 0.1 to 0.4 ms on a machine that is well. Less than 0.5 ms changes no
	// conclusion, and less than a tenth of the round trip does not either.
	maxClientNS    = 500_000
	maxClientOfRTT = 0.10
	maxCPUSteal    = 0.05
	tailPart       = 0.01 // the part of the samples that may be beyond a limit
	tailLeast      = 2    // one sample beyond a limit is no finding, however few there are
	leastClient    = 2    // the same of the source's own share
)

// Noise is what the measurement itself added, or may have. Durations are nanoseconds; null is
// unknown.
type Noise struct {
	// How late samples left: sent − due. Zero in a closed loop.
	LatenessP50, LatenessP99, LatenessMax *float64
	// The source's own share: Samples.ClientNS.
	ClientP50, ClientP99 *float64
	// How long the target held requests: Samples.ServerNS. Of http and load it is the server's work,
	// and no noise.
	ServerP50, ServerP99 *float64
	// Degraded lists why the run is not to be relied on without a look; empty: nothing was found.
	Degraded []Reason
}

// noiseOf computes the noise of a run whose received round trips are rtt, sorted. belowRTT is
// that of HTTP or Bulk.
//
// The verdicts need no p99, which runs of fewer than 1,000 samples do not have: a limit that 1 %
// may exceed is broken when more than 1 % of the samples exceed it, and two at least. From 100
// samples on that is the same as a nearest-rank p99 beyond the limit. Below, where p99 would be the
// largest sample, one stray does not condemn a run.
func noiseOf(r *wire.Run, p *wire.Provenance, rtt []int64, belowRTT int) Noise {
	late, client, server := lateness(r.Samples), r.Samples.ClientNS.Values(), r.Samples.ServerNS.Values()
	for _, v := range [][]int64{late, client, server} {
		slices.Sort(v)
	}
	n := Noise{
		LatenessP50: NearestRank(late, 0.5), LatenessP99: NearestRank(late, 0.99),
		ClientP50: NearestRank(client, 0.5), ClientP99: NearestRank(client, 0.99),
		ServerP50: NearestRank(server, 0.5), ServerP99: NearestRank(server, 0.99),
	}
	if len(late) > 0 {
		most := float64(late[len(late)-1])
		n.LatenessMax = &most
	}
	for _, finding := range []struct {
		holds  bool
		reason Reason
	}{
		{exceeds(late, maxLatenessNS), ReasonLateSends},
		{r.Timestamps == wire.TimestampsUser && overhead(client, rtt), ReasonClientOverhead},
		{r.Kind != wire.KindHTTP && r.Kind != wire.KindLoad && exceeds(server, dwellLimit(r.Kind)), ReasonServerDwell},
		{p.CPUStealRatio != nil && *p.CPUStealRatio > maxCPUSteal, ReasonCPUSteal},
		{r.ClockSteps != nil && *r.ClockSteps > 0, ReasonClockStep},
		{belowRTT > 0, ReasonSplitBelowRTT},
	} {
		if finding.holds {
			n.Degraded = append(n.Degraded, finding.reason)
		}
	}
	return n
}

// lateness is sent − due of the samples that were sent.
func lateness(s wire.Samples) []int64 {
	if len(s.DueNS) != len(s.SentNS) {
		return nil
	}
	out := make([]int64, 0, len(s.SentNS))
	for i, sent := range s.SentNS {
		if sent != wire.Null && s.DueNS[i] != wire.Null {
			out = append(out, sent-s.DueNS[i])
		}
	}
	return out
}

// exceeds says whether more of the sorted values lie beyond the limit than may.
func exceeds(sorted []int64, limit int64) bool {
	at, _ := slices.BinarySearch(sorted, limit+1)
	beyond := len(sorted) - at
	return beyond >= tailLeast && float64(beyond) > tailPart*float64(len(sorted))
}

// overhead says whether the source's own share is a large part of the round trip. Both medians
// are plain nearest ranks.
func overhead(client, rtt []int64) bool {
	if len(client) < leastClient || len(rtt) == 0 {
		return false
	}
	own, whole := client[nearest(len(client), 0.5)-1], rtt[nearest(len(rtt), 0.5)-1]
	return float64(own) > max(maxClientNS, maxClientOfRTT*float64(whole))
}

// dwellLimit is how long a target may hold requests. Of http and load the dwell is the server's work,
// and has no limit.
func dwellLimit(k wire.Kind) int64 {
	if k == wire.KindUDP {
		return maxStillNS
	}
	return maxDwellNS
}
