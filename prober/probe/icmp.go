package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// icmp measures echo request and reply over one socket. One goroutine sends by the schedule, another
// receives by the runtime's poller.
//
// Where the kernel stamps packets, the round trip is T4 − T1 of its stamps: from when the request
// was handed to the device to when the reply was taken from it. Then nobody has to wake up in
// time. A sample whose stamps are missing, or whose wall clock was set meanwhile, is by this
// program's monotonic clock instead; see stamping.
//
// A sample that an ICMP error quotes is unreachable, unless its reply comes all the same.
func (p *Prober) icmp(ctx context.Context, req Request) wire.Run {
	address, err := netip.ParseAddr(req.Address)
	if err != nil {
		return NotMade(req, wire.FailureUnsupported, fmt.Sprintf("address %q is not a numeric host", req.Address))
	}
	began := time.Now()
	conn, err := openEcho(address.Unmap())
	if err != nil {
		run := setupFailed(req, began, err)
		if errors.Is(err, errNotPermitted) {
			run = NotMade(req, wire.FailureNotPermitted, err.Error())
		}
		return run
	}
	defer conn.Close() // nothing is left to be said on it

	sending, stop := context.WithCancel(ctx)
	defer stop()
	// A send that waits, because the socket's buffer is full, ends when the run does.
	defer context.AfterFunc(sending, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })()
	e := newEchoes(req, conn, newEchoMessage(req.Spec.RequestBytes, address.Unmap().Is6(), conn.id), firstDue(time.Now(), req.First, req.Spec.Interval))
	received := make(chan struct{})
	go func() {
		defer close(received)
		defer stop() // no use in sending when nothing can be received
		e.receive()
	}()
	sent := e.sendAll(sending, p.pacer)
	e.sentAll(sent)
	drain(ctx, time.Now().Add(req.Spec.Timeout), req.Deadline, e.complete)
	end := ending{at: time.Now()}
	_ = conn.SetReadDeadline(time.Unix(1, 0))
	<-received
	e.conclude(&end, ctx.Err() != nil && int(e.settled.Load()) < len(e.rec.samples))
	return e.run(req, end)
}

// errNotPermitted is a system that lets this program open no socket for ICMP.
var errNotPermitted = errors.New("the system permits no ICMP socket")

// echoConn is a socket for ICMP that is connected to the target.
type echoConn struct {
	echoSocket
	id uint16 // of the messages; the system writes its own where it is 0
	// headed says that what is received begins with its IP header.
	headed bool
}

// echoSocket is what a system offers; see package socket.
type echoSocket interface {
	Send(b []byte) (number uint32, err error)
	Receive(b []byte, p *socket.Packet, n *socket.Notice) (noticed bool, err error)
	Notice(b []byte, n *socket.Notice) error
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
	Close() error
}

// departure is what is known of a sample's leaving.
type departure struct {
	user   socket.Clocks // before the request was sent; the sender's until sent is set
	kernel int64         // the kernel's stamp in Unix nanoseconds, 0 until it has come; the receiver's
	ended  bool          // settled; the receiver's
}

// echoes is an icmp run's traffic.
type echoes struct {
	conn *echoConn
	rec  *record
	out  *echoMessage
	// begin is rec.begin as socket.Clocks.Monotonic.
	begin int64

	departures []departure
	// numbered holds the sample of each number that the socket counts, plus one.
	numbered []atomic.Int32
	next     int // number; the sender's

	in       []byte
	packet   socket.Packet
	notice   socket.Notice
	stamping stamping

	awaited  atomic.Int64 // how many samples will be sent
	settled  atomic.Int64 // samples that were answered, or quoted, or could not be sent
	latest   atomic.Int64 // the highest of them
	looked   chan struct{}
	complete chan struct{} // closed when all that are awaited are settled
	closed   atomic.Bool

	sendErr    error // the sender's, the first
	receiveErr error // the receiver's
	quoted     string
}

