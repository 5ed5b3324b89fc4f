package stamp

// Pair is a received reply's two sequence numbers.
type Pair struct {
	Sender    uint32
	Reflector uint32 // counted by the reflector itself
}

// Lost tells by direction what was lost between two replies of a stateful reflector, a the
// earlier by the reflector's count: between them the sender sent ΔS, the reflector answered ΔR,
// and received arrived after a, up to and with b. All counts are modulo 2^32, and the reflector's
// need not begin at 0. What was lost after the last reply cannot be told by direction.
//
// False says that the counts contradict each other, and so nothing: the reflector began to count
// anew, answered a copy, or replies arrived twice.
func Lost(a, b Pair, received uint32) (forward, reverse uint32, ok bool) {
	sent, answered := b.Sender-a.Sender, b.Reflector-a.Reflector
	if answered > sent || received > answered || sent >= 1<<31 {
		return 0, 0, false
	}
	return sent - answered, answered - received, true
}
