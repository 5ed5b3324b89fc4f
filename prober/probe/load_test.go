package probe

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// loadRequest is a run of so many users and loops without a ramp, with a timeout of 10 s.
func loadRequest(url string, users, loops int) Request {
	r := httpRequest(url, wire.ConnectionKeepAlive, 1)
	r.Spec = wire.Spec{
		Kind: wire.KindLoad, Timeout: 10 * time.Second, Method: http.MethodGet, Connection: wire.ConnectionKeepAlive,
		Bulk: wire.Bulk{MaxBytes: 1 << 30, Users: users, Loops: loops},
	}
	return r
}

// worker answers after a while of its own, and says how long it was. Nobody else knows better.
func worker(least, most time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		began := time.Now()
		time.Sleep(least + rand.N(most-least+1))
		w.Header().Set("Server-Timing", fmt.Sprintf("total;dur=%.6f", float64(time.Since(began))/1e6))
		_, _ = w.Write([]byte("hello"))
	}
}

func failures(run wire.Run) map[wire.Failure]int {
	out := map[wire.Failure]int{}
	for _, f := range run.Samples.Failure {
		out[f]++
	}
	return out
}

func TestTheServersTimeIsApartFromTheNetworks(t *testing.T) {
	const users, loops = 100, 20
	w := serve(t, false, 0, worker(time.Millisecond, 30*time.Millisecond))
	req := loadRequest(w.URL, users, loops)
	req.Spec.Bulk.Ramp = 200 * time.Millisecond
	var told atomic.Pointer[Progress]
	req.Progress = func(p Progress) { told.Store(&p) }
	run := newTestProber().Make(t.Context(), req)
	answered(t, run, users*loops)
	s, opened, unknown := run.Samples, 0, 0
	for i := range s.Len() {
		between(t, "the server", s.ServerNS[i], time.Millisecond)
		between(t, "the network", s.RTTNS[i]-s.ServerNS[i], time.Nanosecond)
		between(t, "the first byte", s.FirstByteNS[i], time.Millisecond)
		if s.ClientNS[i] == wire.Null { // this machine was interrupted between its readings of the two clocks
			unknown++
		} else if own := s.ClientNS[i]; own > s.RTTNS[i] || own < 0 {
			t.Fatalf("of %d ns the answer to request %d was here, unread, for %d", s.RTTNS[i], i, own)
		}
		if s.ConnectNS[i] != wire.Null {
			opened++
		}
		if i > 0 && s.SentNS[i] < s.SentNS[i-1] || s.DueNS[i] != s.SentNS[i] {
			t.Fatalf("sample %d left at %d and was due at %d, the one before at %d", i, s.SentNS[i], s.DueNS[i], s.SentNS[max(i-1, 0)])
		}
	}
	if opened != users || w.accepted.Load() != users || run.Address != w.Listener.Addr().String() {
		t.Errorf("%d requests opened one of %d connections to %q, want %d", opened, w.accepted.Load(), run.Address, users)
	}
	if runtime.GOOS == "linux" && (run.TCPInfo == nil || unknown > users*loops/2) {
		t.Errorf("TCP_INFO %v, and of %d answers it is not known when they came", run.TCPInfo, unknown)
	}
	got := run.Bulk.Load
	if got.NetworkP50NS == nil || got.NetworkP99NS == nil || got.ServerP50NS == nil || run.Bulk.BudgetReached {
		t.Fatalf("figures %+v of %+v", got, run.Bulk)
	}
	// Half of the injected times lie above 15 ms; a machine that is loaded adds to them.
	if server := time.Duration(*got.ServerP50NS); got.Users != users || server < 12*time.Millisecond || *got.NetworkP50NS > *got.NetworkP99NS {
		t.Errorf("the server's p50 is %s, the network's %d and p99 %d", server, *got.NetworkP50NS, *got.NetworkP99NS)
	}
	took := time.Duration(s.SentNS[s.Len()-1] + s.RTTNS[s.Len()-1])
	if rate := float64(users*loops) / took.Seconds(); got.RequestsPerS > rate*1.5 || got.RequestsPerS < rate/1.5 {
		t.Errorf("%.0f requests a second, and %d in %s", got.RequestsPerS, users*loops, took)
	}
	if p := told.Load(); p == nil || p.Requests != users*loops || p.Outstanding != 0 || p.UpBytes+p.DownBytes != run.Bulk.Bytes {
		t.Errorf("progress ended at %+v, of %d bytes", p, run.Bulk.Bytes)
	}
}

