package probe

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func loadSpec(users, loops, request, response int) wire.Spec {
	return wire.Spec{
		Kind: wire.KindLoad, Timeout: 10 * time.Second, RequestBytes: request, ResponseBytes: response,
		Bulk: wire.Bulk{MaxBytes: 1 << 30, Users: users, Loops: loops},
	}
}

func TestUsersOfAProberHaveConnectionsOfTheirOwn(t *testing.T) {
	for _, sizes := range [][2]int{{16, 16}, {64, 8192}, {100_000, 40_000}} {
		address, _ := bulkReflector(t)
		spec := loadSpec(20, 10, sizes[0], sizes[1])
		spec.Bulk.Ramp = 100 * time.Millisecond
		run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
		answered(t, run, 200)
		if want := int64(200 * (sizes[0] + sizes[1])); run.Bulk == nil || run.Bulk.Bytes != want || run.Bulk.Load.Users != 20 {
			t.Fatalf("%v: bulk %+v (%s), want %d bytes", sizes, run.Bulk, run.Detail, want)
		}
		for i, rtt := range run.Samples.RTTNS {
			between(t, "the network", rtt-run.Samples.ServerNS[i], time.Nanosecond)
			if own := run.Samples.ClientNS[i]; own != wire.Null && (own > rtt || own < 0) {
				t.Fatalf("%v: of %d ns the response to request %d was here, unread, for %d", sizes, rtt, i, own)
			}
			if run.Samples.ServerNS[i] == wire.Null || i > 0 && run.Samples.SentNS[i] < run.Samples.SentNS[i-1] {
				t.Fatalf("%v: sample %d: server %d, sent %d", sizes, i, run.Samples.ServerNS[i], run.Samples.SentNS[i])
			}
		}
		if len(run.Samples.ConnectNS) != 0 || run.Bulk.Load.NetworkP50NS == nil {
			t.Errorf("%v: phases %v, figures %+v", sizes, run.Samples.ConnectNS, run.Bulk.Load)
		}
	}
}

func TestTheBudgetEndsALoadToAProber(t *testing.T) {
	address, _ := bulkReflector(t)
	spec := loadSpec(5, 100, 1000, 1000)
	spec.Bulk.MaxBytes = 101_000
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
	valid(t, run)
	if run.Bulk == nil || !run.Bulk.BudgetReached || run.Bulk.Bytes != 100_000 || run.Counts.Sent != 50 {
		t.Errorf("bulk %+v, counts %+v (%s); want 50 requests", run.Bulk, run.Counts, run.Detail)
	}
	if got := failures(run); got[""] != 50 { // what others have under way is answered
		t.Errorf("%v", got)
	}
}

// A budget that holds the run to the last byte ends nothing, and one that holds no request is why nothing was sent.
func TestALoadSaysWhatItsBudgetEnded(t *testing.T) {
	address, _ := bulkReflector(t)
	spec := loadSpec(2, 5, 100, 100)
	spec.Bulk.MaxBytes = 10 * 200
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
	answered(t, run, 10)
	if run.Bulk == nil || run.Bulk.BudgetReached || run.Bulk.Bytes != 2000 || run.Detail != "" {
		t.Errorf("just enough: bulk %+v (%s)", run.Bulk, run.Detail)
	}
	spec.Bulk.MaxBytes = 199
	run = newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
	valid(t, run)
	if run.Failure != wire.FailureBudget || run.Bulk == nil || !run.Bulk.BudgetReached || run.Bulk.Bytes != 0 {
		t.Errorf("too little: failure %q (%s), bulk %+v", run.Failure, run.Detail, run.Bulk)
	}
}

// Users whose connections are refused move nothing, and use nothing of the budget up.
func TestWhatIsNotSentCostsALoadNothing(t *testing.T) {
	var connections atomic.Int64
	address := serveAll(t, func(conn net.Conn) {
		if connections.Add(1) > 1 {
			return // closed without a byte
		}
		if _, ok := accept(t, conn); ok {
			_, _ = io.Copy(io.Discard, conn)
		}
	})
	spec := loadSpec(2, 5, 1000, 1000)
	spec.Bulk.MaxBytes, spec.Timeout = 4000, 100*time.Millisecond
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
	valid(t, run)
	if run.Samples.Len() != 10 || run.Bulk != nil || strings.Contains(run.Detail, "budget") {
		t.Errorf("%d requests, bulk %+v, failure %q (%s); want 10 that failed", run.Samples.Len(), run.Bulk, run.Failure, run.Detail)
	}
}

func TestALoadToAProberThatIsGoneIsBounded(t *testing.T) {
	address, stop := bulkReflector(t)
	spec := loadSpec(5, 0, 64, 64)
	spec.Bulk.Duration, spec.Timeout = time.Second, time.Second
	time.AfterFunc(300*time.Millisecond, stop)
	began := time.Now()
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
	valid(t, run)
	if got := failures(run); run.Counts.Received == 0 || got[wire.FailureRefused]+got[wire.FailureReset]+got[wire.FailureUnauthorized] == 0 || time.Since(began) > 20*time.Second {
		t.Errorf("after %s: counts %+v, %v (%s)", time.Since(began), run.Counts, got, run.Detail)
	}
	spec.Timeout = 2 * time.Second
	if run = newTestProber().Make(t.Context(), bulkRequest(t, address, spec)); run.Failure != wire.FailureRefused || run.Samples.Len() != 0 {
		t.Errorf("failure %q (%s) with %d samples, where nobody listens", run.Failure, run.Detail, run.Samples.Len())
	}
	valid(t, run)
}

// The path swallows the third response. The user goes on with another connection, in the same seat.
func TestAUserOfAProberGoesOnWithAnotherConnection(t *testing.T) {
	const response = 10_000
	reflector, _ := bulkReflector(t)
	var accepted atomic.Int64
	address := serveAll(t, func(conn net.Conn) {
		const userFirst = 2 // after the control connection
		swallows := accepted.Add(1) == userFirst
		to, err := net.Dial("tcp", reflector)
		if err != nil {
			t.Error(err)
			return
		}
		defer to.Close() // the copying is over
		go func() {
			if swallows {
				_, _ = io.CopyN(conn, to, 2.5*response)
				_, _ = io.Copy(io.Discard, to)
			}
			_, _ = io.Copy(conn, to) // to its end, or this program's
			_ = conn.Close()
		}()
		_, _ = io.Copy(to, conn)
	})
	spec := loadSpec(1, 6, 64, response)
	spec.Timeout = 2 * time.Second
	run := newTestProber().Make(t.Context(), bulkRequest(t, address, spec))
	valid(t, run)
	if run.Counts.Received != 5 || run.Samples.Failure[2] != wire.FailureTimeout || accepted.Load() != 3 || !strings.HasPrefix(run.Detail, "connections opened again: 1; ") {
		t.Errorf("counts %+v, failures %v on %d connections (%s)", run.Counts, run.Samples.Failure, accepted.Load(), run.Detail)
	}
}
