package relay

import "isochrone/infra/local/wan/topology"

// mostInFlight bounds the packets on their way in the whole network, counted by the full packets
// that their memory would hold: 1.6 KB each.
const mostInFlight = 1 << 16

// sizes are how many full packets the frames hold that there are: the last holds the largest
// packet of IPv4.
var sizes = [...]int{1, 2, 4, 8, 16, 32, largestPacket/topology.MTU + 1}

// pool hands out memory for packets, and takes it back to be used again.
type pool struct {
	free [len(sizes)][]*packet
	// In full packets: on their way, in being whether free or not, and the most there may be.
	used, made, most int
}

// take hands out a packet for a frame of so many bytes of IP, or nil where there is no room.
func (p *pool) take(length int) *packet {
	class := 0
	for sizes[class]*topology.MTU < length {
		class++
	}
	size := sizes[class]
	if p.used+size > p.most {
		return nil
	}
	p.used += size
	if n := len(p.free[class]); n > 0 {
		x := p.free[class][n-1]
		p.free[class] = p.free[class][:n-1]
		return x
	}
	if p.made+size > p.most {
		p.forget()
	}
	p.made += size
	return &packet{frame: make([]byte, offloadBytes+size*topology.MTU), class: class}
}

// forget leaves what is free to the collector: it is of other sizes than what is needed.
func (p *pool) forget() {
	for class := range p.free {
		p.made -= len(p.free[class]) * sizes[class]
		p.free[class] = nil
	}
}

func (p *pool) release(x *packet) {
	x.link, x.flow = nil, nil
	p.used -= sizes[x.class]
	p.free[x.class] = append(p.free[x.class], x)
}
