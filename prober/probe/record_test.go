package probe

import (
	"slices"
	"testing"
	"time"

	"isochrone/prober/wire"
)

const ms = int64(time.Millisecond)

// sentRecord is a record of warmup + count samples that all left when they were due, 10 ms
// apart, with a timeout of 50 ms.
func sentRecord(warmup, count int) *record {
	r := newRecord(Request{Spec: wire.Spec{
		Kind: wire.KindTCP, Warmup: warmup, Count: count, Interval: 10 * time.Millisecond, Timeout: 50 * time.Millisecond,
		RequestBytes: 64, ResponseBytes: 16,
	}}, time.Now(), columnSet{server: true})
	for i := range r.samples {
		r.samples[i].sent.Store(int64(i) * 10 * ms)
	}
	return r
}

func (r *record) finish(after time.Duration, cut wire.Failure) wire.Run {
	req := Request{Target: "northeurope", Path: "public", Spec: r.spec, Address: "127.0.0.1:7700", PlannedStart: r.begin}
	return r.run(req, ending{at: r.begin.Add(after), cut: cut})
}

// valid fails the test unless the app would accept the run.
func valid(t *testing.T, run wire.Run) {
	t.Helper()
	slot := wire.Slot(time.Now())
	d := wire.Document{
		Version: wire.DocumentVersion, Environment: "test", Slot: slot, Source: "westeurope", Probe: "p",
		Assignment: wire.AssignmentID("test", slot, "westeurope", "p", 0), Attempt: "0123abcd", Runs: []wire.Run{run},
	}
	if err := d.Validate(); err != nil {
		t.Errorf("the app would refuse this run: %v", err)
	}
}

func TestRepliesAreReorderedAsRFC4737Says(t *testing.T) {
	r := sentRecord(0, 11)
	r.spec.Timeout = time.Second
	// 7, 8 and 9 overtake 4, 5 and 6: three are reordered, those that come after a greater one.
	for k, i := range []int{0, 1, 2, 3, 7, 8, 9, 4, 5, 6, 10} {
		r.reply(i, 101*ms+int64(k), 0)
	}
	if r.reordered != 3 {
		t.Errorf("%d replies are reordered, want 3", r.reordered)
	}
}

func TestLateAndFurtherRepliesAreCountedAndNotMeasured(t *testing.T) {
	r := sentRecord(1, 4)
	for _, reply := range []struct {
		sample int
		at     int64
		first  bool
	}{
		{0, 3 * ms, true},    // warm-up
		{0, 4 * ms, false},   // its duplicate counts nowhere
		{1, 12 * ms, true},   // 2 ms
		{1, 13 * ms, false},  // a duplicate
		{2, 70 * ms, true},   // exactly the timeout: in time
		{3, 80*ms + 1, true}, // a nanosecond more: late
		{3, 90 * ms, false},  // and a duplicate of the late one
	} {
		if first := r.reply(reply.sample, reply.at, time.Millisecond); first != reply.first {
			t.Errorf("reply to sample %d at %d ms: first = %v", reply.sample, reply.at/ms, first)
		}
	}
	run := r.finish(200*time.Millisecond, "")
	valid(t, run)
	want := wire.Counts{Warmup: 1, Sent: 4, Received: 2, Lost: 2, Late: 1, Duplicate: 2}
	if run.Counts != want {
		t.Errorf("counts %+v, want %+v", run.Counts, want)
	}
	if want := (wire.Column{2 * ms, 50 * ms, wire.Null, wire.Null}); !slices.Equal(run.Samples.RTTNS, want) {
		t.Errorf("round trips %v, want %v", run.Samples.RTTNS, want)
	}
	if want := (wire.FailureColumn{"", "", "timeout", "timeout"}); !slices.Equal(run.Samples.Failure, want) {
		t.Errorf("failures %q, want %q", run.Samples.Failure, want)
	}
	if want := (wire.Column{10 * ms, 20 * ms, 30 * ms, 40 * ms}); !slices.Equal(run.Samples.DueNS, want) {
		t.Errorf("due %v, want %v: offsets count from the first warm-up sample", run.Samples.DueNS, want)
	}
	if want := (wire.Column{0, 1, 2, 3}); !slices.Equal(run.Samples.Sequence, want) {
		t.Errorf("sequence %v, want %v", run.Samples.Sequence, want)
	}
	if run.Failure != "" || run.RTTHistogram == "" || run.ExcessHistogram == "" {
		t.Errorf("failure %q, histograms %q and %q", run.Failure, run.RTTHistogram, run.ExcessHistogram)
	}
}