func newEchoes(req Request, conn *echoConn, out *echoMessage, begin time.Time) *echoes {
	e := &echoes{
		conn: conn, out: out, begin: socket.Monotonic(begin), rec: newRecord(req, begin, columnSet{client: true}),
		in:     make([]byte, maxIPv4Header+echoHeader+req.Spec.RequestBytes+1), // a byte more shows what is too long
		looked: make(chan struct{}, 1), complete: make(chan struct{}),
	}
	e.departures = make([]departure, len(e.rec.samples))
	e.numbered = make([]atomic.Int32, len(e.rec.samples))
	e.awaited.Store(int64(len(e.rec.samples)))
	e.latest.Store(notYet)
	return e
}

// sendAll sends by the schedule, and returns how many samples it came to.
func (e *echoes) sendAll(ctx context.Context, pacer *Pacer) int {
	spec, n := e.rec.spec, len(e.rec.samples)
	switch {
	case spec.ClosedLoop():
		settled := func(i int) bool { return e.latest.Load() >= int64(i) }
		return takeTurns(ctx, e.rec.begin, spec.Timeout, n, e.looked, settled, e.send)
	case socket.Stamps:
		return paceCoarse(ctx, e.rec.begin, spec.Interval, n, e.send)
	}
	return pacer.pace(ctx, e.rec.begin, spec.Interval, n, e.send)
}

// send sends sample i. It allocates nothing. A sample that the system would not send is a
// failure of its own (see notSent), and the next may do better.
func (e *echoes) send(i int) bool {
	b := e.out.request(i)
	e.numbered[e.next].Store(int32(i) + 1)
	now := socket.ReadClocks()
	e.departures[i].user = now
	e.rec.samples[i].sent.Store(max(now.Monotonic-e.begin, 0))
	number, err := e.conn.Send(b)
	if err != nil {
		return e.failedToSend(i, err)
	}
	if int(number) != e.next && int(number) < len(e.numbered) { // an earlier one's error made it count anew
		e.numbered[number].Store(int32(i) + 1)
	}
	e.next = min(int(number)+1, len(e.numbered)-1)
	return true
}

// failedToSend says whether it is worth sending the next sample.
func (e *echoes) failedToSend(i int, err error) bool {
	if errors.Is(err, errDeadline) { // the run is over before it left
		e.rec.samples[i].sent.Store(notYet)
		return false
	}
	e.next = 0 // the socket counts anew
	e.rec.samples[i].notSent(err)
	if e.sendErr == nil {
		e.sendErr = err
	}
	e.settle(i)
	return true
}

// sentAll says that no more than n samples will be sent.
func (e *echoes) sentAll(n int) {
	e.awaited.Store(int64(n))
	e.look()
}

// settle counts sample i as done with.
func (e *echoes) settle(i int) {
	for last := e.latest.Load(); int64(i) > last && !e.latest.CompareAndSwap(last, int64(i)); last = e.latest.Load() {
	}
	e.settled.Add(1)
	e.look()
}

// look lets the sender look whether it may go on, and ends the waiting when all is settled.
func (e *echoes) look() {
	select {
	case e.looked <- struct{}{}:
	default:
	}
	if e.settled.Load() >= e.awaited.Load() && e.closed.CompareAndSwap(false, true) {
		close(e.complete)
	}
}

// conclude says how the run ended, once neither goroutine runs.
func (e *echoes) conclude(end *ending, stopped bool) {
	broken := e.receiveErr != nil && !errors.Is(e.receiveErr, errDeadline) // that deadline is ours
	switch {
	case stopped:
		end.cut, end.detail = wire.FailureCanceled, "stopped before every sample was sent and answered"
	case broken:
		end.cut, end.detail = failureOf(e.receiveErr), fmt.Sprintf("receiving echo replies: %s", e.receiveErr)
	case e.sendErr != nil:
		end.detail = fmt.Sprintf("sending an echo request: %s", e.sendErr)
	default:
		end.detail = e.quoted
	}
}

func (e *echoes) run(req Request, end ending) wire.Run {
	e.rec.columns.client = e.stamping.kernel > 0
	if !e.stamping.byKernel() {
		for i := range e.rec.samples {
			e.rec.samples[i].toUserClock()
		}
	}
	run := e.rec.run(req, end)
	e.stamping.tell(&run)
	return run
}
