package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
)

// Progress is how far a run of a bulk kind has come.
type Progress struct {
	Elapsed, Of        time.Duration // Of 0: its end is not known before
	UpBytes, DownBytes int64         // payload that was received there, and here, since the beginning
	Requests           int           // answered
	// Outstanding is the requests that a saturate run has under way, Backlog a stream's messages that
	// were due and not taken.
	Outstanding, Backlog int
}

// maxDialing is how many connections of a session are opened at a time: a reflector bears so many
// of one source that have not shown a key yet.
const maxDialing = 32

// bulkLink is this end of a bulk session: its control connection, which is proved and accepted, and
// those that connect opened. All of them end with the ctx that it was opened with: reads and writes
// then fail with errDeadline.
type bulkLink struct {
	p       *Prober
	req     Request
	address netip.AddrPort
	control *net.TCPConn
	// rtt is the round trip of the control connection's handshake.
	rtt    time.Duration
	budget *wire.Budget // of this end

	mu     sync.Mutex
	conns  []*net.TCPConn // the control connection first
	cut    bool           // ctx has ended
	unhook func() bool
}

// refused is what a target that proved the key said instead of accepting.
type refused struct{ said wire.Accepted }

func (r *refused) Error() string {
	return fmt.Sprintf("the target refused (%s): %s", r.said.Failure, r.said.Detail)
}

// openBulk opens a bulk session. A target that is busy is asked again, as one is that does not know
// the session yet (see admitted): for the last time when the run may only just begin.
func (p *Prober) openBulk(ctx context.Context, req Request, address netip.AddrPort) (*bulkLink, error) {
	l := &bulkLink{p: p, req: req, address: address, budget: wire.NewBudget(req.Spec.Bulk.MaxBytes)}
	for pause := p.again; ; pause = min(2*pause, 8*p.again) {
		began := time.Now()
		conn, err := l.open(ctx, req.LatestStart, wire.RoleControl, 0)
		if err == nil {
			l.control = conn
			if rtt, ok := handshakeTime(conn); ok {
				l.rtt = rtt
			} else {
				l.rtt = time.Since(began) / 3 // its own, the hellos' and the opening's
			}
			l.unhook = context.AfterFunc(ctx, l.interrupt)
			return l, nil
		}
		var no *refused
		left := time.Until(req.LatestStart)
		if !errors.As(err, &no) || no.said.Failure != wire.FailureTargetBusy || left <= 0 {
			return nil, err
		}
		select {
		case <-time.After(min(pause/2+rand.N(pause), left)):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w, waiting to ask again: %w", errStopped, err)
		}
	}
}

// connect opens another connection of the session. Any number of goroutines may call it.
func (l *bulkLink) connect(ctx context.Context, role wire.Role, index int) (*net.TCPConn, error) {
	return l.open(ctx, time.Time{}, role, index)
}

// connectAll opens n connections of the role, by index.
func (l *bulkLink) connectAll(ctx context.Context, role wire.Role, n int) ([]*net.TCPConn, error) {
	conns := make([]*net.TCPConn, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxDialing)
	for i := range n {
		group.Go(func() (err error) {
			conns[i], err = l.connect(ctx, role, i)
			return err
		})
	}
	return conns, group.Wait() // close closes them all
}

// open makes an accepted connection. One of a session that the target does not know yet is asked
// for again until latest.
func (l *bulkLink) open(ctx context.Context, latest time.Time, role wire.Role, index int) (*net.TCPConn, error) {
	req := l.req
	req.LatestStart = latest
	conn, err := l.p.admitted(ctx, req, l.address)
	if err != nil {
		return nil, err
	}
	if err := l.introduce(ctx, conn, wire.Opening{Role: role, Index: index, Spec: req.Spec}); err != nil {
		if ctx.Err() != nil && errors.Is(err, errDeadline) {
			err = fmt.Errorf("%w: %w", errStopped, err)
		}
		return nil, errors.Join(fmt.Errorf("opening a session at %q: %w", l.address, err), conn.Close())
	}
	return conn, nil
}

// introduce says what the connection is for, and hears whether it is accepted.
func (l *bulkLink) introduce(ctx context.Context, conn *net.TCPConn, o wire.Opening) error {
	if err := conn.SetDeadline(time.Now().Add(l.p.setup)); err != nil {
		return err
	}
	stopped := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stopped()
	if err := wire.WriteFrame(conn, o); err != nil {
		return err
	}
	var answer wire.Accepted
	switch err := wire.ReadFrame(conn, &answer); {
	case errors.Is(err, wire.ErrFrame):
		return fmt.Errorf("%w: %w", errProtocol, err)
	case err != nil:
		return err
	case answer.Failure.Validate() != nil:
		return fmt.Errorf("%w: it refused with a failure that is none", errProtocol)
	case answer.Failure != "":
		answer.Detail = wire.CutDetail(answer.Detail)
		return &refused{answer}
	case !stopped():
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, conn)
	if l.cut {
		return conn.SetDeadline(time.Unix(1, 0))
	}
	return conn.SetDeadline(l.last())
}

// interrupt ends all that reads or writes.
func (l *bulkLink) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for _, c := range l.conns {
		_ = c.SetDeadline(time.Unix(1, 0))
	}
}

// last is when reads and writes end at the latest. A run's deadline ends its ctx first, so that
// whoever reads or writes can tell one from a peer that is silent.
func (l *bulkLink) last() time.Time { return l.req.Deadline.Add(time.Second) }

// rearm gives the control connection the run's deadline again.
func (l *bulkLink) rearm() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return errStopped
	}
	return l.control.SetDeadline(l.last())
}

// send writes a frame to the control connection. One goroutine may send and one receive at a time.
func (l *bulkLink) send(v any) error { return wire.WriteFrame(l.control, v) }

// receive reads the next frame from the control connection.
func (l *bulkLink) receive(v any) error {
	err := wire.ReadFrame(l.control, v)
	if errors.Is(err, wire.ErrFrame) {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	return err
}

// close ends the session. What was written to its connections and has not left is dropped, but for
// the control connection's: it would go on loading the network when others measure.
func (l *bulkLink) close() {
	l.unhook()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		if c != l.control {
			_ = c.SetLinger(0)
		}
		_ = c.Close() // nothing is left to be said on it
	}
}
