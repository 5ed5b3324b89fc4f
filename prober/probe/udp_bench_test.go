package probe

import (
	"slices"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// BenchmarkUDP measures b.N samples of the default size on loopback: `-benchtime 500x`.
func BenchmarkUDP(b *testing.B) {
	for name, interval := range map[string]time.Duration{"one every 20 ms": 20 * time.Millisecond, "closed loop": 0} {
		b.Run(name, func(b *testing.B) {
			session := testStampSession(wire.DefaultDatagramBytes, b.N+10)
			r := startStampTarget(b, nil, session)
			req := udpRequest(r.address, b.N)
			req.Spec.RequestBytes, req.Spec.Interval, req.Spec.Warmup = wire.DefaultDatagramBytes, interval, 10
			req.Deadline = time.Now().Add(time.Hour)
			b.ResetTimer()
			run := stampProber().Make(b.Context(), req)
			b.StopTimer()
			kernel, user := run.Samples.RTTNS, make(wire.Column, 0, b.N)
			for i := range run.Samples.Len() {
				if run.Samples.ClientNS[i] != wire.Null {
					user = append(user, run.Samples.RTTNS[i]+run.Samples.ClientNS[i]+run.Samples.ServerNS[i])
				}
			}
			slices.Sort(kernel)
			slices.Sort(user)
			for _, c := range []struct {
				name string
				from wire.Column
			}{{"kernel", kernel}, {"user", user}} {
				if n := len(c.from); n > 0 {
					b.ReportMetric(float64(c.from[n/2])/1e3, c.name+"-p50-us")
					b.ReportMetric(float64(c.from[n*99/100])/1e3, c.name+"-p99-us")
				}
			}
			b.ReportMetric(float64(run.Counts.Received), "received")
			if run.Failure != "" {
				b.Fatalf("failure %q (%s)", run.Failure, run.Detail)
			}
		})
	}
}
