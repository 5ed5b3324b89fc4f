package probe

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// http measures whole requests of HTTP/1.1, never h2: there one connection carries one request at a
// time, so that each phase belongs to one request. The round trip is from when the request begins,
// the name's resolution included, to the last byte of the answer's body. Its phases are
// null where a request had none:
//
//   - DNS: resolving the host's name;
//   - connect: the handshake of TCP with the address that answered;
//   - TLS: the whole handshake, as no session is resumed;
//   - first byte: from the last write of the request to the first byte of the answer.
//
// Fresh: every request resolves the name and opens a connection, in parallel where the one before
// is not finished; one that finds all of maxDialers busy waits, and counts as a pacing violation if
// that takes long.
//
// Keep-alive: one connection carries all requests. A request that is due while the one before is
// unfinished waits for it, as in an application with one connection; it has begun when it
// was due, so the wait is in its round trip, and a stall of the target shows in every request that
// was due meanwhile. The wait counts against the timeout. Where the connection is lost, because the
// server closed it or because a request timed out on it (its answer could not be told from the
// next), the next request opens another, which shows in its phases. The warm-up opens the
// connection; with a warm-up of 0 a request that is counted nowhere does, before the run begins.
func (p *Prober) http(ctx context.Context, req Request) wire.Run {
	u, err := readURL(req.URL)
	if err != nil {
		return NotMade(req, wire.FailureUnsupported, err.Error())
	}
	// Requests outlive ctx by the grace, so that what is in flight is not thrown away.
	asking, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	c := p.newHTTPClient(req, u)
	defer c.transport.CloseIdleConnections()
	keepAlive := req.Spec.Connection == wire.ConnectionKeepAlive
	if keepAlive && req.Spec.Warmup == 0 {
		opening, cancel := context.WithTimeout(ctx, req.Spec.Timeout)
		_, _ = c.ask(opening) // what is wrong the first sample will find too, and say
		cancel()
	}

	v := startVisits(asking, c, newRecord(req, firstDue(time.Now(), req.First, req.Spec.Interval), columnSet{server: true, phases: true}))
	sent := p.pacer.pace(ctx, v.rec.begin, req.Spec.Interval, len(v.rec.samples), func(i int) bool { return v.fire(ctx, i) })
	close(v.due)
	// Requests time out by themselves; the second is for their goroutines to notice.
	finished := drain(ctx, time.Now().Add(req.Spec.Timeout+time.Second), req.Deadline, v.done)
	end := ending{at: time.Now()}
	giveUp()
	<-v.done
	if end.detail = v.detail(); sent < len(v.rec.samples) || !finished {
		end.cut, end.detail = wire.FailureCanceled, "stopped before every sample was sent and answered"
	}
	run := v.rec.run(req, end)
	run.Address, run.Timestamps = v.address, wire.TimestampsUser
	if conn := c.last.Load(); keepAlive && conn != nil { // fresh ones are many, and closed
		run.TCPInfo = tcpInfo(conn)
	}
	if least := c.least.Load(); run.TCPInfo == nil && least > 0 {
		run.LeastConnectNS = &least
	}
	return run
}

// visits are a run's requests and the goroutines that make them.
type visits struct {
	client *httpClient
	rec    *record
	due    chan int      // the sample to ask for; closed by the sender
	done   chan struct{} // closed when due is, and every goroutine has ended
	// answered has a token for every request that ended in a closed loop.
	answered chan struct{}
	waiting  atomic.Int64 // samples that were fired and have not ended

	mu         sync.Mutex // holds the record's replies too
	address    string     // that the first request connected to
	moved      bool       // a later one connected to another
	firstError string
}

func startVisits(ctx context.Context, c *httpClient, rec *record) *visits {
	v := &visits{client: c, rec: rec, done: make(chan struct{}), answered: make(chan struct{}, 1)}
	n := 1
	if rec.spec.Connection == wire.ConnectionKeepAlive || rec.spec.ClosedLoop() {
		v.due = make(chan int, len(rec.samples)) // whoever waits, it is not the sender
	} else {
		v.due = make(chan int)
		n = min(int(rec.spec.Timeout/rec.spec.Interval)+2, len(rec.samples), maxDialers)
	}
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for i := range v.due {
				v.visit(ctx, i)
			}
		})
	}
	go func() {
		all.Wait()
		close(v.done)
	}()
	return v
}

