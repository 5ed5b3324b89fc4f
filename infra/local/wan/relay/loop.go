package relay

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// loop moves packets between TUNs and engine, on one thread. It sleeps in epoll until a
// packet comes or a timer ends, and spins only in the margin before a packet is due, looking for
// arrivals meanwhile. The timer is a timerfd, because the kernel lets the timeouts of epoll and
// poll be a thousandth of their length late whatever the timer slack is (fs/select.c).
type loop struct {
	*engine
	clock  clock
	margin int64
	tuns   []int
	epoll  int
	timer  int
	armed  int64 // ns, monotonic; 0: the timer is off
	spin   spin
	events []unix.EpollEvent
	// landing is where packets are read into: what is on its way takes no more memory than it needs.
	landing [offloadBytes + largestPacket]byte
}

// longestWrite is how long a write takes at most, with the kernel's way to the socket, which is
// done within: 5 to 20 µs, and some 20 µs more for 64 KiB. Where it seems longer, whoever the packet woke has taken this thread's
// processor before the clock was read, and the time before the write is nearer the truth.
const longestWrite = int64(100 * time.Microsecond)

// batch is how many packets are read from a TUN before the loop looks for what is due, and how
// many for each TUN are written before it looks for arrivals: about 50 µs of work each. Without a
// bound, one side of an overload would starve the other, and queues that are not read overrun.
// batchBytes is the bound for super-packets, of which three take as long.
const (
	batch      = 16
	batchBytes = 3 << 16
)

func newLoop(e *engine, c clock, margin time.Duration, tuns []*os.File) (*loop, error) {
	l := &loop{engine: e, clock: c, margin: int64(margin), epoll: -1, timer: -1, events: make([]unix.EpollEvent, len(tuns)+1)}
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("making an epoll: %w", err)
	}
	if l.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return nil, errors.Join(fmt.Errorf("making a timer: %w", err), l.close())
	}
	for _, f := range tuns {
		fd := int(f.Fd())
		l.tuns = append(l.tuns, fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, errors.Join(fmt.Errorf("setting up %q: %w", f.Name(), err), l.close())
		}
	}
	for i, fd := range l.tuns {
		if err := l.watch(fd, i, unix.EPOLLIN); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	// Edge-triggered: setting the timer again clears it, so that it need not be read.
	if err := l.watch(l.timer, len(l.tuns), unix.EPOLLIN|unix.EPOLLET); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// watch adds a descriptor to the epoll. Its events come with the number given.
func (l *loop) watch(fd, number int, events uint32) error {
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(number)}); err != nil {
		return fmt.Errorf("watching descriptor %d: %w", fd, err)
	}
	return nil
}

func (l *loop) close() error {
	var errs []error
	for _, fd := range []int{l.epoll, l.timer} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}

// run moves packets until something fails. The process ends with it.
func (l *loop) run() error {
	runtime.LockOSThread()
	prefer()
	for {
		l.send()
		ready, err := l.wait()
		if err != nil {
			return err
		}
		for _, e := range l.events[:ready] {
			if int(e.Fd) == len(l.tuns) {
				continue // the timer
			}
			if err := l.receive(int(e.Fd)); err != nil {
				return err
			}
		}
	}
}

// send writes the packets that are due, up to a batch for every node, so that as many can leave
// as can come before it is called again.
func (l *loop) send() {
	now, moved := l.clock.now(), 0
	for range batch * len(l.tuns) {
		if moved > batchBytes*len(l.tuns) {
			return
		}
		p := l.due(now.Mono)
		if p == nil {
			return
		}
		moved += int(p.length)
		before := l.clock.now()
		_, err := rawWrite(l.tuns[p.link.to], p.bytes())
		now = l.clock.now()
		if now.Mono-before.Mono > longestWrite {
			l.left(p, err == nil, before)
		} else {
			l.left(p, err == nil, now)
		}
	}
}

// longestWait is how long the loop sleeps at a time, in ms: the collector waits for it.
const longestWait = 10

// wait returns when a packet has come, or when there may be one due. It says how many events
// there are.
func (l *loop) wait() (int, error) {
	timeout := longestWait
	if due, ok := l.next(); ok {
		now := l.clock.now().Mono
		at := due
		if l.spin.allowed(now) {
			at = due - l.margin
		}
		if at <= now {
			timeout = 0
			if due > now { // else this is work, not waiting
				l.spin.begin(now)
			}
		} else if err := l.arm(at); err != nil {
			return 0, err
		}
	}
	n, err := rawWait(l.epoll, l.events, timeout)
	switch {
	case errors.Is(err, unix.EINTR):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("waiting for packets: %w", err)
	}
	return n, nil
}

func (l *loop) arm(at int64) error {
	if at == l.armed {
		return nil
	}
	l.armed = at
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	if err := unix.TimerfdSettime(l.timer, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return fmt.Errorf("setting the timer: %w", err)
	}
	return nil
}

// receive reads what has come from a node, up to a batch.
func (l *loop) receive(node int) error {
	moved := 0
	for range batch {
		n, err := rawRead(l.tuns[node], l.landing[:])
		at := l.clock.now()
		if err != nil {
			if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
				return nil
			}
			return fmt.Errorf("reading from the TUN of node %d: %w", node, err)
		}
		if n < offloadBytes {
			return fmt.Errorf("reading from the TUN of node %d: %d bytes, want a struct virtio_net_hdr and a packet", node, n)
		}
		l.arrive(node, readOffload(l.landing[:]), l.landing[offloadBytes:n], at)
		if moved += n; moved > batchBytes {
			return nil
		}
	}
	return nil
}
