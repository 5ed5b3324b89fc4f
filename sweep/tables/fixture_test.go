package tables

import (
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// full is a result that has a value for every column but those of a failed run.
func full(t testing.TB, env string) result.Result {
	t.Helper()
	rtt := make([]int64, 0, 10_020)
	for i := range 10_000 {
		rtt = append(rtt, 2_000_000+int64(i)*100)
	}
	for range 20 {
		rtt = append(rtt, wire.Null)
	}
	r := measured(t, seriesOf(env, "westeurope", "eastus"), slot0, rtt...)
	r.Part, r.Tool = 3, "isochrone"
	r.Run.Detail = "a text with 'quotes', Ümläute and a \u0001"
	r.Run.Counts.Warmup, r.Run.Counts.Late, r.Run.Counts.Duplicate, r.Run.Counts.Reordered, r.Run.Counts.PacingViolations = 5, 4, 3, 2, 1
	r.Run.TCPInfo = &wire.TCPInfo{RTTUS: 2100, MinRTTUS: 2000, RTTVarUS: 17, Retransmits: 20, DeliveryRateBPS: 9_876_543_210,
		MSSBytes: 1448, CongestionControl: "cubic", CongestionWindow: 10}
	clock, steal := int64(12_345), 0.25
	r.Provenance = wire.Provenance{ProberVersion: "1.2.3", ImageDigest: "sha256:abc", VMSize: "Standard_D2s_v5", ClockErrorNS: &clock, CPUStealRatio: &steal}
	return r
}

func registration(env, prober string, heartbeat time.Time) wire.Registration {
	return wire.Registration{Version: wire.RegistrationVersion, Environment: env, Prober: prober, Region: prober,
		Started: slot0.Add(-time.Hour), Heartbeat: heartbeat, HeartbeatInterval: 30 * time.Second,
		Addresses:        []wire.PathAddress{{Path: "public", Host: "20.50.0.4", TCPPort: 7700}},
		ReadsAssignments: []int{1}, Provenance: wire.Provenance{ProberVersion: "1.2.3"}}
}
