package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"isochrone/prober/wire"
)

// tcp measures request and response over one warm connection with TCP_NODELAY.
//
// In an open loop neither direction waits for the other. In a closed loop a request leaves when the
// one before was answered, or its timeout is over; a reply that comes later than that is still in
// the stream, before the next one's, and is read and counted as late, so it never passes for
// another's.
//
// As long as there are few runs, each has a thread to itself (see lane); beyond that a goroutine
// sends, another receives, and the runtime's poller wakes them.
func (p *Prober) tcp(ctx context.Context, req Request, address netip.AddrPort) wire.Run {
	began := time.Now()
	conn, err := p.admitted(ctx, req, address)
	if err != nil {
		return setupFailed(req, began, err)
	}
	defer conn.Close() // nothing is left to be said on it

	x := newExchange(req, conn, firstDue(time.Now(), req.First, req.Spec.Interval))
	var info *wire.TCPInfo
	var end ending
	alone := p.threads.Take()
	if alone {
		defer p.threads.Give()
		info, end, alone = x.alone(ctx, conn, p.pacer, req.Deadline)
	}
	if !alone {
		info, end = x.shared(ctx, conn, p.pacer, req.Deadline)
	}
	x.conclude(&end, ctx.Err() != nil && int(x.received.Load()) < len(x.rec.samples))
	run := x.rec.run(req, end)
	run.TCPInfo, run.Timestamps = info, wire.TimestampsUser
	return run
}

// shared makes the run on goroutines: one sends by the schedule, another receives.
func (x *exchange) shared(ctx context.Context, conn *net.TCPConn, pacer *Pacer, deadline time.Time) (*wire.TCPInfo, ending) {
	sending, stop := context.WithCancel(ctx)
	defer stop()
	received := make(chan struct{})
	go func() {
		defer close(received)
		defer stop() // no use in sending when nobody can answer
		x.receive()
	}()
	// A write that blocks, because the target does not read, ends when the run does.
	unblock := context.AfterFunc(sending, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer unblock()
	x.sentAll(x.sendAll(sending, pacer))
	drain(ctx, time.Now().Add(x.rec.spec.Timeout), deadline, received)
	info := tcpInfo(conn)
	end := ending{at: time.Now()}
	_ = conn.SetReadDeadline(time.Unix(1, 0))
	<-received
	return info, end
}

// admitted opens the session. A target that refuses it may not know of it yet: source and target
// poll their assignments on their own, and a dispatch that was cut short between the two is
// finished minutes later. So it is asked again, for the last time when the run may only just
// begin. A target that answers, and does not prove the key, is not asked again.
func (p *Prober) admitted(ctx context.Context, req Request, address netip.AddrPort) (*net.TCPConn, error) {
	pause := p.again
	for {
		conn, err := openSession(ctx, p.setup, req, address)
		if err == nil {
			return conn, nil
		}
		// Whoever is stopped in the middle does not know what the target would have said.
		if f := failureOf(err); ctx.Err() != nil && (f == wire.FailureCanceled || f == wire.FailureTimeout) {
			return nil, fmt.Errorf("%w: %w", errStopped, err)
		}
		left := time.Until(req.LatestStart)
		if !errors.Is(err, errRefusedSession) || left <= 0 {
			return nil, err
		}
		// All sources of a sweep begin at the same time. If they also asked again in step, their
		// handshakes would come in bursts, and disturb what the target measures meanwhile.
		select {
		case <-time.After(min(pause/2+rand.N(pause), left)):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w, waiting to ask again: %w", errStopped, err)
		}
		pause = min(2*pause, 8*p.again)
	}
}

// errRefusedSession is a target that closed the connection without a byte, which is how a
// reflector refuses.
var errRefusedSession = fmt.Errorf("%w: it closed the connection", errUnauthorized)

// openSession connects and shakes hands: the target has proved the key, and no payload was
// sent, when it returns a connection.
func openSession(ctx context.Context, within time.Duration, req Request, address netip.AddrPort) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	dialer := net.Dialer{KeepAlive: -1}
	dialer.SetMultipathTCP(false)
	c, err := dialer.DialContext(ctx, "tcp", address.String())
	if failureOf(err) == wire.FailureReset { // the connection stood, and was cut before we could speak
		return nil, fmt.Errorf("%w (%w)", errRefusedSession, err)
	}
	if err != nil {
		return nil, err // the dialer's text names everything
	}
	conn := c.(*net.TCPConn)
	stopped := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = handshake(conn, req)
	if !stopped() && err == nil {
		err = ctx.Err() // the deadline that cut the handshake would cut the run too
	}
	if err == nil {
		err = conn.SetNoDelay(true) // Go's default, said because the probe is defined by it
	}
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, errDeadline) {
			err = ctx.Err()
		}
		return nil, errors.Join(fmt.Errorf("opening a session at %q: %w", address, err), conn.Close())
	}
	return conn, nil
}

func handshake(conn net.Conn, req Request) error {
	nonce := wire.NewNonce()
	hello := wire.ClientHello(req.Key, req.Spec.Kind, req.Session, nonce)
	n := 0
	var answer [wire.ReflectorHelloBytes]byte
	_, err := conn.Write(hello[:])
	if err == nil {
		n, err = io.ReadFull(conn, answer[:])
	}
	switch {
	case err == nil:
	case failureOf(err) != wire.FailureReset:
		return err
	case n == 0: // a reflector at its limits closes before it has read anything
		return fmt.Errorf("%w (%w)", errRefusedSession, err)
	default:
		return fmt.Errorf("%w: it closed the connection within its answer (%w)", errUnauthorized, err)
	}
	if !wire.VerifyReflectorHello(answer, req.Key, req.Spec.Kind, req.Session, nonce) {
		return fmt.Errorf("%w: its answer does not match", errUnauthorized)
	}
	return nil
}

// setupFailed is the result of a run whose connection or handshake did not come about: it has
// begun, and no sample was sent.
func setupFailed(req Request, began time.Time, err error) wire.Run {
	run := NotMade(req, failureOf(err), err.Error())
	start := began.Round(0).UTC()
	end := start.Add(time.Since(began))
	run.Start, run.End = &start, &end
	return run
}
