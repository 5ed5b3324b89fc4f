package relay

// passage is a packet's way over a link, or that of a super-packet's part.
type passage struct {
	header
	link    *link
	flow    *flow
	arrived Stamp
	index   uint64 // among the packets that the flow brought, from 0; of several, that of the first
}

// packet is one on its way, or a free one. Its fields are reused.
type packet struct {
	passage
	frame []byte // what the TUN takes: an offload, then the IP packet
	class int    // of its size

	due   int64  // ns, monotonic
	order uint64 // among those due at the same time
	copy  bool
}

func (p *packet) bytes() []byte { return p.frame[:offloadBytes+int(p.length)] }

// ip is the IP packet.
func (p *packet) ip() []byte { return p.bytes()[offloadBytes:] }

// schedule is the packets on their way as container/heap wants them: the next one due first, in
// the order of their arrival where several are.
type schedule []*packet

func (s schedule) Len() int { return len(s) }

func (s schedule) Less(i, j int) bool {
	if s[i].due != s[j].due {
		return s[i].due < s[j].due
	}
	return s[i].order < s[j].order
}

func (s schedule) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

// Push is called by container/heap.
func (s *schedule) Push(p any) { *s = append(*s, p.(*packet)) }

// Pop is called by container/heap.
func (s *schedule) Pop() any {
	old := *s
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*s = old[:len(old)-1]
	return p
}
