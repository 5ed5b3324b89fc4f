package foreign

import (
	"fmt"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// maxListed is how many round trips a document keeps in their order, or different ones without it.
const maxListed = wire.MaxSamples * 10

// sampleList gathers round trips in bounded memory: in their order as long as there are few, and
// as counts of equal values from then on.
type sampleList struct {
	room   *int // what the document may still keep, of all its runs together
	list   []int64
	counts map[int64]int
	n      int
}

// newSampleRoom is what one document may keep.
func newSampleRoom() *int { return new(maxListed) }

// add takes a round trip of some nanoseconds. It refuses one that no longer fits.
func (s *sampleList) add(ns int64) error {
	if s.counts == nil && *s.room > 0 {
		*s.room--
		s.list, s.n = append(s.list, ns), s.n+1
		return nil
	}
	if s.counts == nil {
		s.counts = map[int64]int{}
		for _, v := range s.list {
			s.counts[v]++
		}
		*s.room += len(s.list) - len(s.counts)
		s.list = nil
	}
	if _, known := s.counts[ns]; !known {
		if *s.room <= 0 {
			return fmt.Errorf("more than %d different round trips in one document: split it", maxListed)
		}
		*s.room--
	}
	s.counts[ns]++
	s.n++
	return nil
}

// into hands the round trips to a finding. q says where they stand, and in which unit.
func (s *sampleList) into(f *Finding, q Quantity) {
	f.RTT = s.list
	if s.counts != nil {
		f.Bins = summary.DistributionOf(s.counts)
	}
	f.computed(s.n, s.counts == nil, q)
}

// computed explains the columns that are computed from n round trips.
func (f *Finding) computed(n int, ordered bool, q Quantity) {
	if n == 0 {
		return
	}
	for _, c := range []struct {
		column string
		least  int // round trips that it takes
	}{{"rtt_min_us", 1}, {"rtt_mean_us", 1}, {"rtt_max_us", 1}, {"rtt_stddev_us", 2}, {"rtt_p50_us", 20}, {"rtt_p90_us", 100},
		{"rtt_p95_us", 200}, {"rtt_p99_us", 1000}, {"rtt_p999_us", 10_000}} {
		if n >= c.least {
			f.explain(c.column, q)
		}
	}
	if ordered && n >= 2 {
		f.explain("rtt_jitter_us", q)
	}
}