func TestAServerTimeThatCannotBeIsNotKept(t *testing.T) {
	r := sentRecord(0, 4)
	for i, held := range []time.Duration{0, 2 * time.Millisecond, 2*time.Millisecond + 1, -1} { // of a round trip of 2 ms
		r.reply(i, int64(i)*10*ms+2*ms, held)
	}
	run := r.finish(time.Second, "")
	if want := (wire.Column{0, 2 * ms, wire.Null, wire.Null}); !slices.Equal(run.Samples.ServerNS, want) {
		t.Errorf("server times %v, want %v", run.Samples.ServerNS, want)
	}
	valid(t, run)
}

func TestLatenessOverAMillisecondIsAPacingViolation(t *testing.T) {
	r := sentRecord(1, 3)
	r.samples[0].sent.Store(5 * ms)         // warm-up: does not count
	r.samples[1].sent.Store(10*ms + ms)     // just within
	r.samples[2].sent.Store(20*ms + ms + 1) // just beyond
	r.samples[3].sent.Store(notYet)
	run := r.finish(30*time.Millisecond, wire.FailureCanceled)
	if run.Counts.PacingViolations != 1 {
		t.Errorf("%d pacing violations, want 1", run.Counts.PacingViolations)
	}
	valid(t, run)
}

func TestWhatARunThatWasCutKnowsOfItsSamples(t *testing.T) {
	r := sentRecord(0, 6)
	r.reply(0, 5*ms, 0)
	r.samples[4].sent.Store(notYet)
	r.samples[5].sent.Store(notYet)
	// Cut at 65 ms: sample 1, sent at 10 ms, had its 50 ms; 2 and 3 had not; 4 and 5 never left.
	run := r.finish(65*time.Millisecond, wire.FailureReset)
	valid(t, run)
	if want := (wire.FailureColumn{"", "timeout", "reset", "reset", "reset", "reset"}); !slices.Equal(run.Samples.Failure, want) {
		t.Errorf("failures %q, want %q", run.Samples.Failure, want)
	}
	if run.Counts.Sent != 4 || run.Counts.Lost != 3 || run.Failure != "" {
		t.Errorf("counts %+v, failure %q: a run with one reply has no failure", run.Counts, run.Failure)
	}
}

func TestARunWithoutRepliesHasTheFailureThatPrevailsAmongWhatWasSent(t *testing.T) {
	null := wire.Null
	for _, c := range []struct {
		sent    wire.Column
		failure wire.FailureColumn
		want    wire.Failure
	}{
		{wire.Column{1, 2, null, null, null}, wire.FailureColumn{"refused", "refused", "canceled", "canceled", "canceled"}, "refused"},
		{wire.Column{1, 2, 3}, wire.FailureColumn{"reset", "timeout", "timeout"}, "timeout"},
		{wire.Column{1, 2}, wire.FailureColumn{"reset", "timeout"}, "reset"},
		{wire.Column{null, null}, wire.FailureColumn{"canceled", "canceled"}, "canceled"},
	} {
		if got := prevailing(wire.Samples{SentNS: c.sent, Failure: c.failure}); got != c.want {
			t.Errorf("failures %q, sent %v: %q, want %q", c.failure, c.sent, got, c.want)
		}
	}
}
