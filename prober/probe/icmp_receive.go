package probe

import (
	"fmt"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// patience is how many replies may come without one departure stamp before the kernel is taken
// to give none; until then each is asked after.
const patience = 8

// receive records replies until the read deadline. It allocates nothing.
func (e *echoes) receive() {
	for {
		noticed, err := e.conn.Receive(e.in, &e.packet, &e.notice)
		now := time.Now()
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
	if d := &e.departures[i]; d.kernel == 0 && n.At >= d.user {
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
func (e *echoes) replied(now time.Time) {
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
	if arrived != 0 && d.kernel == 0 && (e.stamped > 0 || e.missing < patience) {
		e.askForDepartures()
	}
	user := max(int64(now.Sub(e.rec.begin))-e.rec.samples[i].sent.Load(), 1)
	rtt, client := kernelRoundTrip(d, arrived, user, now.UnixNano())
	if first := e.rec.replied(i, rtt, -1); !first {
		return
	}
	switch {
	case client != notYet:
		e.rec.samples[i].client = client
		e.stamped++
	case i >= e.rec.spec.Warmup:
		e.aside++
		fallthrough
	default:
		e.missing++
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

// kernelRoundTrip is the round trip by the kernel's stamps, and the source's share that it leaves
// out. Where they are missing or cannot be, it is the user's and notYet. now is the wall clock when
// the reply was read.
func kernelRoundTrip(d *departure, arrived, user, now int64) (rtt, client int64) {
	if d.kernel == 0 || arrived == 0 {
		return user, notYet
	}
	before := socket.Clocks{Realtime: d.user}
	after := socket.Clocks{Realtime: now, Monotonic: user}
	kernel := arrived - d.kernel
	if socket.Stepped(before, after) || kernel <= 0 || arrived > now {
		return user, notYet
	}
	return kernel, max(user-kernel, 0)
}
