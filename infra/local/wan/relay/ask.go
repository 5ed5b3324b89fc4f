package relay

import (
	"fmt"
	"net/netip"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The engine waits for whoever holds a link's lock, so what is asked for is copied under it a
// little at a time, and worked on afterwards.

func (e *engine) reportLinks(f filter) (Links, error) {
	out := Links{Links: []Link{}, Unroutable: e.unroutable.Load()}
	for _, l := range e.links {
		if !f.link(l) {
			continue
		}
		r, err := l.report()
		if err != nil {
			return out, fmt.Errorf("reporting on the link from %q to %q over %q: %w", l.From, l.To, l.Path, err)
		}
		out.Links = append(out.Links, r)
	}
	return out, nil
}

func (l *link) report() (Link, error) {
	r := Link{Between: l.Between}
	var delays *hdrhistogram.Snapshot
	l.mu.Lock()
	r.Counters, r.FlowsForgotten, r.PacketsForgotten = l.counters, l.forgotten, l.records.forgotten
	if l.delays != nil {
		delays = l.delays.Export()
	}
	l.mu.Unlock()
	var err error
	r.Delays, err = summarise(delays)
	return r, err
}

func (e *engine) reportFlows(f filter) []Flow {
	out := []Flow{}
	for _, l := range e.links {
		if f.link(l) {
			out = append(out, l.matching(f)...)
		}
	}
	return out
}

// matching lists the flows that a filter lets through, the one with the latest packet first.
func (l *link) matching(f filter) (out []Flow) {
	var found []flow
	l.mu.Lock()
	for x := l.recent.Front(); x != nil; x = x.Next() {
		if fl := x.Value.(*flow); f.key(fl.key) {
			found = append(found, *fl)
		}
	}
	l.mu.Unlock()
	for _, x := range found {
		out = append(out, Flow{
			From: l.From, To: l.To, Path: l.Path, Protocol: x.protocol,
			Source: x.key.from(), Destination: x.key.to(), First: x.first, Last: x.last, Counters: x.counters,
		})
	}
	return out
}

func (k key) from() netip.AddrPort { return netip.AddrPortFrom(address(k.source), k.sourcePort) }
func (k key) to() netip.AddrPort {
	return netip.AddrPortFrom(address(k.destination), k.destinationPort)
}

func (e *engine) reportPackets(f filter) []Packet {
	out := []Packet{}
	for _, l := range e.links {
		if f.link(l) {
			out = append(out, l.packets(f)...)
		}
	}
	return out
}

// packets lists the records that a filter lets through, in the order of the packets' ends. What
// is added while it works is left to the next to ask.
func (l *link) packets(f filter) (out []Packet) {
	l.mu.Lock()
	next, end := l.records.first, l.records.added
	l.mu.Unlock()
	batch := make([]record, 0, chunk)
	for next < end {
		batch = batch[:0]
		l.mu.Lock()
		next = max(next, l.records.first) // those that were forgotten meanwhile
		for ; next < end && len(batch) < chunk; next++ {
			batch = append(batch, *l.records.get(next))
		}
		l.mu.Unlock()
		for i := range batch {
			out = l.list(out, f, batch[i])
		}
	}
	return out
}

// list appends the packets of a record that a filter lets through.
func (l *link) list(out []Packet, f filter, r record) []Packet {
	k, all := r.header.key(), r.header
	for i := range all.packets() {
		r.header = all.part(i, 1)
		if !f.record(&r) {
			continue
		}
		out = append(out, Packet{
			From: l.From, To: l.To, Path: l.Path, Protocol: r.protocol, Source: k.from(), Destination: k.to(),
			Length: int(r.length), Payload: int(r.payload), Index: r.index + uint64(i),
			Arrived: r.arrived, Left: r.left, Verdict: r.verdict, Reordered: r.reordered,
		})
	}
	return out
}
