package reflect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// ListenUDP opens the UDP socket that ServeUDP takes.
func ListenUDP(ctx context.Context, address string) (*net.UDPConn, error) {
	c, err := new(net.ListenConfig).ListenPacket(ctx, "udp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for udp probes on %q: %w", address, err)
	}
	return c.(*net.UDPConn), nil // what "udp" gives
}

// readBuffer is how many octets may wait to be received.
const readBuffer = 4 << 20

// maxPacket holds whatever a datagram can. On Windows one that does not fit its buffer is an error,
// which nobody is to cause at will.
const maxPacket = 1 << 16

// ServeUDP answers the STAMP packets (RFC 8762, authenticated mode) of udp sessions that the door
// admits, until ctx ends. It closes the socket. An error means that the socket broke.
//
// On Linux the calling goroutine's thread waits in the kernel, and a reply tells when the one before
// it left (see departures).
//
// Nothing that it sends is larger than what it answers. Whatever it does not answer is counted by
// its reason, and not logged: anybody can send it, as fast as they like.
func (r *Reflector) ServeUDP(ctx context.Context, conn *net.UDPConn) error {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close() // nothing is left to be sent
	d, err := socket.NewDatagrams(conn, stampOptions)
	if err != nil {
		return fmt.Errorf("serving udp probes: %w", err)
	}
	// Samples wait here behind a flood. The system may grant less, or nothing: then it is as it was.
	_ = conn.SetReadBuffer(readBuffer)
	s := newStampServer(r, conn.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	if served, err := s.alone(ctx, conn, d); served {
		return err
	}
	return s.serve(ctx, d)
}

// stampOptions are what the socket is to do.
var stampOptions = socket.Options{Arrivals: true, TTL: true, Local: true, SendTTL: stamp.TTL}

// carrier is the socket, as far as answering goes.
type carrier interface {
	Receive(b []byte, p *socket.Packet, n *socket.Notice) (noticed bool, err error)
	Notice(b []byte, n *socket.Notice) error
	Reply(b []byte, from netip.Addr) (number uint32, err error)
}

// serve answers what comes, until ctx ends.
func (s *stampServer) serve(ctx context.Context, d carrier) error {
	in := make([]byte, maxPacket)
	var p socket.Packet
	var n socket.Notice
	delay := time.Duration(0)
	for ctx.Err() == nil {
		noticed, err := d.Receive(in, &p, &n)
		switch {
		case noticed:
			s.departures.left(&n)
		case err == nil:
			delay = 0
			if reply := s.handle(in[:p.Bytes], &p); reply != nil {
				s.send(ctx, d, reply, p.Local)
			}
		case ctx.Err() != nil:
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("receiving udp probes: %w", err)
		default:
			delay = min(max(2*delay, time.Millisecond), time.Second)
			s.log.Warn("receiving udp probes failed", "error", err, "retry_after", delay)
			select {
			case <-time.After(delay):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// send sends a reply that handle returned.
func (s *stampServer) send(ctx context.Context, d carrier, reply []byte, from netip.Addr) {
	number, err := d.Reply(reply, from)
	if err != nil {
		s.departures.forget()
		if ctx.Err() == nil {
			s.log.Debug("a reply could not be sent", "error", err)
		}
		return
	}
	s.departures.sent(d, number, s.answering, s.answer)
}

// stampServer is the reflector's end of one UDP socket.
type stampServer struct {
	*Reflector
	port uint16 // its own
	out  []byte

	// Of the reply that handle returned last: its session, nil where it is to a control packet, and its
	// number there.
	answering  *stampSession
	answer     uint32
	understand func(stamp.TLV) stamp.Verdict // made once
	departures departures

	estimate   stamp.ErrorEstimate
	estimateAt time.Duration // when the clock was last asked for its error
}

// estimateAge is how old the clock's bound on its error may be: asking for it takes a system call.
const estimateAge = time.Second

func newStampServer(r *Reflector, port uint16) *stampServer {
	s := &stampServer{Reflector: r, port: port, out: make([]byte, wire.MaxDatagramBytes), estimateAt: -estimateAge}
	s.departures.mu = &r.door.mu
	s.understand = func(t stamp.TLV) stamp.Verdict {
		switch {
		case t.Type != stamp.TypeFollowUp:
			return stamp.Unknown
		case !t.SetFollowUp(s.answering.last):
			return stamp.Unreadable
		}
		return stamp.Understood
	}
	return s
}

// handle decides over one packet, and returns the reply to it, which is as large, or nil. It
// allocates nothing but when it opens a session. The reply is valid until the next call.
func (s *stampServer) handle(b []byte, p *socket.Packet) []byte {
	now := s.now()
	reply, admitted, reason := s.decide(b, p, now)
	if admitted != nil {
		s.admitted(admitted, p.Remote)
	}
	if reason != "" {
		s.observer.SessionRefused(reason)
		return nil
	}
	return reply
}

func (s *stampServer) decide(b []byte, p *socket.Packet, now moment) (reply []byte, admitted *wire.Session, reason Reason) {
	q, ok := stamp.ParseRequest(b, stamp.Authenticated)
	if !ok || p.Cut || len(b) > len(s.out) || !p.Remote.IsValid() {
		return nil, nil, ReasonMalformed
	}
	// Two reflectors that one forged packet sets on each other would never stop.
	if p.Remote.Port() == s.port && p.Remote.Addr() == p.Local {
		return nil, nil, ReasonOwnReply
	}
	received := p.At
	if received == 0 { // the kernel has not stamped it
		received = time.Now().UnixNano()
	}
	a := stamp.ReplyTo(q, uint8(max(p.TTL, 0)))
	a.T2, a.Estimate = stamp.NTP(received), s.clockEstimate(now)
	s.door.mu.Lock()
	defer s.door.mu.Unlock()
	if c, ok := stamp.ParseControl(b); ok && q.Sequence >= stamp.ControlFrom {
		session, admitted, reason := s.door.stampEnter(b, c, q, p, now)
		if reason != "" {
			return nil, admitted, reason
		}
		a.T3 = stamp.NTP(time.Now().UnixNano())
		s.answering = nil
		session.auth.PutControlReply(s.out, a, c.Session, session.report, session.last)
		return s.out[:stamp.ControlBytes], admitted, ""
	}
	session, reason := s.door.stampSample(b, q, p.Remote, now)
	if reason != "" {
		return nil, nil, reason
	}
	if a.Sequence, reason = session.sample(q.Sequence); reason != "" {
		return nil, nil, reason
	}
	s.answering, s.answer = session, a.Sequence
	reply = s.out[:len(b)]
	stamp.PutReply(reply, stamp.Authenticated, a)
	session.auth.Reflect(reply, b, stamp.Authenticated, s.understand)
	session.leaves(a.Sequence)
	// The digest and the way to the device come after it: the next reply tells of those.
	stamp.PutSent(reply, stamp.Authenticated, stamp.NTP(time.Now().UnixNano()))
	session.auth.Sign(reply)
	return reply, nil, ""
}

// stampSample finds the session that a sample belongs to. d.mu is held.
func (d *door) stampSample(b []byte, q stamp.Request, from netip.AddrPort, now moment) (*stampSession, Reason) {
	s := d.peers[peer{from: from, ssid: q.SSID}]
	switch {
	case s == nil:
		return nil, ReasonUnknownSession
	case !s.auth.Verify(b):
		return nil, ReasonWrongKey
	case isReply(b):
		return nil, ReasonOwnReply
	case len(b) != s.bytes:
		return nil, ReasonWrongSize
	case now.uptime >= s.until:
		return nil, ReasonTooLate
	}
	return s, ""
}

// clockEstimate is STAMP's Error Estimate for this machine's clock.
func (s *stampServer) clockEstimate(now moment) stamp.ErrorEstimate {
	if now.uptime-s.estimateAt < estimateAge {
		return s.estimate
	}
	s.estimateAt = now.uptime
	var bound *int64
	if s.clockError != nil {
		bound = s.clockError()
	}
	s.estimate = stamp.EstimateOf(bound)
	return s.estimate
}
