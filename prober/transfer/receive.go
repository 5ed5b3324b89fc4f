package transfer

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"isochrone/prober/wire"
)

// past is a deadline that ends what reads or writes.
var past = time.Unix(1, 0)

// receiveChunk is the most that is taken from the kernel at a time.
const receiveChunk = 1 << 20

// Receiver takes payload from one connection and counts it. Its loop allocates nothing.
type Receiver struct {
	conn   *net.TCPConn
	budget *wire.Budget
	in     discarder
	total  atomic.Int64
}

// discarder takes up to n octets, at most receiveChunk, from the kernel and forgets them.
type discarder interface{ discard(n int) (int, error) }

// NewReceiver makes a receiver that meters what it takes.
func NewReceiver(conn *net.TCPConn, budget *wire.Budget) (*Receiver, error) {
	in, err := discarderOf(conn)
	if err != nil {
		return nil, fmt.Errorf("preparing to receive: %w", err)
	}
	return &Receiver{conn: conn, budget: budget, in: in}, nil
}

// Run receives until the peer ends its stream (io.EOF), the budget is used up (ErrBudget) or the
// connection fails. What the budget has no room for is not counted.
func (r *Receiver) Run() error {
	for {
		left := r.budget.Left()
		if left <= 0 {
			return ErrBudget
		}
		n, err := r.in.discard(int(min(left, receiveChunk)))
		if n > 0 {
			r.total.Add(r.budget.Take(int64(n)))
		}
		switch {
		case errors.Is(err, io.EOF):
			return io.EOF
		case err != nil:
			return fmt.Errorf("receiving payload: %w", err)
		}
	}
}

// Total is how many bytes were received.
func (r *Receiver) Total() int64 { return r.total.Load() }

// Conn is the receiver's connection.
func (r *Receiver) Conn() *net.TCPConn { return r.conn }
