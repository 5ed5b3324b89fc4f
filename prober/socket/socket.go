// Package socket does what package net leaves out of sockets: the kernel's time stamps of what
// arrives and of what leaves, the TTL and address that a packet came with, ICMP errors with what
// they quote, and waiting on the caller's own thread.
//
// Linux has all of it. Elsewhere there are no kernel stamps (see Stamps), and packets are received
// and sent as package net does it.
//
// Kernel stamps are of CLOCK_REALTIME, in Unix nanoseconds. They are good for durations only as
// long as nobody sets that clock: see Clocks.
package socket

import (
	"errors"
	"net/netip"
	"time"
)

// ErrWait says that nothing is there yet, or of what is to be sent that there is no room for it yet.
var ErrWait = errors.New("nothing to receive yet")

// ErrCalled says that who waited was called away: see Detached.
var ErrCalled = errors.New("called away")

// Options are what a socket is to do beyond what package net asks for.
type Options struct {
	Arrivals   bool // kernel time stamps of what is received; datagrams and streams
	Departures bool // kernel time stamps of what is sent; datagrams, from the error queue
	Errors     bool // ICMP errors, from the error queue
	TTL        bool // the TTL or hop limit of what is received
	Local      bool // the local address that a packet was sent to
	SendTTL    int  // the TTL or hop limit of what is sent; 0: the system's own
}

// Packet is what was received, with what the kernel says of it.
type Packet struct {
	Bytes int  // octets of payload in the buffer; of a stream, 0 is its end
	Cut   bool // the payload was longer than the buffer
	// At is when the kernel took the packet from the device, in Unix nanoseconds; 0: not known. Of
	// a stream it is the last segment's whose octets were read.
	At     int64
	TTL    int            // or hop limit, as received; -1: not known
	Local  netip.Addr     // where it was sent to, without a zone; invalid: not known
	Remote netip.AddrPort // where it came from, without a zone; invalid on streams
}

// Notice is an entry of a socket's error queue: either that a packet left, or an ICMP error.
type Notice struct {
	// Left says that the packet of this number left at At. Packets are numbered from 0 as
	// they are sent; see Datagrams.Send.
	Left   bool
	Number uint32
	At     int64 // Unix nanoseconds; of an ICMP error 0
	// Error is the system's number of an ICMP error, as in syscall.Errno. Quoted is how many octets
	// of the packet's own payload, as it was sent, are in the buffer.
	Error    error
	ICMPType uint8
	ICMPCode uint8
	Quoted   int
}

// Clocks is one reading of both clocks, as close to each other as they can be read.
type Clocks struct {
	Realtime  int64 // Unix nanoseconds; jumps when the clock is set
	Monotonic int64 // nanoseconds since the program's start
}

var origin = Now()

// readingTakes is longer than a reading takes unless the thread was interrupted in it.
const readingTakes = 20 * time.Microsecond

// ReadClocks reads both clocks. Linux does it without a system call. A reading that was interrupted
// between the two would look like a step of the clock, so it is made again.
func ReadClocks() Clocks {
	for attempt := 0; ; attempt++ {
		before := Now().Sub(origin)
		now := Now() // reads both
		monotonic := now.Sub(origin)
		if monotonic-before < readingTakes || attempt == 3 {
			return Clocks{Realtime: now.UnixNano(), Monotonic: int64(monotonic)}
		}
	}
}

// Monotonic is the instant t, which has a monotonic reading, as Clocks.Monotonic gives it.
func Monotonic(t time.Time) int64 { return int64(t.Sub(origin)) }

// Offset is realtime − monotonic. It changes only when the clock is set, or slewed.
func (c Clocks) Offset() int64 { return c.Realtime - c.Monotonic }

// maxSlew is by how much the kernel may speed the clock up or slow it down (adjtimex(2)): 500 ppm.
const maxSlew = 2000 // one in

// stepTolerance covers that the two clocks are not read at the very same time.
const stepTolerance = int64(100 * time.Microsecond)

// Stepped says whether the clock was set between two readings: whether realtime and monotonic
// went apart by more than slewing explains.
func Stepped(before, after Clocks) bool {
	moved := after.Offset() - before.Offset()
	return max(moved, -moved) > max(after.Monotonic-before.Monotonic, 0)/maxSlew+stepTolerance
}
