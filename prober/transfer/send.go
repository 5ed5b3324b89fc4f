package transfer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"

	"isochrone/prober/wire"
)

// ErrBudget ends what has used its byte budget up.
var ErrBudget = errors.New("the byte budget is used up")

// Sender sends payload over one connection. Its loop allocates nothing.
type Sender struct {
	conn   *net.TCPConn
	budget *wire.Budget
	rate   *Rate
	chunk  int
	from   []byte

	sent    atomic.Int64
	stopped atomic.Bool
}

// NewSender makes a sender that writes chunk bytes at a time, at most wire.MaxMessageBytes, from the
// budget and at the rate that it shares with others. A nil rate is none.
func NewSender(conn *net.TCPConn, chunk int, budget *wire.Budget, rate *Rate) *Sender {
	if rate != nil {
		chunk = min(chunk, rate.chunk)
		rate.smooth(conn)
	}
	return &Sender{conn: conn, budget: budget, rate: rate, chunk: chunk, from: payload()}
}

// Run sends until Stop is called (nil), the budget is used up (ErrBudget) or the connection fails.
func (s *Sender) Run() error {
	for !s.stopped.Load() {
		n := int(s.budget.Take(int64(s.chunk)))
		if n == 0 {
			return ErrBudget
		}
		if s.rate != nil {
			s.rate.wait(n)
		}
		wrote, err := s.conn.Write(s.from[:n])
		s.sent.Add(int64(wrote))
		if err != nil {
			s.budget.Return(int64(n - wrote))
			if s.stopped.Load() {
				return nil
			}
			return fmt.Errorf("sending payload: %w", err)
		}
	}
	return nil
}

// Stop ends Run, and drops what the kernel holds and has not sent when the connection is closed.
func (s *Sender) Stop() {
	s.stopped.Store(true)
	_ = s.conn.SetLinger(0)
	_ = s.conn.SetWriteDeadline(past)
}

// Sent is how many bytes the kernel has taken.
func (s *Sender) Sent() int64 { return s.sent.Load() }

// Conn is the sender's connection.
func (s *Sender) Conn() *net.TCPConn { return s.conn }

// payload is random, so that nothing on the way can make it smaller. It is written as any program
// writes: sendfile(2) from memory was no faster where the other end throws away what comes, and
// slower under bbr.
var payload = sync.OnceValue(func() []byte {
	b := make([]byte, wire.MaxMessageBytes)
	_, _ = rand.NewChaCha8([32]byte{'i', 's', 'o'}).Read(b) // never fails
	return b
})
