package probe

import (
	"context"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func streamSpec(size, messages, rate, batch, sink int) wire.Spec {
	return wire.Spec{
		Kind: wire.KindStream, RequestBytes: size, Timeout: 10 * time.Second,
		Bulk: wire.Bulk{MaxBytes: 10e9, Messages: messages, MessageRate: rate, Batch: batch, SinkRate: sink},
	}
}

// addsUp checks that the intervals tell the same as the counts.
func addsUp(t *testing.T, run wire.Run) {
	t.Helper()
	s := run.Bulk.Stream
	sent, received, most := int64(0), int64(0), int64(0)
	for i := range s.Intervals.AtNS {
		sent += s.Intervals.Sent[i]
		received += s.Intervals.Received[i]
		most = max(most, s.Intervals.Backlog[i])
	}
	if sent != int64(run.Counts.Sent) || received != int64(s.Messages) || s.Messages != run.Counts.Received {
		t.Errorf("the intervals have %d sent and %d taken, the counts %+v, the result %d", sent, received, run.Counts, s.Messages)
	}
	if most > int64(s.MaxBacklog) {
		t.Errorf("a backlog of %d at an interval's end, at most %d", most, s.MaxBacklog)
	}
}

func TestAStreamIntoASlowSinkFollowsTheFormula(t *testing.T) {
	address, _ := bulkReflector(t)
	const n, rate, sink = 3000, 3000, 900
	req := bulkRequest(t, address, streamSpec(1024, n, rate, 1, sink))
	backlog := 0
	req.Progress = func(p Progress) { backlog = max(backlog, p.Backlog) }
	run := newTestProber().Make(t.Context(), req)
	validBulk(t, run)
	addsUp(t, run)
	s := run.Bulk.Stream
	if run.Detail != "" || s.Messages != n || run.Bulk.Bytes != n*1024 || run.Counts.Lost != 0 {
		t.Fatalf("%+v %+v: %s", s, run.Counts, run.Detail)
	}
	within := func(what string, got, want, share float64) {
		if math.Abs(got-want) > want*share {
			t.Errorf("%s is %.4g, want %.4g within %.0f %%", what, got, want, share*100)
		}
	}
	within("A", s.SourceRate, rate, 0.05)
	within("B", s.ReceiverRate, sink, 0.05)
	within("the last message's delay, by the formula,", float64(s.DelayLastNS), float64(s.PredictedLastNS), 0.05)
	within("the last message's delay", float64(s.DelayLastNS), 1e9*(float64(n)/sink-float64(n)/rate), 0.05)
	// The delay grows evenly, from nothing.
	within("p50", float64(s.DelayP50NS), float64(s.DelayLastNS)/2, 0.1)
	within("p99", float64(s.DelayP99NS), float64(s.DelayLastNS)*0.99, 0.1)
	within("the largest backlog", float64(s.MaxBacklog), n*(1-float64(sink)/rate), 0.1)
	if s.DelayBoundNS <= 0 || s.DelayBoundNS > int64(50*time.Millisecond) {
		t.Errorf("the clocks are at most %s off, on one machine", time.Duration(s.DelayBoundNS))
	}
	if backlog == 0 || backlog > s.MaxBacklog+rate/10 {
		t.Errorf("told of a backlog of %d on the way, at most %d", backlog, s.MaxBacklog)
	}
}

func TestAStreamThatIsKeptUpWithHasNoQueue(t *testing.T) {
	address, _ := bulkReflector(t)
	const n, rate, batch = 2000, 4000, 50
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, streamSpec(200, n, rate, batch, 0)))
	validBulk(t, run)
	addsUp(t, run)
	s := run.Bulk.Stream
	if s.Messages != n || math.Abs(s.SourceRate-rate) > rate*0.05 {
		t.Errorf("%d messages at %v a second, want %d at %d", s.Messages, s.SourceRate, n, rate)
	}
	// A batch leaves when its last message is due: the first of it has waited for that.
	if waited := int64(wire.MessageDue(batch-1, rate)); s.DelayP50NS < waited/2-s.DelayBoundNS-int64(time.Millisecond) {
		t.Errorf("half of the messages waited for less than %s, in batches that take %s to fill", time.Duration(s.DelayP50NS), time.Duration(waited))
	}
	if s.MaxBacklog < batch {
		t.Errorf("at most %d messages were due and not taken, in batches of %d", s.MaxBacklog, batch)
	}
}

