package probe

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// quiet is for servers whose complaints are what a test is about.
var quiet = log.New(io.Discard, "", 0)

func answered(t *testing.T, run wire.Run, n int) {
	t.Helper()
	valid(t, run)
	if run.Failure != "" || run.Counts.Sent != n || run.Counts.Received != n || run.Timestamps != wire.TimestampsUser {
		t.Fatalf("failure %q (%s), counts %+v, time stamps %q; want %d answers by the user's clock", run.Failure, run.Detail, run.Counts, run.Timestamps, n)
	}
}

// between fails the test unless a duration is at least what was injected, and no more than a
// noisy machine adds.
func between(t *testing.T, what string, ns int64, injected time.Duration) {
	t.Helper()
	if ns == wire.Null || time.Duration(ns) < injected || time.Duration(ns) > injected+2*time.Second {
		t.Errorf("%s took %s, want %s and little more", what, time.Duration(ns), injected)
	}
}

func TestEachPhaseOfAFreshRequestTakesWhatItTook(t *testing.T) {
	const resolving, securing, thinking, dribbling = 40 * time.Millisecond, 70 * time.Millisecond, 50 * time.Millisecond, 60 * time.Millisecond
	w := serve(t, true, securing, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.Host == "" || r.UserAgent() != "isochrone" {
			t.Errorf("asked with %s for host %q by %q", r.Proto, r.Host, r.UserAgent())
		}
		time.Sleep(thinking)
		w.Header().Set("Server-Timing", "total;dur=50.5")
		_, _ = w.Write(make([]byte, 10_000))
		_ = http.NewResponseController(w).Flush()
		time.Sleep(dribbling)
		_, _ = w.Write(make([]byte, 10_000))
	})
	p := trusting(w, nameServer(t, resolving, always("127.0.0.1")))
	req := httpRequest(w.named(t, "example.com")+"/report?key=secret", wire.ConnectionFresh, 6)
	req.Spec.Warmup = 2
	run := p.Make(t.Context(), req)
	answered(t, run, 6)
	s, most := run.Samples, int64(0)
	for i := range s.Len() {
		between(t, "resolving", s.DNSNS[i], resolving)
		between(t, "connecting", s.ConnectNS[i], time.Nanosecond)
		between(t, "TLS", s.TLSNS[i], securing)
		between(t, "the first byte", s.FirstByteNS[i], thinking)
		phases := s.DNSNS[i] + s.ConnectNS[i] + s.TLSNS[i] + s.FirstByteNS[i]
		between(t, "all", s.RTTNS[i], resolving+securing+thinking+dribbling)
		if follows := s.RTTNS[i] - phases; follows < 0 {
			t.Errorf("the phases of request %d are %s longer than all of it", i, time.Duration(-follows))
		} else {
			// A loaded source may be late to see the first byte, and not the last.
			most = max(most, follows)
		}
		if s.ServerNS[i] != 50_500_000 {
			t.Errorf("server's time %d", s.ServerNS[i])
		}
	}
	between(t, "what follows the first byte", most, dribbling/2)
	if w.accepted.Load() != 8 || run.Counts.Warmup != 2 || run.Address != w.Listener.Addr().String() || run.TCPInfo != nil {
		t.Errorf("%d connections, %d warm-up, address %q, TCP_INFO %v", w.accepted.Load(), run.Counts.Warmup, run.Address, run.TCPInfo)
	}
}

// A request that stalls holds up no fresh one.
func TestFreshRequestsKeepToTheSchedule(t *testing.T) {
	var asked atomic.Int64
	w := serve(t, false, 0, func(http.ResponseWriter, *http.Request) {
		if asked.Add(1) == 1 {
			time.Sleep(2 * time.Second)
		}
	})
	run := newTestProber().Make(t.Context(), httpRequest(w.URL, wire.ConnectionFresh, 20))
	answered(t, run, 20)
	slow := 0
	for i, rtt := range run.Samples.RTTNS {
		if rtt > int64(1500*time.Millisecond) {
			slow++
		}
		if run.Samples.DNSNS[i] != wire.Null || run.Samples.TLSNS[i] != wire.Null || run.Samples.ConnectNS[i] == wire.Null {
			t.Errorf("request %d to a numeric host without TLS has phases %d, %d, %d", i, run.Samples.DNSNS[i], run.Samples.ConnectNS[i], run.Samples.TLSNS[i])
		}
	}
	if slow != 1 {
		t.Errorf("%d requests took as long as the one that stalled, want one", slow)
	}
}