func TestTheRampSpreadsTheFirstRequests(t *testing.T) {
	const users, step = 8, 50 * time.Millisecond
	w := serve(t, false, 0, worker(0, 0))
	req := loadRequest(w.URL, users, 1)
	req.Spec.Bulk.Ramp = users * step
	run := newTestProber().Make(t.Context(), req)
	answered(t, run, users)
	for i, sent := range run.Samples.SentNS {
		if due := time.Duration(i) * step; time.Duration(sent) < due {
			t.Errorf("user %d began after %s, want %s", i, time.Duration(sent), due)
		}
	}
}

func TestFailuresAreCountedByCode(t *testing.T) {
	var asked atomic.Int64
	w := serve(t, false, 0, func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) % 5 {
		case 1:
			http.Error(w, "no", http.StatusServiceUnavailable)
		case 3: // cut within the answer
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("hello"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	run := newTestProber().Make(t.Context(), loadRequest(w.URL, 5, 10))
	valid(t, run)
	got := failures(run)
	if got[""] != 30 || got[wire.FailureHTTPStatus] != 10 || got[wire.FailureReset] != 10 {
		t.Errorf("%v: want 30 answers, 10 statuses and 10 that were cut; %s", got, run.Detail)
	}
	if run.Counts.Sent != 50 || run.Counts.Received != 30 || w.accepted.Load() > 15 || w.accepted.Load() < 10 {
		t.Errorf("counts %+v on %d connections: one each, and one for each that was cut", run.Counts, w.accepted.Load())
	}
}

func TestALostRequestCostsItsUserTheConnection(t *testing.T) {
	var asked atomic.Int64
	w := serve(t, false, 0, func(_ http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 3 {
			<-r.Context().Done()
		}
	})
	req := loadRequest(w.URL, 1, 6)
	req.Spec.Timeout = time.Second
	run := newTestProber().Make(t.Context(), req)
	valid(t, run)
	if run.Counts.Received != 5 || run.Samples.Failure[2] != wire.FailureTimeout || w.accepted.Load() != 2 {
		t.Errorf("counts %+v, failures %v on %d connections", run.Counts, run.Samples.Failure, w.accepted.Load())
	}
	if run.Samples.ConnectNS[3] == wire.Null || run.Samples.ConnectNS[4] != wire.Null {
		t.Errorf("the request after the lost one opens a connection: %v", run.Samples.ConnectNS)
	}
	if !strings.HasPrefix(run.Detail, "connections opened again: 1; the first failure: ") || !strings.Contains(run.Detail, "timed out waiting for the answer") {
		t.Errorf("detail %q", run.Detail)
	}
}

func TestTheTimeEndsALoad(t *testing.T) {
	w := serve(t, false, 0, worker(0, 2*time.Millisecond))
	req := loadRequest(w.URL, 4, 0)
	req.Spec.Bulk.Ramp, req.Spec.Bulk.Duration = 100*time.Millisecond, 300*time.Millisecond
	run := newTestProber().Make(t.Context(), req)
	valid(t, run)
	n := run.Samples.Len()
	if run.Failure != "" || n < 4 || run.Counts.Received != n || run.Detail != "" {
		t.Fatalf("failure %q (%s), counts %+v of %d", run.Failure, run.Detail, run.Counts, n)
	}
	// A goroutine may lose the processor between its look at the clock and the request.
	if last := time.Duration(run.Samples.SentNS[n-1]); last > 2*time.Second {
		t.Errorf("the last request left after %s", last)
	}
}

func TestTheBudgetEndsALoadInTheMiddle(t *testing.T) {
	const body, budget = 10_000, 200_000
	w := serve(t, false, 0, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, body)) })
	req := loadRequest(w.URL, 4, 1000)
	req.Spec.Bulk.MaxBytes = budget
	run := newTestProber().Make(t.Context(), req)
	valid(t, run)
	if run.Bulk == nil || !run.Bulk.BudgetReached || run.Bulk.Bytes > budget || run.Bulk.Bytes < budget/2 {
		t.Fatalf("bulk %+v, failure %q (%s)", run.Bulk, run.Failure, run.Detail)
	}
	if n := run.Counts.Received; n < 10 || n > budget/body || run.Counts.Sent > n+4 {
		t.Errorf("counts %+v", run.Counts)
	}
	if got := failures(run); got[""]+got[wire.FailureCanceled] != run.Samples.Len() || !strings.Contains(run.Detail, "budget of 200000 bytes is used up") {
		t.Errorf("failures %v, detail %q", got, run.Detail)
	}
}

