package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// exchange is a tcp run's traffic.
type exchange struct {
	conn net.Conn
	in   incoming
	rec  *record
	// begin is rec.begin as socket.Clocks.Monotonic.
	begin int64
	// request and response are one message each, made before the clock starts.
	request, response []byte
	// offsets are realtime − monotonic when each sample left: see ownShare.
	offsets []int64

	// awaited is how many samples the receiver waits for: all, until the sender knows better.
	awaited  atomic.Int64
	received atomic.Int64 // samples with a reply, late ones included
	// highest is the highest sample with a reply; looked says that it may have changed.
	highest atomic.Int64
	looked  chan struct{}

	writeErr error // the sender's
	readErr  error // the receiver's
}

// incoming is what a connection's peer sends. Read returns, with what it read, when the kernel took
// the last of it from the device, in Unix nanoseconds, or 0 where that is not known.
type incoming interface {
	Read(b []byte) (n int, stamp int64, err error)
}

func newExchange(req Request, conn *net.TCPConn, begin time.Time) *exchange {
	in, stamped := incomingOf(conn)
	n := req.Spec.Warmup + req.Spec.Count
	x := &exchange{
		conn: conn, in: in, begin: socket.Monotonic(begin), rec: newRecord(req, begin, columnSet{server: true, client: stamped}),
		request: make([]byte, req.Spec.RequestBytes), response: make([]byte, req.Spec.ResponseBytes),
		offsets: make([]int64, n), looked: make(chan struct{}, 1),
	}
	x.highest.Store(-1)
	x.awaited.Store(int64(n))
	return x
}

// sendAll sends every sample when it is due, and returns how many have left.
func (x *exchange) sendAll(ctx context.Context, pacer *Pacer) int {
	spec, n := x.rec.spec, len(x.rec.samples)
	if spec.ClosedLoop() {
		settled := func(i int) bool { return x.highest.Load() >= int64(i) }
		return takeTurns(ctx, x.rec.begin, spec.Timeout, n, x.looked, settled, x.send)
	}
	return pacer.pace(ctx, x.rec.begin, spec.Interval, n, x.send)
}

// send sends sample i. It allocates nothing.
func (x *exchange) send(i int) bool {
	x.leaves(i)
	if n, err := x.conn.Write(x.request); err != nil {
		x.writeErr = err
		if n == 0 {
			x.rec.samples[i].sent.Store(notYet)
		}
		return false
	}
	return true
}

// leaves makes sample i's request, and notes that it leaves now.
func (x *exchange) leaves(i int) {
	wire.PutRequest(x.request, uint64(i))
	now := socket.ReadClocks()
	x.offsets[i] = now.Offset()
	x.rec.samples[i].sent.Store(max(now.Monotonic-x.begin, 0)) // publishes the offset too
}

// sentAll tells the receiver that no more than n samples will be sent.
func (x *exchange) sentAll(n int) {
	x.awaited.Store(int64(n))
	if x.received.Load() >= int64(n) {
		// The receiver may have read the old number, and be waiting for nothing. One of the two
		// sees the other's store.
		_ = x.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// receive records responses until every awaited sample has one, or reading fails. It allocates
// nothing.
func (x *exchange) receive() {
	for x.received.Load() < x.awaited.Load() {
		var stamp int64
		for have := 0; have < len(x.response); {
			n, at, err := x.in.Read(x.response[have:])
			if have += n; err != nil {
				x.readErr = endOfStream(err, have)
				return
			}
			stamp = at
		}
		if !x.arrived(socket.ReadClocks(), stamp) {
			return
		}
	}
}

// endOfStream tells an end within a message from one between two.
func endOfStream(err error, have int) error {
	if errors.Is(err, io.EOF) && have > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// arrived records the response that was complete at, and reports whether it may be one.
func (x *exchange) arrived(at socket.Clocks, stamp int64) bool {
	sequence, held := wire.Response(x.response)
	if sequence >= uint64(len(x.rec.samples)) || x.rec.samples[sequence].sent.Load() == notYet {
		x.readErr = fmt.Errorf("%w: a response to sample %d, which was not sent", errProtocol, sequence)
		return false
	}
	i := int(sequence)
	if x.rec.reply(i, max(at.Monotonic-x.begin, 0), held) {
		x.received.Add(1)
		x.ownShare(i, at, stamp)
		x.highest.Store(max(x.highest.Load(), int64(i)))
		select {
		case x.looked <- struct{}{}:
		default:
		}
	}
	return true
}

// ownShare notes how long the response had been in this machine when its read returned. The stamp
// is the wall clock's, so it is only good if nobody has set that since the request left.
func (x *exchange) ownShare(i int, at socket.Clocks, stamp int64) {
	s := &x.rec.samples[i]
	if stamp == 0 || s.rtt == notYet {
		return
	}
	sent := x.begin + s.sent.Load()
	before := socket.Clocks{Realtime: sent + x.offsets[i], Monotonic: sent}
	if own := at.Realtime - stamp; own >= 0 && own <= s.rtt && !socket.Stepped(before, at) {
		s.client = own
	}
}

// conclude says how the run ended, once nobody sends or receives.
func (x *exchange) conclude(end *ending, stopped bool) {
	err := x.readErr
	if err == nil || errors.Is(err, errDeadline) { // we set that deadline ourselves
		err = x.writeErr
	}
	switch {
	case stopped: // before the error: the reflector closes at the deadline as well
		end.cut, end.detail = wire.FailureCanceled, "stopped before every sample was sent and answered"
	case err != nil && !errors.Is(err, errDeadline):
		end.cut = failureOf(err)
		end.detail = fmt.Sprintf("the session broke after %d responses: %s", x.received.Load(), err)
	}
}
