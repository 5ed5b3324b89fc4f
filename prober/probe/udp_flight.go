package probe

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// numbered is how many packets can be on their way from this program to the device. Their
// departures are told by number.
const numbered = 1024

// flight is what a udp run sends and receives: by a goroutine each, or both on one thread.
type flight struct {
	*stampLink
	rec    *record
	clocks func() socket.Clocks
	begin  int64 // rec.begin on the monotonic clock
	out    []byte
	warm   int // warm-up samples

	// By sample. departed is written before the sample is marked as sent, left by the receiver alone.
	departed []stampSent
	left     []int64                // when the kernel let it go, in Unix nanoseconds; 0: not known
	owner    [numbered]atomic.Int64 // the sample with that number, modulo numbered; notYet: none
	latest   atomic.Int64           // the sample sent last; notYet: none
	ended    []atomic.Bool          // settled; who ends a sample is the one to give it a failure

	answered atomic.Int64  // samples with a reply, late ones included
	settled  atomic.Int64  // samples that were answered, or blamed by an ICMP error, or could not be sent
	awaited  atomic.Int64  // how many are waited for: all, until the sender knows better
	newest   atomic.Int64  // the highest settled sample
	slowest  atomic.Int64  // the longest round trip of a reply in time
	closing  atomic.Bool   // what is sent now is no sample
	looked   chan struct{} // see takeTurns
	reports  chan stamp.Report
	done     chan struct{} // closed when every awaited sample is settled
	once     sync.Once
	sendErr  error // the sender's, the first

	// The receiver's.
	stamping stamping
	estimate stamp.ErrorEstimate
	arrivals arrivals
	// departures is nil where samples ask for no follow-up.
	departures *departures
	broken     int      // how many errors were received in a row
	quoted     [64]byte // of entries read while a reply is in the other buffer
	readErr    error
}

// stampSent is when a sample left, by this program's clocks, and what its packet says of that.
type stampSent struct {
	clocks socket.Clocks
	t1     stamp.Timestamp
}

func newFlight(l *stampLink, rec *record, clocks func() socket.Clocks, begin int64) *flight {
	n := len(rec.samples)
	f := &flight{
		stampLink: l, rec: rec, clocks: clocks, begin: begin, warm: rec.spec.Warmup,
		departed: make([]stampSent, n), left: make([]int64, n), ended: make([]atomic.Bool, n),
		looked: make(chan struct{}, 1), reports: make(chan stamp.Report, 1), done: make(chan struct{}),
		arrivals: newArrivals(rec.spec.Count, l.mode),
	}
	f.out, f.departures = l.blank(rec.spec)
	for i := range f.owner {
		f.owner[i].Store(notYet)
	}
	f.latest.Store(notYet)
	f.newest.Store(notYet)
	f.awaited.Store(int64(n))
	return f
}

// blank makes the samples' packet, and room for when their replies left if the size has room to ask.
func (l *stampLink) blank(spec wire.Spec) ([]byte, *departures) {
	if l.mode == stamp.Authenticated && stamp.HasFollowUp(spec.RequestBytes) {
		return stamp.NewFollowed(spec.RequestBytes), newDepartures(spec.Warmup+spec.Count, spec.Count)
	}
	// Extra Padding makes up the size (RFC 8972, section 4.1). Three octets or less cannot hold it: they are
	// plain zeros, which a reflector sends back as they are.
	return stamp.AppendPadding(make([]byte, l.mode.Bytes()), spec.RequestBytes-l.mode.Bytes()), nil
}

func (f *flight) sequence(i int) uint32 {
	if i < f.warm {
		return stamp.WarmupFrom + uint32(i)
	}
	return uint32(i - f.warm)
}

// index is the sample with that sequence number, if it was sent.
func (f *flight) index(sequence uint32) (int, bool) {
	i := int(int64(sequence) + int64(f.warm))
	if sequence >= stamp.WarmupFrom {
		if i = int(sequence - stamp.WarmupFrom); i >= f.warm {
			return 0, false
		}
	}
	return i, i < len(f.rec.samples) && f.rec.samples[i].sent.Load() != notYet
}

func (f *flight) request(i int) stamp.Request {
	return stamp.Request{Sequence: f.sequence(i), T1: f.departed[i].t1, Estimate: stamp.UnknownError, SSID: f.ssid}
}

// sending is what came of it.
type sending int

const (
	sendingWell sending = iota // it left, or has a failure of its own: on to the next
	sendingFull                // there was no room, and waiting for it is the caller's
	sendingOver                // the run is over before it left
)

// send sends sample i, and says whether to send the next.
func (f *flight) send(i int) bool { return f.trySend(i) == sendingWell }

// trySend sends sample i. It allocates nothing. A sample that the system would not send is a
// failure of its own (see notSent), and the next may do better.
func (f *flight) trySend(i int) sending {
	s, d := &f.rec.samples[i], &f.departed[i]
	d.t1 = stamp.NTP(f.clocks().Realtime)
	stamp.PutRequest(f.out, f.mode, f.request(i))
	switch {
	case f.departures != nil:
		f.signer.SignFollowed(f.out)
	case f.mode == stamp.Authenticated:
		f.signer.Sign(f.out)
	}
	d.clocks = f.clocks() // the digest is no part of the round trip
	next := f.d.Next()
	f.owner[next%numbered].Store(int64(i))
	s.sent.Store(max(d.clocks.Monotonic-f.begin, 0))
	number, err := f.d.Send(f.out)
	if err != nil {
		return f.failedToSend(i, err)
	}
	if number != next {
		f.owner[number%numbered].Store(int64(i))
	}
	f.latest.Store(int64(i))
	return sendingWell
}

