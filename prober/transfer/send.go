package transfer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

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

	sent   atomic.Int64
	halted chan struct{} // closed by Stop
	halt   sync.Once
	timer  *time.Timer // until the rate allows the next piece
}

// NewSender makes a sender that writes chunk bytes at a time, at most wire.MaxMessageBytes, from the
// budget and at the rate that it shares with others. A nil rate is none.
func NewSender(conn *net.TCPConn, chunk int, budget *wire.Budget, rate *Rate) *Sender {
	if rate != nil {
		chunk = min(chunk, rate.chunk)
		rate.smooth(conn)
	}
	return &Sender{
		conn: conn, budget: budget, rate: rate, chunk: chunk, from: payload(),
		halted: make(chan struct{}), timer: time.NewTimer(time.Hour),
	}
}

// Run sends until Stop is called (nil), the budget is used up (ErrBudget) or the connection fails.
func (s *Sender) Run() error {
	defer s.timer.Stop()
	for !s.stopped() {
		n := int(s.budget.Take(int64(s.chunk)))
		if n == 0 {
			return ErrBudget
		}
		if s.rate != nil && !s.await(s.rate.reserve(n)) {
			s.budget.Return(int64(n))
			return nil
		}
		wrote, err := s.conn.Write(s.from[:n])
		s.sent.Add(int64(wrote))
		if err != nil {
			s.budget.Return(int64(n - wrote))
			if s.stopped() {
				return nil
			}
			return fmt.Errorf("sending payload: %w", err)
		}
	}
	return nil
}

// await waits until then. It returns false when Stop is called before: at a low rate that can be hours.
func (s *Sender) await(at time.Time) bool {
	s.timer.Reset(time.Until(at))
	select {
	case <-s.timer.C:
		return true
	case <-s.halted:
		return false
	}
}

func (s *Sender) stopped() bool {
	select {
	case <-s.halted:
		return true
	default:
		return false
	}
}

// Stop ends Run, and drops what the kernel holds and has not sent when the connection is closed.
func (s *Sender) Stop() {
	s.halt.Do(func() { close(s.halted) })
	_ = s.conn.SetLinger(0)
	_ = s.conn.SetWriteDeadline(past)
}

// Sent is how many bytes the kernel has taken.
func (s *Sender) Sent() int64 { return s.sent.Load() }

// Left is how many of them the kernel has sent, where it says so, or else all; exact once Run has ended. It
// takes more than a slow path carries, and after Stop it may drop the rest.
func (s *Sender) Left() int64 { return max(s.Sent()-unsent(s.conn), 0) }

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
