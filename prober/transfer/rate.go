package transfer

import (
	"net"
	"sync"
	"time"
)

const (
	// rateStep is how much of a rate is sent at a time.
	rateStep = 10 * time.Millisecond
	// rateCredit is how much of what could not be sent in its time may be sent later. It covers timers
	// that are late, not paths that are slow.
	rateCredit = 50 * time.Millisecond
	// rateLeast is the smallest piece: a segment on most paths.
	rateLeast = 1448
)

// Rate caps the payload of any number of senders together.
type Rate struct {
	bytesPerS float64
	streams   int
	chunk     int

	mu   sync.Mutex
	next time.Time // when the next piece may leave
}

// NewRate caps senders on so many streams, together, to bits/s. 0 is no cap, and gives nil.
func NewRate(bps int64, streams int) *Rate {
	if bps <= 0 {
		return nil
	}
	bytesPerS := float64(bps) / 8
	return &Rate{
		bytesPerS: bytesPerS, streams: max(streams, 1),
		chunk: int(min(max(bytesPerS*rateStep.Seconds()/float64(max(streams, 1)), rateLeast), 1<<20)),
	}
}

// reserve says when n bytes may leave.
func (r *Rate) reserve(n int) time.Time {
	now := time.Now()
	r.mu.Lock()
	if oldest := now.Add(-rateCredit); r.next.Before(oldest) {
		if r.next.IsZero() {
			oldest = now
		}
		r.next = oldest
	}
	at := r.next
	r.next = at.Add(time.Duration(float64(n) / r.bytesPerS * float64(time.Second)))
	r.mu.Unlock()
	return at
}

// smooth has the kernel spread each piece, where it can: else it leaves in one burst.
func (r *Rate) smooth(conn *net.TCPConn) {
	const slack = 1.25 // reserve holds the mean
	capPacing(conn, uint64(r.bytesPerS*slack/float64(r.streams)))
}