// failedToSend says whether it is worth sending this sample again, or the next.
func (f *flight) failedToSend(i int, err error) sending {
	switch {
	case errors.Is(err, socket.ErrWait):
		f.rec.samples[i].sent.Store(notYet)
		return sendingFull
	case errors.Is(err, net.ErrClosed), errors.Is(err, errDeadline): // the run is over before it left
		f.rec.samples[i].sent.Store(notYet)
		return sendingOver
	}
	if f.sendErr == nil {
		f.sendErr = err
	}
	if f.ended[i].CompareAndSwap(false, true) {
		f.rec.samples[i].notSent(err)
		f.settle(i)
	}
	return sendingWell
}

// settle counts sample i, which was ended just now, as done with.
func (f *flight) settle(i int) {
	for last := f.newest.Load(); int64(i) > last && !f.newest.CompareAndSwap(last, int64(i)); last = f.newest.Load() {
	}
	f.settled.Add(1)
	f.lookWhetherDone()
	select {
	case f.looked <- struct{}{}:
	default:
	}
}

// sentAll tells the receiver that no more than n samples will be sent.
func (f *flight) sentAll(n int) {
	f.awaited.Store(int64(n))
	f.lookWhetherDone()
}

// lookWhetherDone is called by both goroutines after each has stored its number, so that one of
// them sees the other's.
func (f *flight) lookWhetherDone() {
	if f.settled.Load() >= f.awaited.Load() {
		f.once.Do(func() { close(f.done) })
	}
}

// maxErrors is how many errors in a row the receiver bears where the system tells ICMP errors by them.
const maxErrors = 1000

// receive records replies, until the read deadline is set into the past or the socket is closed.
// It allocates nothing.
func (f *flight) receive() {
	for f.came(f.d.Receive(f.in, &f.packet, &f.notice)) {
	}
}

// came takes what Receive returned. It returns false when nothing more is to be expected.
func (f *flight) came(noticed bool, err error) bool {
	now := f.clocks()
	switch {
	case errors.Is(err, errDeadline), errors.Is(err, net.ErrClosed):
		return false
	case err != nil:
		f.broken++
		f.readErr = err
		f.blame(f.latest.Load(), failureOf(err))
	case noticed:
		f.heed(f.in)
	default:
		f.broken = 0
		f.take(now)
	}
	return f.broken < maxErrors
}

// heed takes an entry of the error queue, with what it quotes.
func (f *flight) heed(quoted []byte) {
	n := &f.notice
	if n.Left {
		if i := f.owner[n.Number%numbered].Load(); i != notYet && f.left[i] == 0 {
			f.left[i] = n.At
		}
		return
	}
	if n.ICMPType == 0 { // this machine's own error, which sending returns as well
		return
	}
	i := f.latest.Load()
	if n.Quoted >= 4 { // else who sent the error has not quoted enough to tell, so it was the newest
		named, ok := f.index(binary.BigEndian.Uint32(quoted))
		if !ok {
			return
		}
		i = int64(named)
	}
	f.blame(i, failureOf(n.Error))
}

// blame gives sample i a failure and does not wait for its reply, which would still make it good.
func (f *flight) blame(i int64, failure wire.Failure) {
	if i == notYet || f.closing.Load() {
		return
	}
	if f.ended[i].CompareAndSwap(false, true) {
		f.rec.samples[i].failure = failure
		f.settle(int(i))
	}
}

// take takes a packet that came from the target's address. Whatever is not a reply to what was
// sent, made by the key's holder, leaves no trace.
func (f *flight) take(now socket.Clocks) {
	b := f.in[:f.packet.Bytes]
	if f.mode == stamp.Authenticated {
		if c, r, isControl, verified := f.report(b); isControl {
			if verified && r.SenderSequence >= stamp.ClosingFrom {
				f.concluded(c, r, now)
			}
			return
		}
		if len(b) != f.rec.spec.RequestBytes || !f.verifier.Verify(b) {
			return
		}
	}
	r, ok := stamp.ParseReply(b, f.mode)
	if !ok {
		return
	}
	i, ok := f.index(r.SenderSequence)
	if !ok || !r.Answers(f.request(i)) {
		return
	}
	if f.left[i] == 0 && f.packet.At != 0 && f.stamping.asks() {
		f.lookForDeparture(i)
	}
	first := f.reckon(i, r, now)
	if f.departures != nil {
		if u, ok := f.verifier.FollowUp(b, f.mode); ok {
			f.departures.told(u, r.Estimate, now.Realtime)
		}
	}
	f.estimate = r.Estimate
	f.arrivals.add(i-f.warm, r, first)
	if first {
		f.answered.Add(1)
		if f.ended[i].CompareAndSwap(false, true) {
			f.settle(i)
		}
	}
}

// concluded takes the report that closes the session. It is the last to tell when a reply left.
func (f *flight) concluded(c stamp.Control, r stamp.Reply, now socket.Clocks) {
	if f.departures != nil && c.FollowUp.Departed() {
		f.departures.told(c.FollowUp, r.Estimate, now.Realtime)
	}
	select {
	case f.reports <- c.Report:
	default:
	}
}

// lookForDeparture empties the error queue: the sample's departure was entered before its reply
// could come, but perhaps after Receive had looked there.
func (f *flight) lookForDeparture(i int) {
	for f.left[i] == 0 && f.d.Notice(f.quoted[:], &f.notice) == nil {
		f.heed(f.quoted[:])
	}
}