func TestATargetThatIsGoneBoundsALoad(t *testing.T) {
	run := newTestProber().Make(t.Context(), loadRequest("http://"+nobody(t)+"/", 5, 3))
	valid(t, run)
	if run.Failure != wire.FailureRefused || failures(run)[wire.FailureRefused] != 15 || run.Bulk != nil {
		t.Errorf("failure %q (%s), %v, bulk %+v", run.Failure, run.Detail, failures(run), run.Bulk)
	}
	// In which a user that did not pause would have been refused some thousand times.
	req := loadRequest("http://"+nobody(t)+"/", 2, 0)
	req.Spec.Bulk.Duration = 500 * time.Millisecond
	if run = newTestProber().Make(t.Context(), req); run.Samples.Len() > 12 {
		t.Errorf("refused %d times within half a second", run.Samples.Len())
	}
}

func nobody(t *testing.T) string {
	l := listenTest(t)
	_ = l.Close()
	return l.Addr().String()
}

func TestAStoppedLoadEndsSoon(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, stop := range map[string]func(*Request) (context.Context, context.CancelFunc){
		"stopped": func(*Request) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 200*time.Millisecond)
		},
		"deadline": func(r *Request) (context.Context, context.CancelFunc) {
			r.Deadline = time.Now().Add(200 * time.Millisecond)
			return context.WithCancel(t.Context())
		},
	} {
		w := serve(t, false, 0, hang)
		req := loadRequest(w.URL, 10, 10)
		req.Spec.Timeout = time.Minute
		ctx, cancel := stop(&req)
		began := time.Now()
		run := newTestProber().Make(ctx, req)
		cancel()
		valid(t, run)
		if took := time.Since(began); took > drainGrace+10*time.Second || run.Failure != wire.FailureCanceled || run.Counts.Sent != 10 {
			t.Errorf("%s: took %s, failure %q (%s), counts %+v", name, took, run.Failure, run.Detail, run.Counts)
		}
	}
}

func TestALoadOverTLSSpendsWhatHTTPSays(t *testing.T) {
	w := serve(t, true, 0, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1000)) })
	run := trusting(w, nil).Make(t.Context(), loadRequest(w.URL, 3, 5))
	answered(t, run, 15)
	if perRequest := run.Bulk.Bytes / 15; perRequest < 1100 || perRequest > 1600 {
		t.Errorf("%d bytes a request, want those of HTTP: 1000 of body, and the headers", perRequest)
	}
	secured, unknown := 0, 0
	for i, ns := range run.Samples.TLSNS {
		if ns != wire.Null {
			secured++
		}
		if run.Samples.ClientNS[i] == wire.Null {
			unknown++
		}
	}
	if runtime.GOOS == "linux" && unknown > 7 {
		t.Errorf("when the answers to %d requests came is not known", unknown)
	}
	if secured != 3 {
		t.Errorf("%d requests shook hands, want one a user", secured)
	}
}
