package probe

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// lane is a tcp run that has a thread to itself, which sends, receives and waits in the kernel for
// whichever comes first. What the measurement costs more than its round trip is then one waking of
// one thread: with goroutines it is the poller's thread, the scheduler, and another thread.
type lane struct {
	*exchange
	pacer    *Pacer
	stream   *socket.Stream
	waiter   *socket.Waiter
	receiver *socket.Receiver
	packet   socket.Packet

	next  int // the sample to leave next
	total int // how many are to leave: all, until something comes between
	// rest is what the kernel has not taken yet of the request that leaves.
	rest []byte
	have int // octets of the response that comes
	// quickest is the smallest round trip so far; 0 while there is none.
	quickest int64

	stopped  bool
	deadline int64 // the run's; this and the others are nanoseconds since its beginning
	giveUp   int64 // when it stops waiting for replies; known once everything has left
}

// alone makes the run on the calling goroutine's thread. ok is false where that cannot be, and the
// connection is as it was then.
func (x *exchange) alone(ctx context.Context, conn *net.TCPConn, pacer *Pacer, deadline time.Time) (info *wire.TCPInfo, end ending, ok bool) {
	stream, err := socket.Detach(conn)
	if err != nil {
		return nil, ending{}, false
	}
	defer stream.Close() // nothing is left to be said on it
	waiter, err := socket.NewWaiter(stream.FD())
	if err != nil { // no descriptor is left
		x.readErr = err
		return nil, ending{at: time.Now()}, true
	}
	defer waiter.Close()
	defer context.AfterFunc(ctx, waiter.Call)()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = socket.PromptTimers() // late by 50 µs otherwise
	l := &lane{
		exchange: x, pacer: pacer, stream: stream, waiter: waiter, receiver: socket.NewReceiver(),
		total: len(x.rec.samples), deadline: int64(deadline.Sub(x.rec.begin)),
	}
	for l.step() {
	}
	info = tcpInfoOf(int(stream.FD()))
	return info, ending{at: time.Now()}, true
}

// since is the time since the run's beginning, negative before it.
func (l *lane) since() int64 { return int64(time.Since(l.rec.begin)) }

// step does the next thing, or waits for one to do. It returns false when the run is over. It
// allocates nothing.
func (l *lane) step() bool {
	leaving := l.next < l.total
	switch {
	case l.readErr != nil || int(l.received.Load()) >= l.total:
		return false
	case l.rest != nil:
		if l.push(); l.rest != nil {
			l.wait(l.since()+int64(time.Hour), true) // the target does not read
		}
		return true
	case leaving:
		if due := l.due(); l.since() < due {
			l.waitToLeave(due)
		} else {
			l.leave()
		}
		return true
	case l.since() >= l.giveUp:
		return false
	}
	if !l.attend(l.giveUp) {
		l.wait(l.giveUp, false)
	}
	return true
}

// due is when the next sample leaves. In a closed loop it does so at once, if the one before is
// settled.
func (l *lane) due() int64 {
	spec := &l.rec.spec
	switch {
	case !spec.ClosedLoop():
		return int64(l.next) * int64(spec.Interval)
	case l.next == 0 || l.highest.Load() >= int64(l.next-1):
		return 0
	}
	return l.rec.samples[l.next-1].sent.Load() + int64(spec.Timeout)
}

// leave begins to send the next sample.
func (l *lane) leave() {
	l.leaves(l.next)
	l.next++
	l.rest = l.request
	l.push()
}

// push hands the kernel what it takes of the request.
func (l *lane) push() {
	n, err := l.stream.Offer(l.rest)
	switch l.rest = l.rest[n:]; {
	case err == socket.ErrWait: //nolint:errorlint // it is returned as it is
		return
	case err != nil:
		l.writeErr = err
		l.breakOff()
	case len(l.rest) == 0:
		l.rest = nil
		l.left()
	}
}

