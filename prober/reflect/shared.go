package reflect

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"isochrone/prober/wire"
)

// A reflector with a shared secret has no app that lists sessions: an id that it does not know may
// have been made by the secret's holder, and is then granted on first sight; an id is good only near the
// time that it names.
//
// With the process goes what it has seen: who recorded an opening can repeat it, once, after a
// restart within sharedSkew. That gains little. Over tcp the replies go to whoever made the
// connection. Over udp, where the samples can be repeated too, they go to the address that the
// repeated opening was sent from, which may be forged: at most maxAnswers to each packet, each of
// its size. To refuse ids that were made before the start, as the app's
// sessions are, would refuse everybody whose clock is slow.
const (
	// sharedSkew is how far the time in a session's id may be from this machine's clock.
	sharedSkew = 10 * time.Minute
	// sharedLifetime is how long a granted session lasts. It has to exceed twice sharedSkew: an
	// id that is forgotten must be too old to be granted again.
	sharedLifetime = time.Hour
	// sharedRequests is the requests that are answered: the most samples and warm-up of a run.
	sharedRequests = 110_000
	// maxShared bounds the sessions that are remembered: a new one every two seconds.
	maxShared = 2_000
)

// Admission is a session that was admitted, for who watches.
type Admission struct {
	Kind wire.Kind
	From netip.AddrPort
	// RequestBytes and ResponseBytes are the messages' sizes; a reply to a packet of kind udp has the
	// request's.
	RequestBytes, ResponseBytes int
}

// admitted counts a session that was admitted, and tells who watches.
func (r *Reflector) admitted(s *wire.Session, from netip.AddrPort) {
	r.observer.SessionAdmitted()
	if r.watch != nil {
		r.watch(Admission{Kind: s.Kind, From: netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), RequestBytes: s.RequestBytes, ResponseBytes: s.ResponseBytes})
	}
}

// find returns the entry of the session that a first message of the kind names, once prove says
// that the holder of the session's key made the message. Nobody else leaves a trace. d.mu is held.
func (d *door) find(id wire.SessionID, kind wire.Kind, now moment, prove func(*wire.Session) bool) (*entry, Reason) {
	e := d.sessions[id]
	switch {
	case e == nil && d.secret != nil:
		return d.grantShared(id, kind, now, prove)
	case e == nil || !e.listed:
		return nil, ReasonUnknownSession
	case !prove(&e.session):
		return nil, ReasonWrongKey
	}
	return e, ""
}

// grantShared makes the entry of a session that the secret's holder made. The key comes before
// everything else: what a stranger sends is counted as such, whatever it says.
func (d *door) grantShared(id wire.SessionID, kind wire.Kind, now moment, prove func(*wire.Session) bool) (*entry, Reason) {
	said, err := wire.ReadSharedSession(id, d.secret)
	if err != nil {
		return nil, ReasonUnknownSession
	}
	s := wire.Session{
		ID: id, Key: said.Key, Source: "shared", Path: "shared", Probe: "shared", Kind: kind,
		RequestBytes: said.RequestBytes, ResponseBytes: said.ResponseBytes, MaxRequests: sharedRequests,
		NotBefore: now.wall, Deadline: now.wall.Add(sharedLifetime),
	}
	// The id does not say the kind, but the proof holds for one alone.
	if !slices.ContainsFunc(kindsBeside(kind), func(k wire.Kind) bool { s.Kind = k; return prove(&s) }) {
		return nil, ReasonWrongKey
	}
	switch age := now.wall.Sub(said.Made); {
	case age > sharedSkew:
		return nil, ReasonTooLate
	case age < -sharedSkew:
		return nil, ReasonTooEarly
	}
	if checkShared(&s) != nil {
		return nil, ReasonBadSizes
	}
	if len(d.sessions) >= maxShared {
		d.forget(now)
	}
	if len(d.sessions) >= maxShared {
		return nil, ReasonSessionLimit
	}
	e := &entry{session: s, listed: true, keep: now.uptime + maxAhead + sharedLifetime}
	d.sessions[id] = e
	return e, ""
}

// kindsBeside are the kinds whose sessions come in by the same door as one of the kind.
func kindsBeside(kind wire.Kind) []wire.Kind {
	if kind == wire.KindTCP {
		return append([]wire.Kind{kind}, wire.BulkKinds()...)
	}
	return []wire.Kind{kind}
}

// checkShared is check, but for the spec of a bulk session, which comes in its opening.
func checkShared(s *wire.Session) error {
	if s.Kind.IsBulk() && max(s.RequestBytes, s.ResponseBytes) > wire.MaxMessageBytes {
		return fmt.Errorf("messages of %d and %d bytes: want at most %d", s.RequestBytes, s.ResponseBytes, wire.MaxMessageBytes)
	}
	if s.Kind.IsBulk() {
		return nil
	}
	return check(s)
}

// forget drops the sessions that are over. d.mu is held.
func (d *door) forget(now moment) {
	for id, e := range d.sessions {
		if e.over(now) {
			d.drop(id, e)
		}
	}
}
