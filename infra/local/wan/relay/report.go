package relay

import (
	"fmt"
	"net/netip"

	"github.com/HdrHistogram/hdrhistogram-go"

	"isochrone/infra/local/wan/topology"
)

// Counters are of packets, unless they say otherwise. Every packet that came in is in the end
// delivered, lost, dropped or refused; until then it is in flight.
type Counters struct {
	In      uint64 `json:"in"`
	InBytes uint64 `json:"in_bytes"` // IP packets
	// Delivered, DeliveredBytes and DeliveredPayload hold copies as well: what the
	// destination saw.
	Delivered        uint64 `json:"delivered"`
	DeliveredBytes   uint64 `json:"delivered_bytes"`   // IP packets
	DeliveredPayload uint64 `json:"delivered_payload"` // bytes behind the headers of TCP, UDP or ICMP
	Lost             uint64 `json:"lost"`
	Duplicated       uint64 `json:"duplicated"` // copies delivered
	Reordered        uint64 `json:"reordered"`  // RFC 4737, section 3, within each flow; copies aside
	QueueDropped     uint64 `json:"queue_dropped"`
	Refused          uint64 `json:"refused"` // by the destination's kernel; copies that it refused count nowhere
}

// InFlight is the packets that have come and not yet met their end.
func (c Counters) InFlight() uint64 {
	return c.In + c.Duplicated - c.Delivered - c.Lost - c.QueueDropped - c.Refused
}

// Delays summarises the applied one-way delays of the packets delivered, copies aside, from the
// moment after the relay had read a packet to the moment after it had written it: ns, with three
// digits from 1 µs up.
type Delays struct {
	Count int64 `json:"count"`
	Min   int64 `json:"min_ns"`
	P50   int64 `json:"p50_ns"`
	P90   int64 `json:"p90_ns"`
	P99   int64 `json:"p99_ns"`
	Max   int64 `json:"max_ns"`
	// HDR is the histogram itself, in HdrHistogram's second format, compressed, in base64.
	HDR string `json:"hdr"`
}

// Links is the answer to GET /links.
type Links struct {
	Links []Link `json:"links"`
	// Unroutable counts packets that are not IPv4, or go to an address that no other node has.
	Unroutable uint64 `json:"unroutable"`
	// Overruns are the packets that each node's kernel dropped before the relay saw them, because
	// it did not read in time: where it is not 0, the counters of the links from there are short. Those
	// that it would have handed over at once count as one.
	Overruns map[string]uint64 `json:"overruns"`
}

// Link reports on one link.
type Link struct {
	topology.Between
	Counters
	Delays Delays `json:"delays"`
	// FlowsForgotten counts the flows that made room for later ones. One that comes back begins
	// again: its counters at 0, and with them Packet.Index.
	FlowsForgotten uint64 `json:"flows_forgotten"`
	// PacketsForgotten counts the records that made room for later ones.
	PacketsForgotten uint64 `json:"packets_forgotten"`
}

// Flow reports on the packets of one 5-tuple over a link.
type Flow struct {
	From        string         `json:"from"`
	To          string         `json:"to"`
	Path        string         `json:"path"`
	Protocol    uint8          `json:"protocol"` // IANA's number
	Source      netip.AddrPort `json:"source"`   // port 0 for what has none, and for fragments
	Destination netip.AddrPort `json:"destination"`
	First       Stamp          `json:"first"` // its first packet came
	Last        Stamp          `json:"last"`  // its last packet came or left
	Counters
}

// Packet reports on one packet, or a copy, after its end.
type Packet struct {
	From        string         `json:"from"`
	To          string         `json:"to"`
	Path        string         `json:"path"`
	Protocol    uint8          `json:"protocol"`
	Source      netip.AddrPort `json:"source"`
	Destination netip.AddrPort `json:"destination"`
	Length      int            `json:"length"`  // of the IP packet, bytes
	Payload     int            `json:"payload"` // behind the headers of TCP, UDP or ICMP, bytes
	Index       uint64         `json:"index"`   // among the packets that its flow brought, from 0 (see Link.FlowsForgotten); a copy has its packet's
	Arrived     Stamp          `json:"arrived"` // read by the relay
	Left        Stamp          `json:"left"`    // written; of one that was dropped, when that was decided
	Verdict     Verdict        `json:"verdict"`
	Reordered   bool           `json:"reordered"` // RFC 4737, section 3, within its flow
}

// Tally counts packets, which are of one flow and in the order of their ends, as a link would
// that carried no others: a run's packets of one length, for instance. Packets in flight are not
// among them.
func Tally(packets []Packet) Counters {
	var c Counters
	var o order
	for _, p := range packets {
		if p.Verdict != Duplicate {
			c.In++
			c.InBytes += uint64(p.Length)
		}
		switch p.Verdict {
		case Lost:
			c.Lost++
		case QueueDropped:
			c.QueueDropped++
		case Refused:
			c.Refused++
		case Delivered, Duplicate:
			c.Delivered++
			c.DeliveredBytes += uint64(p.Length)
			c.DeliveredPayload += uint64(p.Payload)
			if p.Verdict == Duplicate {
				c.Duplicated++
			} else if o.arrive(p.Index, 1) {
				c.Reordered++
			}
		}
	}
	return c
}

func summarise(s *hdrhistogram.Snapshot) (Delays, error) {
	if s == nil {
		return Delays{}, nil
	}
	h := hdrhistogram.Import(s)
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Delays{}, fmt.Errorf("encoding a histogram: %w", err)
	}
	return Delays{
		Count: h.TotalCount(), Min: h.Min(), Max: h.Max(),
		P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90), P99: h.ValueAtQuantile(99), HDR: string(b),
	}, nil
}
