package probe

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"isochrone/prober/socket"
)

// stampLane is a udp run that has a thread to itself, which sends, receives and waits in the kernel. The
// kernel tells of a packet's departure as it leaves, which wakes who waits for that socket, and a
// thread that is being woken delays what is on its way through this machine's devices. Here nobody
// waits while something is sent.
type stampLane struct {
	*flight
	socket *socket.Detached

	next    int      // the sample to leave next
	sent    chan int // how many were sent, once no more will be
	allSent bool     // that was said

	stopped  atomic.Bool // no more is to be sent
	over     atomic.Bool // nor received
	finished chan struct{}
}

// alone begins the run on a thread of its own. It returns nil where that cannot be, and the link is as
// it was then.
func (f *flight) alone() traffic {
	detached, err := f.d.Detach(f.conn)
	if err != nil {
		return nil
	}
	l := &stampLane{flight: f, socket: detached, sent: make(chan int, 1), finished: make(chan struct{})}
	go l.run()
	return l
}

// sendUntilStopped waits until all is sent, or ctx has ended.
func (l *stampLane) sendUntilStopped(ctx context.Context, _ time.Time) int {
	defer context.AfterFunc(ctx, func() {
		l.stopped.Store(true)
		l.socket.Call()
	})()
	return <-l.sent
}

// end ends receiving.
func (l *stampLane) end() {
	l.over.Store(true)
	l.socket.Call()
	<-l.finished
	_ = l.socket.Close() // datagrams: there is nothing to lose
}

func (l *stampLane) run() {
	defer close(l.finished)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = socket.PromptTimers() // late by 50 µs otherwise
	for l.step() {
	}
}

// step does the next thing, or waits for one to do. It returns false when the run is over. It
// allocates nothing.
func (l *stampLane) step() bool {
	due := time.Time{}
	switch {
	case l.over.Load():
		return false
	case l.allSent:
	case l.stopped.Load() || l.next >= len(l.rec.samples):
		l.leftAll()
	default:
		if due = l.due(); time.Until(due) <= 0 {
			l.leave()
			return true
		}
	}
	l.hear(due)
	return true
}

// due is when the next sample leaves. In a closed loop it does so at once, if the one before is
// settled.
func (l *stampLane) due() time.Time {
	spec := &l.rec.spec
	switch {
	case !spec.ClosedLoop() || l.next == 0:
		return l.rec.begin.Add(time.Duration(l.next) * spec.Interval)
	case l.newest.Load() >= int64(l.next-1):
		return l.rec.begin
	}
	return l.rec.begin.Add(time.Duration(l.rec.samples[l.next-1].sent.Load()) + spec.Timeout)
}

// leave sends the next sample, and takes what has come. If there is no room it waits for that, and the
// sample leaves another time.
func (l *stampLane) leave() {
	switch l.trySend(l.next) {
	case sendingFull:
		if err := l.socket.Await(); errors.Is(err, socket.ErrCalled) {
			return
		}
	case sendingOver:
		l.leftAll()
	default:
		l.next++
	}
	for range maxAtOnce { // also where the next sample is due already
		if !l.hear(longAgo) {
			return
		}
	}
}

// maxAtOnce is how much is taken between two samples at the most: whoever sends more does not keep the
// next one from leaving.
const maxAtOnce = 64

// longAgo is a time to receive until without waiting.
var longAgo = time.Unix(1, 0)

func (l *stampLane) leftAll() {
	l.allSent = true
	l.sent <- l.next
}

// hear takes what comes next, until then at the latest; zero: whenever. It returns false if nothing came.
func (l *stampLane) hear(until time.Time) bool {
	noticed, err := l.socket.ReceiveBefore(until, l.in, &l.packet, &l.notice)
	if errors.Is(err, socket.ErrWait) || errors.Is(err, socket.ErrCalled) {
		return false
	}
	if !l.came(noticed, err) { // errors and nothing else: not as fast as they come
		l.broken = 0
		time.Sleep(time.Millisecond)
	}
	return true
}
