package relay

import "fmt"

// Stamp is one moment on both clocks, in nanoseconds: CLOCK_MONOTONIC, and CLOCK_REALTIME since
// 1970 as kernel time stamps of sockets have it.
type Stamp struct {
	Mono int64 `json:"mono_ns"`
	Wall int64 `json:"wall_ns"`
}

// Verdict is what became of a packet.
type Verdict uint8

// What can become of a packet.
const (
	Delivered    Verdict = iota // to the destination
	Duplicate                   // a copy was delivered
	Lost                        // by the link's probability
	QueueDropped                // the queue, or the relay as a whole, had no room
	Refused                     // the destination's kernel did not take it
)

var verdicts = []string{"delivered", "duplicate", "lost", "queue", "refused"}

func (v Verdict) String() string { return verdicts[v] }

// MarshalText makes it a word in JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the word.
func (v *Verdict) UnmarshalText(b []byte) error {
	for i, word := range verdicts {
		if word == string(b) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("reading verdict %q: want one of %q", b, verdicts)
}

// record is what is kept after their end of a packet, or of those that travelled together.
type record struct {
	header
	arrived, left Stamp
	index         uint64
	verdict       Verdict
	reordered     bool
}

// chunk is how many records are made at a time, so that a ring that grows never stops the relay.
const chunk = 256

// ring keeps the records of the latest packets, in the order of their ends.
type ring struct {
	most      uint64 // packets
	packets   uint64 // of which there is a record
	forgotten uint64 // packets
	first     uint64 // the number of the oldest record that is still there
	added     uint64 // the number of the next
	chunks    [][]record
}

func (r *ring) add(x record) {
	if r.most == 0 {
		return
	}
	r.packets += uint64(x.packets())
	for r.packets > r.most && r.first < r.added {
		n := uint64(r.get(r.first).packets())
		r.packets -= n
		r.forgotten += n
		r.first++
	}
	at := r.added % r.most
	if at/chunk == uint64(len(r.chunks)) {
		r.chunks = append(r.chunks, make([]record, min(chunk, r.most-at)))
	}
	r.chunks[at/chunk][at%chunk] = x
	r.added++
}

func (r *ring) get(n uint64) *record {
	at := n % r.most
	return &r.chunks[at/chunk][at%chunk]
}
