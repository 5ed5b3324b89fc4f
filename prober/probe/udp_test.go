package probe

import (
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestUDPMeasuresEverySample(t *testing.T) { bothWays(t, measuresEverySample) }

func measuresEverySample(t *testing.T, p *Prober) {
	bound := int64(1_500_000)
	r := startStampTarget(t, func() *int64 { return &bound }, testStampSession(192, 203))
	var seen []Reply
	req := udpRequest(r.address, 200)
	req.Observe = func(r Reply) { seen = append(seen, r) }
	run := p.Make(t.Context(), req)
	valid(t, run)
	want := wire.Counts{Warmup: 3, Sent: 200, Received: 200}
	zero := 0
	want.LostForward, want.LostReverse, want.DuplicateForward, want.DuplicateReverse, want.ReorderedForward, want.ReorderedReverse = &zero, &zero, &zero, &zero, &zero, &zero
	sameCounts(t, run, want)
	if run.Failure != "" || len(seen) != 203 {
		t.Errorf("failure %q (%s), %d replies observed; want none, 203", run.Failure, run.Detail, len(seen))
	}
	if run.TargetClockErrorNS == nil || *run.TargetClockErrorNS < bound || *run.TargetClockErrorNS > bound+bound/64 {
		t.Errorf("the target's clock error is %v, want %d or little more", run.TargetClockErrorNS, bound)
	}
	if run.Timestamps != udpStamps() {
		t.Errorf("time stamps %q, want %q", run.Timestamps, udpStamps())
	}
	s := run.Samples
	aside := 0
	for i := range s.Len() {
		if s.ServerNS[i] == wire.Null || s.ForwardNS[i] == wire.Null || s.ReverseNS[i] == wire.Null {
			t.Fatalf("sample %d: server %d, forward %d, reverse %d", i, s.ServerNS[i], s.ForwardNS[i], s.ReverseNS[i])
		}
		if run.Timestamps == wire.TimestampsKernel && s.ClientNS[i] == wire.Null {
			aside++
			continue
		}
		// Both ends have one clock here.
		if sum := s.ForwardNS[i] + s.ReverseNS[i]; sum-s.RTTNS[i] > 2 || s.RTTNS[i]-sum > 2 || s.ForwardNS[i] < 0 || s.ReverseNS[i] < 0 {
			t.Errorf("sample %d: %d forward and %d back in a round trip of %d ns", i, s.ForwardNS[i], s.ReverseNS[i], s.RTTNS[i])
		}
		if s.RTTNS[i] > int64(time.Second) {
			t.Errorf("sample %d took %d ns on loopback", i, s.RTTNS[i])
		}
	}
	if run.ClockSteps != nil && *run.ClockSteps != aside || aside > 5 {
		t.Errorf("%d samples without the kernel's stamps, the run says %v", aside, number(run.ClockSteps))
	}
}

// sameCounts compares all counts, those that are unknown too.
func sameCounts(t *testing.T, run wire.Run, want wire.Counts) {
	t.Helper()
	got := run.Counts
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"warm-up", got.Warmup, want.Warmup}, {"sent", got.Sent, want.Sent}, {"received", got.Received, want.Received},
		{"lost", got.Lost, want.Lost}, {"late", got.Late, want.Late}, {"duplicate", got.Duplicate, want.Duplicate},
		{"reordered", got.Reordered, want.Reordered},
		{"lost forward", number(got.LostForward), number(want.LostForward)}, {"lost reverse", number(got.LostReverse), number(want.LostReverse)},
		{"duplicate forward", number(got.DuplicateForward), number(want.DuplicateForward)}, {"duplicate reverse", number(got.DuplicateReverse), number(want.DuplicateReverse)},
		{"reordered forward", number(got.ReorderedForward), number(want.ReorderedForward)}, {"reordered reverse", number(got.ReorderedReverse), number(want.ReorderedReverse)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