func TestKeptConnectionsHaveNoPhasesButTheFirstByte(t *testing.T) {
	for _, warmup := range []int{0, 2} {
		var asked atomic.Int64
		w := serve(t, true, 0, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			time.Sleep(3 * time.Millisecond)
			_, _ = w.Write([]byte("hello"))
		})
		req := httpRequest(w.URL, wire.ConnectionKeepAlive, 10)
		req.Spec.Warmup = warmup
		run := trusting(w, nil).Make(t.Context(), req)
		answered(t, run, 10)
		for i := range run.Samples.Len() {
			if s := run.Samples; s.DNSNS[i] != wire.Null || s.ConnectNS[i] != wire.Null || s.TLSNS[i] != wire.Null {
				t.Errorf("warm-up %d: request %d opened a connection: %d, %d, %d", warmup, i, s.DNSNS[i], s.ConnectNS[i], s.TLSNS[i])
			}
			between(t, "the first byte", run.Samples.FirstByteNS[i], 3*time.Millisecond)
		}
		// With no warm-up, a request that counts nowhere opens the connection.
		if n := int64(10 + max(warmup, 1)); asked.Load() != n || w.accepted.Load() != 1 || run.Counts.Warmup != warmup {
			t.Errorf("warm-up %d: %d requests on %d connections, %d counted as warm-up; want %d on one", warmup, asked.Load(), w.accepted.Load(), run.Counts.Warmup, n)
		}
		if run.Address != w.Listener.Addr().String() {
			t.Errorf("address %q", run.Address)
		}
	}
}

// The wait for the connection is in the round trip: a stall shows in all that were due meanwhile.
func TestAStallShowsInEveryKeptRequestThatWasDueInIt(t *testing.T) {
	const stall = 2 * time.Second
	var asked atomic.Int64
	w := serve(t, false, 0, func(http.ResponseWriter, *http.Request) {
		if asked.Add(1) == 6 { // the warm-up is the first
			time.Sleep(stall)
		}
	})
	req := httpRequest(w.URL, wire.ConnectionKeepAlive, 20)
	req.Spec.Warmup = 1
	run := newTestProber().Make(t.Context(), req)
	answered(t, run, 20)
	s := run.Samples
	for i := 4; i < 20; i++ {
		// It cannot have been answered before the stall was over.
		if left := stall - time.Duration(s.SentNS[i]-s.SentNS[4]); time.Duration(s.RTTNS[i]) < left {
			t.Errorf("request %d took %s, and %s of the stall were left when it began", i, time.Duration(s.RTTNS[i]), left)
		}
		if late := time.Duration(s.SentNS[i] - s.DueNS[i]); late > stall/2 {
			t.Errorf("request %d began %s late: it begins when it is due", i, late)
		}
	}
	if w.accepted.Load() != 1 {
		t.Errorf("%d connections, want one", w.accepted.Load())
	}
}

