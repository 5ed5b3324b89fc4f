// Package reflect is the other end of every probe kind: a TCP listener that completes the
// handshakes of connect runs, and answers the requests of tcp runs whose session the app granted,
// or the holder of a shared secret made, and serves the sessions of bulk kinds; a UDP socket that
// answers the STAMP packets of such udp runs.
//
// It answers nobody else. Whoever does not show, in the first 64 bytes, that it holds the key of
// a session that may run now is closed without a byte in return, whatever was wrong. Responses
// of kinds tcp and udp are never larger than requests; those of bulk kinds are, over TCP, to who
// has proved a key, within the session's byte budget. What one peer can hold of this machine is bounded before it
// has shown a key (connections in all and by source, one short time for the whole first
// message) and after (one connection a session, its requests counted, its deadline; of a bulk
// session the connections that its spec has, its byte budget, and one such session at a time).
package reflect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// DefaultBulkBytes is the default of Limits.BulkBytes.
const DefaultBulkBytes = 10_000_000_000

// Limits bound what peers can hold. The zero value of a field stands for its default.
type Limits struct {
	// Connections is how many may be open at a time, whatever their state. 4096.
	Connections int
	// Pending is how many of them may not have shown a key yet; one more takes the oldest's
	// place. 1024.
	Pending int
	// PendingPerSource is how many of those may come from one IPv4 address or one IPv6 /64. 128:
	// a prober whose connect runs overlap holds a few for one round trip each.
	PendingPerSource int
	// Hello is how long a peer has for its whole first message, however it spreads it. 5 s.
	Hello time.Duration
	// Threads is how many admitted connections have a thread to themselves, so that the kernel
	// wakes them; those beyond are woken by the runtime's poller, some ten microseconds later. 8;
	// less than 0 stands for none.
	Threads int
	// BulkSessions is how many sessions of bulk kinds are served at a time. 1: two would measure
	// each other.
	BulkSessions int
	// BulkBytes is the largest byte budget of a bulk session that a shared secret's holder made;
	// those that an app lists have the app's. 10 GB.
	BulkBytes int64
}

func (l Limits) withDefaults() Limits {
	if l.Connections == 0 {
		l.Connections = 4096
	}
	if l.Pending == 0 {
		l.Pending = 1024
	}
	if l.PendingPerSource == 0 {
		l.PendingPerSource = 128
	}
	if l.Hello == 0 {
		l.Hello = 5 * time.Second
	}
	if l.Threads == 0 {
		l.Threads = 8
	}
	if l.BulkSessions == 0 {
		l.BulkSessions = 1
	}
	if l.BulkBytes == 0 {
		l.BulkBytes = DefaultBulkBytes
	}
	return l
}

// Observer counts what the reflector decides. It must not block.
type Observer interface {
	SessionAdmitted()
	SessionRefused(Reason)
}

// Config is what a Reflector needs.
type Config struct {
	Limits   Limits
	Observer Observer
	Now      func() time.Time // the wall clock, by which sessions begin and end
	// Uptime is a monotonic clock, since whenever: no step of the wall clock moves it.
	Uptime func() time.Duration
	Log    *slog.Logger
	// ClockError is the bound on the wall clock's error against UTC, in nanoseconds, which udp
	// sessions are told; nil, or what it returns, where it is not known.
	ClockError func() *int64
	// Secret, if it is set, admits the sessions that its holders make (see wire.SharedSession), and
	// no others: Admit is not called.
	Secret []byte
	// Watch, if it is set, is told of every session that is admitted. It must not block.
	Watch func(Admission)
}

// Reflector serves one listener.
type Reflector struct {
	limits     Limits
	observer   Observer
	now        func() moment
	log        *slog.Logger
	door       *door
	bulk       *bulkDoor
	watch      func(Admission)
	pending    *pending
	slots      chan struct{} // one a connection
	clockError func() *int64
	threads    *socket.Threads
}

// New makes a reflector that admits no session yet, and none ever that begins before now.
func New(c Config) *Reflector {
	limits := c.Limits.withDefaults()
	// Round takes off the monotonic reading that a time.Time carries along: comparing two that
	// have one would not see the wall clock's steps.
	now := func() moment { return moment{wall: c.Now().Round(0), uptime: c.Uptime()} }
	r := &Reflector{
		limits: limits, observer: c.Observer, now: now, log: c.Log,
		door:       newDoor(now()),
		bulk:       &bulkDoor{sessions: limits.BulkSessions, bytes: limits.BulkBytes, shared: c.Secret != nil, live: map[wire.SessionID]*bulkSession{}},
		watch:      c.Watch,
		clockError: c.ClockError,
		pending:    newPending(limits.Pending, limits.PendingPerSource),
		slots:      make(chan struct{}, limits.Connections),
		threads:    socket.NewThreads(limits.Threads),
	}
	r.door.secret = c.Secret
	return r
}

