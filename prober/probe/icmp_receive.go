package probe

import (
	"fmt"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// receive records replies until the read deadline. It allocates nothing.
func (e *echoes) receive() {
	for {
		noticed, err := e.conn.Receive(e.in, &e.packet, &e.notice)
		now := socket.ReadClocks()
		switch {
		case err != nil:
			e.receiveErr = err
			return
		case noticed:
			e.noticed()
		case !e.packet.Cut:
			e.replied(now)
		}
	}
}

// noticed takes in that a request left, or that an ICMP error quotes one.
func (e *echoes) noticed() {
	n := &e.notice
	if n.Left {
		e.left(n)
		return
	}
	if n.ICMPType == 0 { // this machine's own error, which sending returns as well
		return
	}
	i, ok := e.out.quoted(e.in[:min(n.Quoted, len(e.in))], e.highestSent)
	if !ok || e.rec.samples[i].sent.Load() == notYet || e.departures[i].ended {
		return
	}
	e.departures[i].ended = true
	e.rec.samples[i].failure = wire.FailureUnreachable
	if e.quoted == "" {
		e.quoted = fmt.Sprintf("an ICMP error (type %d, code %d) says: %s", n.ICMPType, n.ICMPCode, n.Error)
	}
	e.settle(i)
}

// left takes in a departure. Numbers begin anew after an error in sending: a stamp from before
// the sample with the number was sent is another's.
func (e *echoes) left(n *socket.Notice) {
	if int64(n.Number) >= int64(len(e.numbered)) {
		return
	}
	i := int(e.numbered[n.Number].Load()) - 1
	if i < 0 || e.rec.samples[i].sent.Load() == notYet {
		return
	}
	if d := &e.departures[i]; d.kernel == 0 && n.At >= d.user.Realtime {
		d.kernel = n.At
	}
}

// highestSent is the highest sample up to which something was sent that leaves the remainder r
// when it is divided by 2^16, or notYet.
func (e *echoes) highestSent(r uint16) int {
	for i := (len(e.rec.samples)-1-int(r))&^0xFFFF + int(r); i >= 0; i -= 1 << 16 {
		if i < len(e.rec.samples) && e.rec.samples[i].sent.Load() != notYet {
			return i
		}
	}
	return int(notYet)
}

// replied takes in a packet that came.
func (e *echoes) replied(now socket.Clocks) {
	b := e.in[:e.packet.Bytes]
	if e.conn.headed {
		b = withoutIPv4Header(b)
	}
	sequence, ok := e.out.reply(b)
	if !ok || sequence >= uint64(len(e.rec.samples)) || e.rec.samples[sequence].sent.Load() == notYet {
		return // another program's, or made up
	}
	i, d := int(sequence), &e.departures[sequence]
	arrived := e.packet.At // before looking for departures: it is overwritten by no notice
	if arrived != 0 && d.kernel == 0 && e.stamping.asks() {
		e.askForDepartures()
	}
	trip := reckonEcho(d, arrived, now)
	if first := e.rec.replied(i, trip.rtt, trip.user, -1); !first {
		return
	}
	e.stamping.departed(d.kernel != 0)
	if s := &e.rec.samples[i]; s.rtt != notYet {
		s.client = trip.client
		e.stamping.count(i >= e.rec.spec.Warmup, trip.stamped, trip.set)
	}
	if !d.ended {
		d.ended = true
		e.settle(i)
	}
}

// askForDepartures reads the stamps that were entered between the last look and the reply.
func (e *echoes) askForDepartures() {
	for {
		err := e.conn.Notice(e.in, &e.notice)
		if err != nil {
			return // ErrWait: there are no more
		}
		e.noticed()
	}
}

// echoTrip is a round trip. By the kernel's stamps it is rtt, and client the source's own share, which
// that leaves out. Where a stamp is missing or cannot be this sample's, or the clock was set meanwhile,
// rtt is user and client notYet.
type echoTrip struct {
	rtt, user, client int64
	stamped, set      bool
}

func reckonEcho(d *departure, arrived int64, now socket.Clocks) echoTrip {
	t := echoTrip{user: max(now.Monotonic-d.user.Monotonic, 1), client: notYet, set: socket.Stepped(d.user, now)}
	t.rtt = t.user
	t.stamped = d.kernel != 0 && arrived != 0
	kernel := arrived - d.kernel
	if !t.stamped || t.set {
		return t
	}
	if kernel <= 0 || arrived > now.Realtime { // set, and set back
		t.set = true
		return t
	}
	t.rtt, t.client = kernel, max(t.user-kernel, 0)
	return t
}
