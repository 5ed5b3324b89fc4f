package probe

import (
	"time"

	"isochrone/prober/wire"
)

// outcome tells who watches the run what became of sample i, of a kind whose samples are decided one
// by one. A sample that failed is told of too.
func (r *record) outcome(i int) {
	if r.observe == nil {
		return
	}
	s := &r.samples[i]
	told := Reply{Sequence: i - r.spec.Warmup, Late: s.late, Failure: s.failure}
	if s.rtt != notYet {
		told.RTT = time.Duration(s.rtt)
	} else if !s.late && s.failure == "" {
		told.Failure = wire.FailureTimeout
	}
	r.observe(told)
}