// Listen opens the TCP socket that Serve takes. Multipath TCP, Go's default for listeners, is
// off: its sockets are slower, and a handshake that offers it is not the one to measure.
func Listen(ctx context.Context, address string) (*net.TCPListener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for probes on %q: %w", address, err)
	}
	return l.(*net.TCPListener), nil // what "tcp" gives
}

// Admit replaces the sessions that may be opened. Sessions that are open stay so, and what was
// seen of a session is remembered until its deadline, although it is not listed any more.
func (r *Reflector) Admit(sessions []wire.Session) {
	if skipped := r.door.replace(sessions, r.now()); len(skipped) > 0 {
		r.log.Error("not admitting sessions of this assignment file", "sessions", len(skipped), "error", errors.Join(skipped[:min(len(skipped), 5)]...))
	}
}

// Serve accepts connections until ctx ends, then closes all of them and waits for their
// goroutines. It closes the listener. An error means that the listener broke.
func (r *Reflector) Serve(ctx context.Context, listener *net.TCPListener) error {
	ctx, cancel := context.WithCancel(ctx)
	var connections sync.WaitGroup
	defer connections.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	delay := time.Duration(0)
	for {
		conn, err := listener.AcceptTCP()
		switch {
		case err == nil:
			delay = 0
			r.accept(ctx, conn, &connections)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accepting probes: %w", err)
		default:
			// No descriptor was left, or the peer was gone already. Waiting frees descriptors;
			// giving up would make the prober a target that is down.
			delay = min(max(2*delay, time.Millisecond), time.Second)
			r.log.Warn("accepting probes failed", "error", err, "retry_after", delay)
			select {
			case <-time.After(delay):
			case <-ctx.Done():
			}
		}
	}
}

// accept gives the connection a goroutine, or closes it when a limit is reached.
func (r *Reflector) accept(ctx context.Context, conn *net.TCPConn, connections *sync.WaitGroup) {
	source := sourceOf(conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr())
	select {
	case r.slots <- struct{}{}:
	default:
		r.refuse(conn, source, ReasonConnectionLimit)
		return
	}
	mine, taken, reason := r.pending.enter(conn, source)
	if reason != "" {
		<-r.slots
		r.refuse(conn, source, reason)
		return
	}
	if taken != nil {
		_ = taken.Close() // its own goroutine sees that, and counts it
	}
	connections.Go(func() {
		defer func() { <-r.slots }()
		defer conn.Close() // the answer to everything is to close
		// Closed, and not given a deadline in the past: a deadline set later, by whoever did not
		// know of it, would undo that.
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		grant, reason := r.greet(conn, mine)
		switch {
		case reason != "":
			r.refuse(conn, source, reason)
		case grant != nil:
			serve := r.reflect
			if grant.session.Kind.IsBulk() {
				serve = r.reflectBulk
			} else {
				r.admitted(&grant.session, conn.RemoteAddr().(*net.TCPAddr).AddrPort())
			}
			if err := serve(ctx, conn, grant); err != nil {
				r.log.Debug("a session ended early", "source", grant.session.Source, "probe", grant.session.Probe, "error", err)
			}
			r.door.leave(grant)
		}
	})
}

func (r *Reflector) refuse(conn *net.TCPConn, source netip.Prefix, reason Reason) {
	_ = conn.Close()
	r.observer.SessionRefused(reason)
	r.log.Debug("refused a connection", "from", source, "reason", reason)
}

// greet reads the first message and decides. Neither a grant nor a reason means that there was
// nothing to decide (see hear).
func (r *Reflector) greet(conn *net.TCPConn, mine *place) (*grant, Reason) {
	hello, reason := r.hear(conn)
	if !r.pending.leave(mine) {
		return nil, ReasonPendingLimit // which also closed the connection
	}
	if hello == nil {
		return nil, reason
	}
	return r.door.enter(*hello, r.now())
}

// hear reads the first message. Neither a message nor a reason means that the peer came to
// measure connect, and went, or that the reflector is being stopped.
func (r *Reflector) hear(conn *net.TCPConn) (*[wire.ClientHelloBytes]byte, Reason) {
	if conn.SetReadDeadline(time.Now().Add(r.limits.Hello)) != nil {
		return nil, "" // it is gone
	}
	var hello [wire.ClientHelloBytes]byte
	n, err := io.ReadFull(conn, hello[:])
	switch {
	case err == nil:
		return &hello, ""
	case errors.Is(err, net.ErrClosed): // by us
		return nil, ""
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ReasonHelloTimeout
	case n > 0:
		return nil, ReasonShortHello
	}
	return nil, ""
}