// fire begins sample i. In a closed loop it returns when the request has ended. A request that
// has to wait for another has begun; else it begins when its goroutine has woken up, which is no
// part of a round trip.
func (v *visits) fire(ctx context.Context, i int) bool {
	if v.waiting.Add(1) > 1 && cap(v.due) > 0 {
		v.rec.samples[i].sent.Store(v.rec.since(socket.Now()))
	}
	select {
	case v.due <- i:
	case <-ctx.Done():
		return false
	}
	if v.rec.spec.ClosedLoop() {
		select {
		case <-v.answered:
		case <-ctx.Done(): // it may end within the grace
		}
	}
	return true
}

// visit makes the request of sample i.
func (v *visits) visit(ctx context.Context, i int) {
	s := &v.rec.samples[i]
	if s.sent.Load() == notYet {
		s.sent.Store(v.rec.since(socket.Now()))
	}
	ctx, cancel := context.WithDeadline(ctx, v.rec.begin.Add(time.Duration(s.sent.Load())+v.rec.spec.Timeout))
	got, err := v.client.ask(ctx)
	cancel()
	v.record(i, got, err)
	v.waiting.Add(-1)
	if v.rec.spec.ClosedLoop() {
		v.answered <- struct{}{}
	}
}

func (v *visits) record(i int, got answer, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := &v.rec.samples[i]
	switch {
	case v.address == "":
		v.address = got.address
	case got.address != "" && got.address != v.address:
		v.moved = true
	}
	if err != nil {
		s.failure = got.failure
		if v.firstError == "" {
			v.firstError = fmt.Sprintf("%s %q: %s", v.rec.spec.Method, v.client.name, err)
		}
		v.rec.outcome(i)
		return
	}
	rtt := max(v.rec.since(got.ended)-s.sent.Load(), 1)
	if rtt > int64(v.rec.spec.Timeout) {
		s.late = true
	} else {
		// The server's word is kept even where it cannot be: that the network's part is below
		// the path's round trip is for the reader to see.
		s.rtt, s.server = rtt, got.server
		s.dns, s.connect, s.tls, s.firstByte = got.dns, got.connect, got.tls, got.firstByte
	}
	v.rec.tell(i, rtt, false)
}

// detail is what people should know of a run that was not stopped.
func (v *visits) detail() string {
	if v.moved && v.firstError == "" {
		return fmt.Sprintf("the name led to several addresses; %s is the first that answered", v.address)
	}
	return v.firstError
}

// newHTTPClient makes the client of one run. It knows no proxy: that would be measured in the
// target's stead.
func (p *Prober) newHTTPClient(req Request, u targetURL) *httpClient {
	c := &httpClient{
		name: u.name, roots: p.roots,
		dialer: net.Dialer{
			Resolver:      p.resolver,
			FallbackDelay: -1, // one address after another, as phases of two at a time overlap
			KeepAlive:     -1, // a system call less inside the clock
			Control:       refuseForbidden(req.Loopback),
		},
		request: &http.Request{
			Method: req.Spec.Method, URL: u.url, Host: u.url.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"User-Agent": {"isochrone"}, "Accept": {"*/*"}},
		},
	}
	c.dialer.SetMultipathTCP(false) // a SYN with MP_CAPABLE is another measurement
	var only http.Protocols
	only.SetHTTP1(true)
	c.transport = &http.Transport{
		DialContext:            c.open,
		DialTLSContext:         c.openTLS,
		Protocols:              &only,
		DisableKeepAlives:      req.Spec.Connection == wire.ConnectionFresh,
		DisableCompression:     true, // unpacking would be measured
		MaxResponseHeaderBytes: maxAnswerHeaderBytes,
	}
	return c
}
