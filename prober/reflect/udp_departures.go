package reflect

import (
	"sync"

	"isochrone/prober/socket"
)

// departures tells sessions when the kernel let their replies go. Where the socket tells of none,
// nothing comes of it.
type departures struct {
	mu *sync.Mutex // the door's, which sessions are under
	// told says whether the socket tells of departures.
	told   bool
	recent [256]departing // by the packet's number, modulo its length
	notice socket.Notice
	quoted [8]byte // nothing is quoted of what has left
}

// departing is a reply that was sent, and has not been told of.
type departing struct {
	session *stampSession // nil: none
	packet  uint32        // its number on the socket
	answer  uint32        // its number in the session
}

// sent notes that a session's reply was sent with a packet of that number, and reads what the kernel
// tells of it, which it mostly does before it returns from sending. A session of nil is nobody's.
func (d *departures) sent(from carrier, packet uint32, session *stampSession, answer uint32) {
	if !d.told {
		return
	}
	d.recent[packet%uint32(len(d.recent))] = departing{session: session, packet: packet, answer: answer}
	for from.Notice(d.quoted[:], &d.notice) == nil {
		if d.left(&d.notice); d.notice.Left && d.notice.Number == packet {
			return
		}
	}
}

// left takes what the kernel told.
func (d *departures) left(n *socket.Notice) {
	reply := &d.recent[n.Number%uint32(len(d.recent))]
	if !n.Left || reply.session == nil || reply.packet != n.Number {
		return
	}
	d.mu.Lock()
	reply.session.departed(reply.answer, n.At)
	d.mu.Unlock()
	reply.session = nil
}

// forget forgets all packets: their numbers begin anew.
func (d *departures) forget() { clear(d.recent[:]) }
