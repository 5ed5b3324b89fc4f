package reflect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"isochrone/prober/wire"
)

// bulkMargin is how much longer than its spec says a bulk session may take: for opening its
// connections, and for telling how it ended.
const bulkMargin = 15 * time.Second

// endingGrace is how long a session waits for another's end before it is told that there is one.
const endingGrace = 250 * time.Millisecond

// bulkServer is this end of one bulk session: there is one a kind. Its methods run at the same time,
// one call a connection, and end when ctx does, which also closes the connections. Whatever they
// return, the connection is closed then.
type bulkServer interface {
	// control serves the session's first connection. When it returns, the session is over.
	control(ctx context.Context, c *bulkConn) error
	// payload serves any other. Its role and index are ones that the session's spec has.
	payload(ctx context.Context, c *bulkConn) error
}

// newBulkServer makes this end of a session, before any of its connections is served. nil: the kind is
// not served.
func newBulkServer(s *bulkSession) bulkServer {
	switch s.spec.Kind {
	case wire.KindThroughput:
		return newThroughput(s)
	case wire.KindLoad:
		return newLoad(s)
	case wire.KindSaturate:
		return newSaturate(s)
	case wire.KindStream:
		return newStream(s)
	}
	return nil
}

// bulkConn is an accepted connection of a bulk session. Nagle's algorithm is off, and its deadline is the
// session's.
type bulkConn struct {
	*net.TCPConn
	opening wire.Opening
	session *bulkSession
}

func (c *bulkConn) send(v any) error    { return wire.WriteFrame(c.TCPConn, v) }
func (c *bulkConn) receive(v any) error { return wire.ReadFrame(c.TCPConn, v) }

// bulkSession is a session that loads the network, from the acceptance of its control connection to
// the end of it.
type bulkSession struct {
	spec     wire.Spec
	budget   *wire.Budget // of this end
	deadline time.Time
	server   bulkServer
	ctx      context.Context // ends with the session

	mu          sync.Mutex
	over        bool
	taken       map[seat]bool
	connections sync.WaitGroup // but the control connection
}

// seat is a connection's place in its session.
type seat struct {
	role  wire.Role
	index int
}

// sit takes the opening's place, unless the session is over or the place is taken.
func (s *bulkSession) sit(o wire.Opening) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := seat{o.Role, o.Index}
	if s.over || s.taken[at] {
		return false
	}
	s.taken[at] = true
	s.connections.Add(1)
	return true
}

// rise gives the place back: a source that gave up a connection may open another in its stead.
func (s *bulkSession) rise(o wire.Opening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, seat{o.Role, o.Index})
	s.connections.Done()
}

// count is how many connections of the role there are.
func (s *bulkSession) count(role wire.Role) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := range s.taken {
		if at.role == role {
			n++
		}
	}
	return n
}

// end lets nobody in any more.
func (s *bulkSession) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// reflectBulk serves a connection that was admitted to a session of a bulk kind.
func (r *Reflector) reflectBulk(ctx context.Context, conn *net.TCPConn, g *grant) error {
	// One short time for all that comes before payload; then the session's.
	if err := errors.Join(conn.SetDeadline(time.Now().Add(r.limits.Hello)), conn.SetNoDelay(true)); err != nil {
		return fmt.Errorf("preparing the connection: %w", err)
	}
	hello := wire.ReflectorHello(g.session.Key, g.session.Kind, g.session.ID, g.client, wire.NewNonce())
	if _, err := conn.Write(hello[:]); err != nil {
		return fmt.Errorf("answering the first message: %w", err)
	}
	c := &bulkConn{TCPConn: conn}
	if err := wire.ReadOpening(conn, &c.opening); err != nil {
		if errors.Is(err, wire.ErrFrame) { // it may be from a newer program, and has proved the key
			err = errors.Join(err, c.send(wire.Accepted{Failure: wire.FailureUnsupported, Detail: wire.CutDetail(err.Error())}))
		}
		return fmt.Errorf("reading the opening: %w", err)
	}
	if c.opening.Role == wire.RoleControl {
		return r.serveControl(ctx, c, g)
	}
	return r.servePayload(c, g)
}

func (r *Reflector) serveControl(ctx context.Context, c *bulkConn, g *grant) error {
	ctx, cancel := context.WithDeadline(ctx, bulkDeadline(c.opening.Spec, g))
	defer cancel()
	session, refusal := r.bulk.open(ctx, c.opening, g)
	// One that is about to end is waited for: its source knows of its end before this program does.
	for wait := time.Now().Add(endingGrace); refusal != nil && refusal.reason == ReasonBulkBusy && time.Now().Before(wait) && ctx.Err() == nil; {
		time.Sleep(endingGrace / 50)
		session, refusal = r.bulk.open(ctx, c.opening, g)
	}
	if refusal != nil {
		r.observer.SessionRefused(refusal.reason)
		return c.send(refusal.told)
	}
	// In this order: who waits for the slot finds no connection of this session alive.
	defer r.bulk.close(g)
	defer session.connections.Wait()
	defer cancel()
	defer session.end()
	r.admitted(&g.session, c.RemoteAddr().(*net.TCPAddr).AddrPort())
	if err := c.begin(session); err != nil {
		return err
	}
	return session.server.control(ctx, c)
}

func (r *Reflector) servePayload(c *bulkConn, g *grant) error {
	session, refusal := r.bulk.join(c.opening, g)
	if refusal != nil {
		r.observer.SessionRefused(refusal.reason)
		return c.send(refusal.told)
	}
	defer session.rise(c.opening)
	defer context.AfterFunc(session.ctx, func() { _ = c.Close() })()
	if err := c.begin(session); err != nil {
		return err
	}
	return session.server.payload(session.ctx, c)
}

// begin tells the peer that the connection is accepted.
func (c *bulkConn) begin(s *bulkSession) error {
	c.session = s
	if err := errors.Join(c.send(wire.Accepted{}), c.SetDeadline(s.deadline)); err != nil {
		return fmt.Errorf("accepting a connection: %w", err)
	}
	return nil
}

// bulkDeadline is when a session ends whatever its peer does: no half-open one keeps others waiting for
// longer than its spec says.
func bulkDeadline(spec wire.Spec, g *grant) time.Time {
	if end := time.Now().Add(spec.Span() + bulkMargin); end.Before(g.deadline) {
		return end
	}
	return g.deadline
}