// left notes, if everything has left, until when replies are waited for.
func (l *lane) left() {
	if l.next == l.total {
		l.giveUp = min(l.since()+int64(l.rec.spec.Timeout), l.deadline)
	}
}

// breakOff ends sending. A request that is not whole can have no reply, and if not an octet of it
// was taken it has not left.
func (l *lane) breakOff() {
	l.total = l.next
	if l.rest != nil {
		l.total--
		if len(l.rest) == len(l.request) {
			l.rec.samples[l.total].sent.Store(notYet)
		}
		l.next, l.rest = l.total, nil
	}
	l.left()
}

// stop is breakOff for a run that is told to stop: what is in flight is waited for, but not long.
func (l *lane) stop() {
	l.stopped = true
	if l.next < l.total || l.rest != nil {
		l.breakOff()
	}
	l.giveUp = min(l.giveUp, l.since()+int64(drainGrace))
}

// waitToLeave waits until the next sample is due, or something else happens. In a closed loop the
// wait is one for a reply.
func (l *lane) waitToLeave(due int64) {
	left := due - l.since()
	switch {
	case l.rec.spec.ClosedLoop() && l.next > 0:
		l.wait(due, false)
	case left > int64(spinSlack):
		if at := due - int64(spinSlack); !l.attend(at) {
			l.wait(at, false)
		}
	case !l.pacer.maySpin():
		l.wait(due, false)
	default:
		for l.since() < due && !l.arrive() { // never yields: that is the point
		}
		l.pacer.spun()
	}
}

// attendFor is how long a reply is looked out for beyond the earliest time that it may come.
const attendFor = 300 * time.Microsecond

// attend looks out for the reply to the newest sample when the quickest so far says that it is about
// to come, so that waking up is no part of its round trip. It returns false, and has done
// nothing, if that is not before until. Spinning stays within the pacer's bound.
func (l *lane) attend(until int64) bool {
	if l.quickest == 0 || l.rec.spec.ClosedLoop() || l.next == 0 || l.highest.Load() >= int64(l.next-1) {
		return false
	}
	expected := l.rec.samples[l.next-1].sent.Load() + l.quickest
	from, to := expected-int64(spinSlack), min(expected+int64(attendFor), until)
	now := l.since()
	switch {
	case now >= to || from >= until:
		return false
	case now < from:
		l.wait(from, false)
		return true
	case !l.pacer.maySpin():
		return false
	}
	for l.since() < to && !l.arrive() { // never yields: that is the point
	}
	l.pacer.spun()
	return true
}

// wait waits in the kernel until then, for a reply, for room to write if that is wanted, or until
// the run is told to stop.
func (l *lane) wait(until int64, write bool) {
	called, err := l.waiter.Wait(time.Duration(until-l.since()), write)
	switch {
	case err != nil:
		l.readErr = err
	case called:
		l.stop()
	default:
		l.arrive()
	}
}

// arrive takes what has come, and reports whether that was anything.
func (l *lane) arrive() bool {
	err := l.receiver.Receive(l.stream.FD(), l.response[l.have:], &l.packet)
	switch {
	case err == socket.ErrWait: //nolint:errorlint // it is returned as it is
		return false
	case err != nil:
		l.readErr = os.NewSyscallError("recvmsg", err)
		return true
	case l.packet.Bytes == 0:
		l.readErr = endOfStream(io.EOF, l.have)
		return true
	}
	if l.have += l.packet.Bytes; l.have == len(l.response) {
		l.have = 0
		l.arrived(socket.ReadClocks(), l.packet.At)
		l.learn()
	}
	return true
}

// learn takes the newest round trip in.
func (l *lane) learn() {
	if i := l.highest.Load(); i >= 0 {
		if rtt := l.rec.samples[i].rtt; rtt > 0 && (l.quickest == 0 || rtt < l.quickest) {
			l.quickest = rtt
		}
	}
}
