package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// readBuffer is how many octets of replies may wait to be received, while this program's machine is
// busy with others: what finds no room would look like the network's loss.
const readBuffer = 4 << 20

// stampLink is a udp run's socket, with what one end of a session needs. One goroutine may
// send and one receive. conn's descriptor is not d's any more where the run is made alone.
type stampLink struct {
	conn    *net.UDPConn
	d       *socket.Datagrams
	mode    stamp.Mode
	session wire.SessionID
	ssid    uint16

	signer, verifier *stamp.Authenticator // the sender's and the receiver's; nil without a key
	control          [stamp.ControlBytes]byte
	asked            [256]atomic.Uint64 // the time stamp of each control packet that was sent; 0: none
	in               []byte
	packet           socket.Packet
	notice           socket.Notice
}

// dialStamp opens the socket. Nothing is sent.
func dialStamp(ctx context.Context, req Request, address netip.AddrPort) (*stampLink, error) {
	c, err := new(net.Dialer).DialContext(ctx, "udp", address.String())
	if err != nil {
		return nil, err // the dialer's text names everything
	}
	l := &stampLink{conn: c.(*net.UDPConn), session: req.Session, ssid: req.Session.SSID(), in: make([]byte, 2048)}
	l.d, err = socket.NewDatagrams(l.conn, socket.Options{Arrivals: true, Departures: true, Errors: true, SendTTL: stamp.TTL})
	if err == nil {
		_ = l.conn.SetReadBuffer(readBuffer) // the system may grant less: then it is as it was
		err = l.conn.SetWriteDeadline(req.Deadline)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("preparing the socket towards %q: %w", address, err), l.conn.Close())
	}
	if !req.Key.IsZero() {
		l.mode = stamp.Authenticated
		l.signer, l.verifier = stamp.NewAuthenticator(req.Key[:]), stamp.NewAuthenticator(req.Key[:])
	}
	return l, nil
}

// ask sends a control packet.
func (l *stampLink) ask(sequence uint32) error {
	t1 := stamp.NTP(time.Now().UnixNano())
	l.asked[byte(sequence)].Store(uint64(t1))
	l.signer.PutControl(l.control[:], stamp.Request{Sequence: sequence, T1: t1, Estimate: stamp.UnknownError, SSID: l.ssid}, l.session)
	_, err := l.d.Send(l.control[:])
	return err
}

// report reads a control packet's reply, with its base packet. isControl says
// that it has the form of one, verified that the target proved with it that it holds the key.
func (l *stampLink) report(b []byte) (c stamp.Control, r stamp.Reply, isControl, verified bool) {
	c, ok := stamp.ParseControl(b)
	if !ok {
		return c, r, false, false
	}
	r, _ = stamp.ParseReply(b, stamp.Authenticated) // a control packet holds one
	asked := stamp.Timestamp(l.asked[byte(r.SenderSequence)].Load())
	q := stamp.Request{Sequence: r.SenderSequence, T1: asked, Estimate: stamp.UnknownError, SSID: l.ssid}
	verified = l.verifier.VerifyControl(b) && c.Recognized && c.Session == l.session && asked != 0 &&
		r.SenderSequence >= stamp.ControlFrom && r.Answers(q)
	return c, r, true, verified
}

// open opens the session: the target has proved the key when it returns no error, and nothing but
// control packets was sent. A target that does not answer may not know of the session yet (see
// admitted), or be about to start; so neither silence nor an ICMP error ends the asking before
// its time. An error that an ICMP error was last tells of it.
func (p *Prober) open(ctx context.Context, l *stampLink, req Request) error {
	until := time.Now().Add(p.setup)
	if req.LatestStart.After(until) {
		until = req.LatestStart
	}
	defer context.AfterFunc(ctx, func() { _ = l.conn.SetReadDeadline(time.Unix(1, 0)) })()
	pause := p.again / 5
	var said error // by ICMP, and not followed by silence
	unproved := false
	for attempt := uint32(0); ; attempt++ {
		if err := l.ask(stamp.ControlFrom + attempt%(stamp.ClosingFrom-stamp.ControlFrom)); err != nil && failureOf(err) == wire.FailureLocal {
			return fmt.Errorf("opening a session at %q: %w", l.conn.RemoteAddr(), err)
		} else if err != nil {
			said = err
		}
		// Not in step with the other sources of the sweep; see admitted.
		wait := min(pause*3/4+rand.N(pause/2), time.Until(until))
		opened, heard, err := l.hear(ctx, time.Now().Add(wait))
		unproved = unproved || heard
		switch {
		case opened:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%w: opening a session at %q: %w", errStopped, l.conn.RemoteAddr(), ctx.Err())
		case err != nil:
			said = err
		case wait >= pause/2:
			said = nil
		}
		if time.Until(until) <= 0 {
			return l.notOpened(unproved, said)
		}
		pause = min(2*pause, 2*p.again)
	}
}

func (l *stampLink) notOpened(unproved bool, said error) error {
	switch {
	case unproved:
		return fmt.Errorf("opening a session at %q: %w: what answered does not hold it", l.conn.RemoteAddr(), errUnauthorized)
	case said != nil:
		return fmt.Errorf("opening a session at %q: %w", l.conn.RemoteAddr(), said)
	}
	return fmt.Errorf("opening a session at %q: no answer, as a target gives none to a session or key that it does not know, and a firewall to nobody: %w",
		l.conn.RemoteAddr(), context.DeadlineExceeded)
}

// hear waits for the reply to an opening. unproved says that something else came; err is an ICMP error
// that came.
func (l *stampLink) hear(ctx context.Context, until time.Time) (opened, unproved bool, err error) {
	for time.Now().Before(until) {
		_ = l.conn.SetReadDeadline(until)
		if ctx.Err() != nil { // after setting: its end may have set another, before
			return false, unproved, err
		}
		noticed, failed := l.d.Receive(l.in, &l.packet, &l.notice)
		switch {
		case errors.Is(failed, errDeadline):
			return false, unproved, err
		case failed != nil: // where ICMP errors are told so; perhaps again and again
			err = failed
			pauseFor(ctx, time.Millisecond)
		case noticed && l.notice.Error != nil:
			err = l.notice.Error
		case !noticed:
			if _, _, _, ok := l.report(l.in[:l.packet.Bytes]); ok {
				return true, false, nil
			}
			unproved = true
		}
	}
	return false, unproved, err
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