// Where it cannot be kept, the next request opens another, and that shows.
func TestAConnectionThatTheServerClosesIsOpenedAnew(t *testing.T) {
	w := serve(t, false, 0, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	run := newTestProber().Make(t.Context(), httpRequest(w.URL, wire.ConnectionKeepAlive, 5))
	answered(t, run, 5)
	for i, ns := range run.Samples.ConnectNS {
		if ns == wire.Null {
			t.Errorf("request %d has no connect phase, and opened a connection", i)
		}
	}
	if w.accepted.Load() != 6 {
		t.Errorf("%d connections, want one a request", w.accepted.Load())
	}
}

func TestHTTPInAClosedLoopTakesTurns(t *testing.T) {
	for _, connection := range []string{wire.ConnectionFresh, wire.ConnectionKeepAlive} {
		var inside, most atomic.Int64
		w := serve(t, false, 0, func(http.ResponseWriter, *http.Request) {
			most.Store(max(most.Load(), inside.Add(1)))
			time.Sleep(2 * time.Millisecond)
			inside.Add(-1)
		})
		req := httpRequest(w.URL, connection, 30)
		req.Spec.Interval = 0
		run := newTestProber().Make(t.Context(), req)
		answered(t, run, 30)
		for i := 1; i < 30; i++ {
			if s := run.Samples; s.SentNS[i] < s.SentNS[i-1]+s.RTTNS[i-1] {
				t.Errorf("%s: request %d began before the one before had ended", connection, i)
			}
		}
		if most.Load() != 1 {
			t.Errorf("%s: %d requests at a time", connection, most.Load())
		}
	}
}

// Neither a redirection nor a proxy leads anywhere else.
func TestOnlyTheTargetIsAsked(t *testing.T) {
	var others atomic.Int64
	other := serve(t, false, 0, func(http.ResponseWriter, *http.Request) { others.Add(1) })
	for _, v := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY"} {
		t.Setenv(v, other.URL)
	}
	w := serve(t, false, 0, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	p := trusting(nil, nameServer(t, 0, always("127.0.0.1")))
	run := p.Make(t.Context(), httpRequest(w.named(t, "api.test"), wire.ConnectionFresh, 3))
	answered(t, run, 3)
	if others.Load() != 0 {
		t.Errorf("another server was asked %d times", others.Load())
	}
}

// What the server says is kept as it says it, in the header or the trailer.
func TestTheServersTimeIsKeptEvenWhereItCannotBe(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    int64
	}{
		{"more than the round trip", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Server-Timing", "a;dur=9000") }, 9_000_000_000},
		{"two fields", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Server-Timing"] = []string{"a;dur=1", "total;dur=0.5"}
		}, 500_000},
		{"in the trailer", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			w.Header().Set(http.TrailerPrefix+"Server-Timing", "total;dur=2")
		}, 2_000_000},
		{"not readable", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Server-Timing", "a;dur=soon") }, wire.Null},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, wire.Null},
	} {
		w := serve(t, false, 0, c.handler)
		run := newTestProber().Make(t.Context(), httpRequest(w.URL, wire.ConnectionKeepAlive, 2))
		answered(t, run, 2)
		if got := run.Samples.ServerNS[1]; got != c.want {
			t.Errorf("%s: server's time %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAHeadRequestIsAskedWithHead(t *testing.T) {
	w := serve(t, false, 0, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.URL.RawQuery != "a=b" {
			t.Errorf("asked with %s for %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Length", "1000000")
	})
	req := httpRequest(w.URL+"/x?a=b", wire.ConnectionKeepAlive, 3)
	req.Spec.Method = http.MethodHead
	answered(t, newTestProber().Make(t.Context(), req), 3)
}

func TestAStoppedHTTPRunCancelsWhatIsInFlight(t *testing.T) {
	for _, connection := range []string{wire.ConnectionFresh, wire.ConnectionKeepAlive} {
		for _, interval := range []time.Duration{0, 20 * time.Millisecond} {
			t.Run(connection+" "+interval.String(), func(t *testing.T) {
				t.Parallel()
				free := make(chan struct{})
				w := serve(t, false, 0, func(http.ResponseWriter, *http.Request) { <-free })
				req := httpRequest(w.URL, connection, 100)
				req.Spec.Interval, req.Spec.Timeout, req.Spec.Warmup = interval, 30*time.Second, 1
				ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
				began := time.Now()
				run := newTestProber().Make(ctx, req)
				cancel()
				close(free)
				valid(t, run)
				if took := time.Since(began); took < drainGrace || took > drainGrace+10*time.Second {
					t.Errorf("it ended after %s, want a little over %s", took, drainGrace)
				}
				if run.Failure != wire.FailureCanceled || !strings.Contains(run.Detail, "stopped before") {
					t.Errorf("failure %q (%s), want canceled", run.Failure, run.Detail)
				}
				for i, f := range run.Samples.Failure {
					if f != wire.FailureCanceled {
						t.Fatalf("sample %d: failure %q, want canceled", i, f)
					}
				}
			})
		}
	}
}

func TestTheAddressInTheRowIsTheFirstThatAnswered(t *testing.T) {
	w := serve(t, false, 0, func(http.ResponseWriter, *http.Request) {})
	elsewhere, err := net.Listen("tcp", "127.0.0.2:"+portOf(t, w.URL))
	if err != nil {
		t.Fatal(err)
	}
	other := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Minute}
	go func() { _ = other.Serve(elsewhere) }()
	defer other.Close() // a test's end
	var asked atomic.Int64
	p := trusting(nil, nameServer(t, 0, func(string) []string {
		if asked.Add(1) <= 2 { // A and AAAA of the first
			return []string{"127.0.0.1"}
		}
		return []string{"127.0.0.2"}
	}))
	req := httpRequest(w.named(t, "api.test"), wire.ConnectionFresh, 4)
	req.Spec.Interval = 0 // one after another
	run := p.Make(t.Context(), req)
	answered(t, run, 4)
	if run.Address != w.Listener.Addr().String() || !strings.Contains(run.Detail, "several addresses") {
		t.Errorf("address %q, detail %q", run.Address, run.Detail)
	}
}

// The smallest round trip that is known may be that of a connection which no sample opened.
func TestTheSmallestConnectPhaseIsKeptWhereTheKernelSaysNothing(t *testing.T) {
	w := serve(t, false, 0, func(http.ResponseWriter, *http.Request) {})
	for _, connection := range []string{wire.ConnectionFresh, wire.ConnectionKeepAlive} {
		for _, warmup := range []int{0, 2} {
			req := httpRequest(w.URL, connection, 3)
			req.Spec.Warmup = warmup
			run := trusting(w, nil).Make(t.Context(), req)
			answered(t, run, 3)
			if run.TCPInfo != nil {
				if run.LeastConnectNS != nil {
					t.Errorf("%s: %d ns beside TCP_INFO", connection, *run.LeastConnectNS)
				}
				continue
			}
			least := run.LeastConnectNS
			if least == nil || *least <= 0 {
				t.Errorf("%s, warm-up of %d: no smallest connect phase", connection, warmup)
				continue
			}
			for _, phase := range run.Samples.ConnectNS.Values() {
				if phase < *least {
					t.Errorf("%s: a sample connected in %d ns, and the smallest is %d", connection, phase, *least)
				}
			}
		}
	}
	c := &httpClient{}
	for _, took := range []int64{notYet, 30, 0, 20, 40} {
		c.connected(took)
	}
	if least := c.least.Load(); least != 20 {
		t.Errorf("the smallest of 30, 20 and 40 is %d", least)
	}
}

func portOf(t *testing.T, u string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(u, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
