// Package probe makes one run: it sends a run's samples to one target at their due times and
// records what became of each. There is one file a kind.
//
// What the clock covers: a connect sample runs from just before connect(2) to the return of the
// dial; a tcp sample from just before the write of the request to the return of the read that
// completed the response; a udp sample, where the kernel stamps packets, from its handing the
// request to the device to its taking the reply from it, less the time that the target says it
// had the request. Names are resolved by the app when the sweep is planned, so no resolver is
// inside the clock, except that of an http sample, which is a phase of it. All durations but
// the kernel's are of the monotonic clock; wall clock times are the run's start plus such a
// duration.
package probe

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// Limits that no assignment changes.
const (
	// setupTimeout bounds the connection and handshake of a tcp run, which are not samples.
	// It leaves room for three retransmitted SYNs (after 1, 3 and 7 s).
	setupTimeout = 10 * time.Second
	// refusedPause is how long, give or take half, a target that refused the session is left
	// alone at first; the pause doubles with every refusal, to eight times this.
	refusedPause = 500 * time.Millisecond
	// drainGrace is how long a canceled run waits for what is in flight, if the samples' own
	// timeout does not end before. A stop of the program has to fit into the ten seconds that
	// container hosts grant.
	drainGrace = 2 * time.Second
	// maxThreads is how many tcp and udp runs at a time have a thread to themselves. The runs of a
	// sweep to all regions are more than that; the ones beyond are woken by the runtime's poller, some
	// ten microseconds later, which their client times show.
	maxThreads = 8
)

// Request says which run to make.
type Request struct {
	Target string // prober id
	Path   string
	Spec   wire.Spec
	// Address is the target's numeric host:port; for icmp a numeric host; for http unused.
	Address string
	// URL is what an http run asks for.
	URL string
	// Loopback lets an http run connect to this machine's own loopback addresses.
	Loopback bool
	// Session and Key open a session at the target's reflector; for authenticated kinds only. A
	// udp run without them speaks plain STAMP to a third party's reflector.
	Session wire.SessionID
	Key     wire.Key
	// PlannedStart is the assignment's start, which the result repeats.
	PlannedStart time.Time
	// First is when the first sample is due, if the run is ready by then. A run that is not
	// begins a whole number of intervals later, so that runs spread over an interval stay so.
	First time.Time
	// LatestStart is how long a target that refuses the session is asked again; zero: never.
	LatestStart time.Time
	// Deadline ends everything: nothing is sent or waited for after it.
	Deadline time.Time
	// Observe, if it is set, is told of every reply as it comes, by the goroutines that receive: it
	// must not block, and bear several at a time.
	Observe func(Reply)
	// Progress, if it is set, is told how far a run of a bulk kind has come, every 100 ms to a second. It
	// must not block.
	Progress func(Progress)
}

// Reply is what is known of a reply when it comes.
type Reply struct {
	Sequence  int           // of the sample; negative in the warm-up
	RTT       time.Duration // of a late reply too, where it is known
	Late      bool          // it came after the timeout, and counts as lost
	Duplicate bool          // it is not the first to its sample
	// Failure, where it is set, says that there will be no reply: connect and http know it at once.
	Failure wire.Failure
}

// Prober makes runs, any number at a time.
type Prober struct {
	pacer *Pacer
	setup time.Duration // see setupTimeout
	again time.Duration // see refusedPause
	// clocks are read around what the kernel stamps.
	clocks func() socket.Clocks
	// threads are for tcp and udp runs that wait on a thread of their own; see maxThreads.
	threads *socket.Threads
	// For http; nil is the system's.
	resolver *net.Resolver
	roots    *x509.CertPool
}

// New makes a Prober. Its runs share one pacer.
func New(pacer *Pacer) *Prober {
	return &Prober{pacer: pacer, setup: setupTimeout, again: refusedPause, threads: socket.NewThreads(maxThreads), clocks: socket.ReadClocks}
}

// Make makes a run and returns what came of it. It never fails: whatever goes wrong is in the
// result. When ctx ends, what was not sent is canceled, and what is in flight is waited for
// within its timeout, two seconds at the most.
func (p *Prober) Make(ctx context.Context, req Request) wire.Run {
	if err := req.Spec.Validate(); err != nil {
		return NotMade(req, wire.FailureUnsupported, err.Error())
	}
	ctx, cancel := context.WithDeadline(ctx, req.Deadline)
	defer cancel()
	if ctx.Err() != nil {
		return NotMade(req, wire.FailureCanceled, "stopped before the run began")
	}
	switch req.Spec.Kind {
	case wire.KindICMP:
		return p.icmp(ctx, req)
	case wire.KindHTTP:
		return p.http(ctx, req)
	case wire.KindLoad:
		if req.Spec.AsksURL() {
			return p.load(ctx, req, netip.AddrPort{})
		}
	}
	address, err := netip.ParseAddrPort(req.Address)
	if err != nil {
		return NotMade(req, wire.FailureUnsupported, fmt.Sprintf("address %q is not a numeric host:port", req.Address))
	}
	switch req.Spec.Kind {
	case wire.KindConnect:
		return p.connect(ctx, req, address)
	case wire.KindTCP:
		return p.tcp(ctx, req, address)
	case wire.KindUDP:
		return p.udp(ctx, req, address)
	case wire.KindThroughput:
		return p.throughput(ctx, req, address)
	case wire.KindLoad:
		return p.load(ctx, req, address)
	case wire.KindSaturate:
		return p.saturate(ctx, req, address)
	case wire.KindStream:
		return p.stream(ctx, req, address)
	}
	return NotMade(req, wire.FailureUnsupported, fmt.Sprintf("kind %q is not measured by this version", req.Spec.Kind))
}

// NotMade is the result of a run that sends nothing: every planned sample has the failure.
func NotMade(req Request, f wire.Failure, detail string) wire.Run {
	n := req.Spec.Count
	if n < 0 || n > wire.MaxSamples { // only where the spec is refused for it
		n = 0
	}
	run := result(req, f, detail)
	run.Samples = columns(n, columnSet{})
	for i := range n {
		run.Samples.Sequence[i] = int64(i)
		run.Samples.DueNS[i] = int64(req.Spec.Warmup+i) * int64(req.Spec.Interval)
		run.Samples.SentNS[i], run.Samples.RTTNS[i] = wire.Null, wire.Null
		run.Samples.Failure[i] = f
	}
	return run
}

func result(req Request, f wire.Failure, detail string) wire.Run {
	return wire.Run{
		Target: req.Target, Path: req.Path, Kind: req.Spec.Kind, Address: req.Address,
		PlannedStart: req.PlannedStart.UTC(), Failure: f, Detail: wire.CutDetail(detail),
	}
}

// columns makes the columns of n samples, the optional ones full of nulls.
func columns(n int, set columnSet) wire.Samples {
	s := wire.Samples{
		Sequence: make(wire.Column, n), DueNS: make(wire.Column, n), SentNS: make(wire.Column, n),
		RTTNS: make(wire.Column, n), Failure: make(wire.FailureColumn, n),
	}
	nulls := func(wanted bool, to ...*wire.Column) {
		for _, c := range to {
			if !wanted {
				continue
			}
			*c = make(wire.Column, n)
			for i := range *c {
				(*c)[i] = wire.Null
			}
		}
	}
	nulls(set.server, &s.ServerNS)
	nulls(set.client, &s.ClientNS)
	nulls(set.oneWay, &s.ForwardNS, &s.ReverseNS)
	nulls(set.phases, &s.DNSNS, &s.ConnectNS, &s.TLSNS, &s.FirstByteNS)
	return s
}
