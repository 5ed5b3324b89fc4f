package probe

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// outflow is a stream run while it is made.
type outflow struct {
	req   Request
	link  *bulkLink
	conn  *net.TCPConn
	begin time.Time // when the first message is due; with a monotonic reading

	queued atomic.Int64  // messages that were due, in whole batches
	more   chan struct{} // says that queued has grown
	sent   atomic.Int64  // messages that the connection took

	// Of the goroutine that queues: when the first batch joined, how many messages that were, and when
	// the last one did.
	first, last time.Time
	lump        int
	// Of the goroutine that writes: messages by wire.StreamInterval.
	counts  []int64
	reached bool // the budget does not hold another message
	// Of the goroutine that watches.
	taken int

	mu  sync.Mutex
	err error // the first
}

func newOutflow(req Request, link *bulkLink, conn *net.TCPConn) *outflow {
	intervals := int64(req.Spec.Span()+drainGrace)/int64(wire.StreamInterval) + 1
	return &outflow{
		req: req, link: link, conn: conn, more: make(chan struct{}, 1),
		counts: make([]int64, min(intervals, wire.MaxFlowIntervals)),
	}
}

// queueAll lets each batch join the queue when its last message is due. It goes by the schedule alone,
// and allocates nothing for a message.
func (s *outflow) queueAll(ctx context.Context) {
	b := s.req.Spec.Bulk
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for n := 0; n < b.Messages; {
		next := min(n+b.Batch, b.Messages)
		due := s.begin.Add(wire.MessageDue(next-1, b.MessageRate))
		if !approach(ctx, timer, due) {
			return
		}
		waitCoarse(due)
		now := socket.Now()
		if all := wire.MessagesDue(now.Sub(s.begin), b.MessageRate, b.Messages); all > next { // it woke up late
			next = all
			if all < b.Messages {
				next = max(all-all%b.Batch, n+b.Batch)
			}
		}
		if n == 0 {
			s.first, s.lump = now, next
		}
		s.last, n = now, next
		s.queued.Store(int64(n))
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
}

// writeAll writes what has joined the queue, a batch at a time, until all is written, or nothing more
// joins it. It allocates nothing for a message.
func (s *outflow) writeAll(ctx context.Context, queued <-chan struct{}) {
	b := s.req.Spec.Bulk
	w := newMessageWriter(s.conn, s.req.Spec)
	for n := 0; n < b.Messages; {
		for int64(n) == s.queued.Load() {
			select {
			case <-s.more:
			case <-queued:
				if int64(n) == s.queued.Load() {
					return // it was stopped
				}
			case <-ctx.Done():
				return
			}
		}
		batch := min(b.Batch, int(s.queued.Load())-n)
		granted := s.grant(batch)
		for left := granted; left > 0; {
			wrote, err := w.write(n, left)
			n, left = n+wrote, left-wrote
			s.sent.Store(int64(n))
			interval := max(socket.Now().Sub(s.begin), 0) / wire.StreamInterval
			s.counts[min(int(interval), len(s.counts)-1)] += int64(wrote)
			if err != nil {
				if ctx.Err() == nil {
					s.fail(fmt.Errorf("writing message %d: %w", n, err))
				}
				return
			}
		}
		if granted < batch {
			s.reached = true
			return
		}
	}
}

// grant takes whole messages from the budget, as many as it holds of n.
func (s *outflow) grant(n int) int {
	size := int64(s.req.Spec.RequestBytes)
	if s.link.budget.TakeWhole(size * int64(n)) {
		return n
	}
	granted := 0
	for granted < n && s.link.budget.TakeWhole(size) {
		granted++
	}
	return granted
}

func (s *outflow) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *outflow) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// messageWriter makes messages as it writes them.
type messageWriter struct {
	conn net.Conn
	size int // of a message
	rate int
	out  []byte
}

// mostWritten bounds what is written at a time: a batch that is larger goes in several writes.
const mostWritten = 256 << 10

func newMessageWriter(conn net.Conn, spec wire.Spec) *messageWriter {
	size := spec.RequestBytes
	return &messageWriter{
		conn: conn, size: size, rate: spec.Bulk.MessageRate,
		out: make([]byte, size*min(spec.Bulk.Batch, max(mostWritten/size, 1))),
	}
}

// write writes up to n messages, from number first on, in one write, and returns how many it wrote whole.
func (w *messageWriter) write(first, n int) (int, error) {
	n = min(n, len(w.out)/w.size)
	for i := range n {
		wire.PutMessage(w.out[i*w.size:], uint64(first+i), wire.MessageDue(first+i, w.rate))
	}
	wrote, err := w.conn.Write(w.out[:n*w.size])
	return wrote / w.size, err
}
