package reflect

import (
	"context"
	"errors"
	"net"
	"sync"

	"isochrone/prober/transfer"
	"isochrone/prober/wire"
)

// throughput is the target's end of a throughput session: it counts what the source sends, and sends
// what the source counts.
type throughput struct {
	session *bulkSession
	started chan struct{} // closed when payload may flow
	reached chan struct{} // holds one where the budget of this end is used up
	rate    *transfer.Rate

	mu   sync.Mutex
	up   []*transfer.Receiver
	down []*transfer.Sender
}

func newThroughput(s *bulkSession) *throughput {
	return &throughput{session: s, started: make(chan struct{}), reached: make(chan struct{}, 1)}
}

// payload serves a connection of either direction.
func (t *throughput) payload(ctx context.Context, c *bulkConn) error {
	_ = c.SetLinger(0) // what has not left when the session ends loads the network no more
	serve := t.receive
	if c.opening.Role == wire.RoleDown {
		serve = t.send
	}
	err := serve(ctx, c.TCPConn)
	if errors.Is(err, transfer.ErrBudget) {
		select {
		case t.reached <- struct{}{}:
		default:
		}
		<-ctx.Done() // what the peer has not read yet is still to reach it
		return nil
	}
	return err
}

func (t *throughput) receive(_ context.Context, conn *net.TCPConn) error {
	r, err := transfer.NewReceiver(conn, t.session.budget)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.up = append(t.up, r)
	t.mu.Unlock()
	return r.Run()
}

func (t *throughput) send(ctx context.Context, conn *net.TCPConn) error {
	select {
	case <-t.started:
	case <-ctx.Done():
		return nil
	}
	spec := t.session.spec
	if err := transfer.SetCongestion(conn, spec.Bulk.Congestion); err != nil {
		return err
	}
	s := transfer.NewSender(conn, spec.RequestBytes, t.session.budget, t.rate)
	t.mu.Lock()
	t.down = append(t.down, s)
	t.mu.Unlock()
	defer context.AfterFunc(ctx, s.Stop)() // its connection's end does not wake one that waits for its rate
	err := s.Run()
	if errors.Is(err, transfer.ErrBudget) {
		_ = conn.CloseWrite() // the source reads to the end
	}
	return err
}

// stop stops the senders. What they have handed to the kernel is dropped with their connections.
func (t *throughput) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.down {
		s.Stop()
	}
}

// received is what all streams have brought.
func (t *throughput) received() (total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.up {
		total += r.Total()
	}
	return total
}

// sending is what the kernel says of the senders.
func (t *throughput) sending() *wire.Sending {
	t.mu.Lock()
	conns := make([]*net.TCPConn, len(t.down))
	for i, s := range t.down {
		conns[i] = s.Conn()
	}
	t.mu.Unlock()
	return transfer.Sending(conns)
}