// More than the kernel's buffers hold waits at the source, and its due times stand.
func TestWhatTheSocketDoesNotTakeWaitsAtTheSource(t *testing.T) {
	address, _ := bulkReflector(t)
	const size, n, sink = 1 << 20, 120, 60
	req := bulkRequest(t, address, streamSpec(size, n, 1000, 3, sink))
	run := newTestProber().Make(t.Context(), req)
	validBulk(t, run)
	addsUp(t, run)
	s := run.Bulk.Stream
	if s.Messages != n || math.Abs(float64(s.DelayLastNS-s.PredictedLastNS)) > 0.1*float64(s.PredictedLastNS) || s.PredictedLastNS < int64(time.Second) {
		t.Errorf("%d messages; the last took %s, by the formula %s: %s", s.Messages, time.Duration(s.DelayLastNS), time.Duration(s.PredictedLastNS), run.Detail)
	}
	if late := len(s.Intervals.Sent) - 1; s.Intervals.Sent[0]+s.Intervals.Sent[1] == n || late < 10 {
		t.Errorf("everything had left in 200 ms: %v", s.Intervals.Sent)
	}
}

func TestTheBudgetStopsAStreamOnItsWay(t *testing.T) {
	address, _ := bulkReflector(t)
	for _, c := range []struct {
		budget int64
		n      int
	}{{123*100 + 99, 123}, {99, 0}} {
		spec := streamSpec(100, 100_000, 2000, 10, 1000)
		spec.Bulk.MaxBytes = c.budget
		run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
		validBulk(t, run)
		if !run.Bulk.BudgetReached || run.Counts.Sent != c.n || run.Counts.Received != c.n || run.Bulk.Bytes != int64(c.n)*100 || (run.Failure == wire.FailureBudget) != (c.n == 0) {
			t.Errorf("budget %d: %q %+v, %d bytes: %s", c.budget, run.Failure, run.Counts, run.Bulk.Bytes, run.Detail)
		}
		if run.Bulk.Stream.MaxBacklog > c.n {
			t.Errorf("a backlog of %d messages of %d", run.Bulk.Stream.MaxBacklog, c.n)
		}
	}
}

func TestAStreamThatIsStoppedSaysWhatCameOfIt(t *testing.T) {
	address, _ := bulkReflector(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(700*time.Millisecond, cancel)
	began := time.Now()
	run := newTestProber().Make(ctx, bulkRequest(t, address, streamSpec(100, 100_000, 2000, 1, 500)))
	validBulk(t, run)
	addsUp(t, run)
	s := run.Bulk.Stream
	if took := time.Since(began); took > 6*time.Second || run.Failure != "" || !strings.Contains(run.Detail, "stopped") {
		t.Errorf("after %s: %q, %q", took, run.Failure, run.Detail)
	}
	if s.Messages == 0 || s.DelayBoundNS == 0 || s.DelayLastNS <= 0 || s.ReceiverRate == 0 {
		t.Errorf("nothing is known of what was taken: %+v", s)
	}
}

func TestAStreamEndsAtItsDeadline(t *testing.T) {
	address, _ := bulkReflector(t)
	req := bulkRequest(t, address, streamSpec(100, 50_000, 2000, 1, 100))
	req.Deadline = time.Now().Add(drainGrace + time.Second)
	run := newTestProber().Make(t.Context(), req)
	validBulk(t, run)
	addsUp(t, run)
	if time.Now().After(req.Deadline) || !strings.Contains(run.Detail, "stopped") || run.Bulk.Stream.Messages < 20 {
		t.Errorf("%q: %+v", run.Detail, run.Bulk.Stream)
	}
}

func TestAStreamEndsWhenItsTargetGoes(t *testing.T) {
	address, stop := bulkReflector(t)
	time.AfterFunc(time.Second, stop)
	began := time.Now()
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, streamSpec(1000, 100_000, 2000, 1, 0)))
	validBulk(t, run)
	if took := time.Since(began); took > 8*time.Second || run.Counts.Received == 0 || !strings.Contains(run.Detail, "the session broke after") {
		t.Errorf("after %s: %+v: %s", took, run.Counts, run.Detail)
	}
	if s := run.Bulk.Stream; s.SourceRate == 0 || s.DelayBoundNS != 0 {
		t.Errorf("of what the target did nothing but the count is known: %+v", s)
	}
}

// answerQuestions plays the control connection of a target that has taken so many messages.
func answerQuestions(c *net.TCPConn, answer func(wire.StreamAsk) wire.StreamAnswer) {
	begun := time.Now()
	for {
		var q wire.StreamAsk
		if wire.ReadFrame(c, &q) != nil {
			return
		}
		a := answer(q)
		if a.NowNS == 0 {
			a.NowNS = int64(time.Since(begun)) + 1
		}
		if wire.WriteFrame(c, a) != nil {
			return
		}
	}
}

func TestAStreamWhoseTargetTakesNothingEnds(t *testing.T) {
	address := scripted(t, func(c *net.TCPConn) {
		answerQuestions(c, func(wire.StreamAsk) wire.StreamAnswer { return wire.StreamAnswer{} })
	}, func(c *net.TCPConn) { time.Sleep(5 * time.Second) })
	spec := streamSpec(1<<20, 100, 1000, 1, 0)
	spec.Timeout = 500 * time.Millisecond
	began := time.Now()
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
	validBulk(t, run)
	if took := time.Since(began); took > 15*time.Second || run.Failure != wire.FailureTimeout || !strings.Contains(run.Detail, "took no message") {
		t.Errorf("after %s: %q %q", took, run.Failure, run.Detail)
	}
}

func TestATargetWhoseAccountCannotBeIsNotBelieved(t *testing.T) {
	const n = 20
	good := wire.StreamTaking{FirstNS: 1, LastNS: 2, Intervals: wire.Column{n}}
	for name, c := range map[string]struct {
		taken  int
		change func(*wire.StreamAnswer)
	}{
		"more than there are":   {n + 1, func(*wire.StreamAnswer) {}},
		"no account":            {n, func(a *wire.StreamAnswer) { a.Taking = nil }},
		"ends before it begins": {n, func(a *wire.StreamAnswer) { a.Taking.FirstNS = 3 }},
		"endless delay":         {n, func(a *wire.StreamAnswer) { a.Taking.DelayP99NS = math.MaxInt64 }},
		"negative delay":        {n, func(a *wire.StreamAnswer) { a.Taking.DelayLastNS = math.MinInt64 }},
		"intervals":             {n, func(a *wire.StreamAnswer) { a.Taking.Intervals = wire.Column{n, 1} }},
		"negative intervals":    {n, func(a *wire.StreamAnswer) { a.Taking.Intervals = wire.Column{n + 1, -1} }},
		"backlog":               {n, func(a *wire.StreamAnswer) { a.Taking.MaxBacklog = n + 1 }},
		"clock":                 {n, func(a *wire.StreamAnswer) { a.NowNS = math.MaxInt64 }},
	} {
		t.Run(name, func(t *testing.T) {
			address := scripted(t, func(conn *net.TCPConn) {
				answerQuestions(conn, func(q wire.StreamAsk) wire.StreamAnswer {
					a := wire.StreamAnswer{}
					switch q.Ask {
					case wire.StreamCount:
						a.Taken = n
					case wire.StreamEnd:
						taking := good
						a.Taken, a.Taking = c.taken, &taking
						c.change(&a)
					}
					return a
				})
			}, hold)
			run := newTestProber().Make(t.Context(), bulkRequest(t, address, streamSpec(100, n, 1000, 1, 0)))
			validBulk(t, run)
			// The count before it could be, and stands.
			if !strings.Contains(run.Detail, "broke the protocol") || run.Counts.Received != n || run.Bulk.Stream.DelayBoundNS != 0 {
				t.Errorf("%q: %+v", run.Detail, run.Bulk.Stream)
			}
		})
	}
}

func TestATargetTakesNoMoreThanWasSent(t *testing.T) {
	const n = 1000
	address := scripted(t, func(conn *net.TCPConn) {
		answerQuestions(conn, func(q wire.StreamAsk) wire.StreamAnswer {
			a := wire.StreamAnswer{}
			if q.Ask == wire.StreamCount || q.Ask == wire.StreamEnd {
				a.Taken = n
			}
			if q.Ask == wire.StreamEnd {
				a.Taking = &wire.StreamTaking{FirstNS: 1, LastNS: 2, Intervals: wire.Column{n}}
			}
			return a
		})
	}, hold)
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, streamSpec(100, n, 10, 1, 0)))
	validBulk(t, run)
	if !strings.Contains(run.Detail, "broke the protocol: it took 1000 messages, and ") || run.Counts.Received > run.Counts.Sent || run.Counts.Sent == n {
		t.Errorf("%q: %+v", run.Detail, run.Counts)
	}
}
