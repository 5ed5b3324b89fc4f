package relay

import (
	"encoding/binary"
	"encoding/json"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"isochrone/infra/local/wan/topology"
)

func TestReorderingIsThatOfRFC4737(t *testing.T) {
	for _, c := range []struct {
		arrivals []uint64
		want     []uint64 // those that are reordered
	}{
		{[]uint64{0, 1, 2, 3}, nil},
		{[]uint64{0, 2, 1, 3}, []uint64{1}},
		{[]uint64{3, 0, 1, 2, 4}, []uint64{0, 1, 2}},
		{[]uint64{0, 4, 9, 5, 6, 10}, []uint64{5, 6}}, // gaps are losses, not reordering
	} {
		var o order
		var got []uint64
		for _, a := range c.arrivals {
			if o.arrive(a, 1) {
				got = append(got, a)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v are reordered, want %v", c.arrivals, got, c.want)
		}
	}
}

func TestHeadersAreRead(t *testing.T) {
	udp := make([]byte, 128)
	datagram(udp, 1000, 128, 0)
	tcp := slices.Clone(udp)
	tcp[9], tcp[32] = protocolTCP, 8<<4 // 32 bytes of header
	options := append(append([]byte{0x46}, udp[1:20]...), make([]byte, 112)...)
	binary.BigEndian.PutUint16(options[2:], 132)
	fragment := slices.Clone(udp)
	fragment[6] = 0x20
	gre := slices.Clone(udp)
	gre[9] = 47
	icmp := slices.Clone(udp)
	icmp[9] = protocolICMP
	for name, c := range map[string]struct {
		packet  []byte
		payload uint16
		port    uint16
	}{
		"udp": {udp, 100, 1000}, "tcp": {tcp, 76, 1000}, "udp behind options": {options, 100, 0},
		"fragment": {fragment, 108, 0}, "gre": {gre, 108, 0}, "icmp": {icmp, 100, 0},
	} {
		h, ok := parse(c.packet)
		if !ok || h.payload != c.payload || h.sourcePort != c.port || int(h.length) != len(c.packet) {
			t.Errorf("%s: %+v %t, want payload %d, port %d", name, h, ok, c.payload, c.port)
		}
	}
	for name, packet := range map[string][]byte{
		"nothing": nil, "short": udp[:19], "IPv6": append([]byte{0x60}, udp[1:]...), "cut off": udp[:100],
		"header too short": append([]byte{0x44}, udp[1:]...), "header beyond the packet": append([]byte{0x4f}, append(udp[1:2:2], append([]byte{0, 40}, udp[4:40]...)...)...),
	} {
		if h, ok := parse(packet); ok {
			t.Errorf("%s: read as %+v", name, h)
		}
	}
}

// No packet, however broken, makes the relay fail.
func FuzzParse(f *testing.F) {
	b := make([]byte, 64)
	datagram(b, 1, 64, 0)
	f.Add(b)
	f.Add([]byte{})
	f.Add([]byte{0x4f, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 10, 90, 0, 11, 10, 90, 0, 12})
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, ok := parse(b); ok && (int(h.length) != len(b) || int(h.payload) > len(b)-20) {
			t.Errorf("%x: %+v", b, h)
		}
	})
}

func TestUnroutablePacketsAreCounted(t *testing.T) {
	b := newBench(topology.Link{}, 1)
	for _, spoil := range []func([]byte){
		func(b []byte) { b[0] = 0x60 },
		func(b []byte) { b[19] = 99 },
		func(b []byte) { copy(b[16:], ends[0].AsSlice()) }, // to the node that it comes from
	} {
		datagram(b.buffer[:], 1, 64, 0)
		spoil(b.buffer[:])
		b.arrive(0, offload{}, b.buffer[:64], Stamp{})
	}
	if n := b.unroutable.Load(); n != 3 || b.link().counters.In != 0 || b.pool.used != 0 {
		t.Errorf("%d unroutable, want 3; %+v", n, b.link().counters)
	}
}

func TestLatestFlowsAreRemembered(t *testing.T) {
	b := newBench(topology.Link{}, 1) // four flows a link
	for _, port := range []uint16{1, 2, 3, 4, 1, 5, 6} {
		b.now += ms
		b.sendFrom(port, 0, 64)
		b.until(b.now)
	}
	var ports []uint16
	for _, f := range b.reportFlows(filter{}) {
		ports = append(ports, f.Source.Port())
	}
	r, err := b.reportLinks(filter{from: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint16{6, 5, 1, 4}; !slices.Equal(ports, want) || r.Links[0].FlowsForgotten != 2 || r.Links[0].Delivered != 7 {
		t.Errorf("flows of ports %v, want %v; %+v", ports, want, r.Links[0])
	}
}

func TestLatestPacketsAreRemembered(t *testing.T) {
	b := newBench(topology.Link{}, 1) // a thousand records a link
	for i := range uint32(2600) {
		b.now = int64(i+1) * ms
		b.send(i, 64)
		b.until(b.now)
	}
	p := b.reportPackets(filter{})
	if len(p) != 1000 || p[0].Index != 1600 || p[999].Index != 2599 || b.link().records.forgotten != 1600 {
		t.Fatalf("%d packets from %d, %d forgotten", len(p), p[0].Index, b.link().records.forgotten)
	}
	want := Packet{From: "a", To: "b", Path: "public", Protocol: 17, Source: netip.AddrPortFrom(ends[0], 1000), Destination: netip.AddrPortFrom(ends[1], 9),
		Length: 64, Payload: 36, Index: 1600, Arrived: Stamp{1601 * ms, 1601 * ms}, Left: Stamp{1601 * ms, 1601 * ms}}
	if d := cmp.Diff(want, p[0], cmpopts.EquateComparable(netip.AddrPort{})); d != "" {
		t.Error(d)
	}
}

func TestQueriesSayWhichAreMeant(t *testing.T) {
	b := newBench(topology.Link{}, 1)
	for _, s := range []struct {
		port   uint16
		length int
	}{{1, 64}, {1, 100}, {2, 64}} {
		b.now += ms
		b.sendFrom(s.port, 0, s.length)
		b.until(b.now)
	}
	for _, c := range []struct {
		q    Query
		want int
	}{
		{Query{}, 3}, {Query{From: "a"}, 3}, {Query{From: "b"}, 0}, {Query{To: "b", Path: "public"}, 3}, {Query{Path: "vpn"}, 0},
		{Query{Protocol: "udp"}, 3}, {Query{Protocol: "tcp"}, 0}, {Query{Protocol: "17"}, 3}, {Query{SourcePort: 1}, 2}, {Query{SourcePort: 1, Length: 100}, 1},
		{Query{DestinationPort: 9}, 3}, {Query{DestinationPort: 1}, 0}, {Query{Source: ends[0]}, 3}, {Query{Destination: ends[0]}, 0},
		{Query{Since: time.Unix(0, 2*ms)}, 2}, {Query{Since: time.Unix(0, 3*ms+1)}, 0},
	} {
		r := httptest.NewRecorder()
		handler(b.engine, nil).ServeHTTP(r, httptest.NewRequest("GET", "/packets?"+c.q.values().Encode(), nil))
		var got []Packet
		if err := json.Unmarshal(r.Body.Bytes(), &got); err != nil || len(got) != c.want {
			t.Errorf("%+v: %d packets, %v; want %d", c.q, len(got), err, c.want)
		}
	}
}

func TestWrongQueriesAreExplained(t *testing.T) {
	b := newBench(topology.Link{}, 1)
	for query, want := range map[string]string{
		"form=a":         `parameter form="a": want from, to, path, proto, source, destination, sport, dport, length or since`,
		"from=a&from=b":  "from is there 2 times: give it once",
		"proto=stamp":    `parameter proto="stamp": want tcp, udp, icmp or a number, 1 to 255`,
		"sport=0":        `parameter sport="0": want a whole number, 1 to 65535`,
		"length=9999999": `parameter length="9999999": want a whole number, 1 to 65535`,
		"source=::1":     `parameter source="::1": want an IPv4 address`,
		"since=now":      `parameter since="now": parsing time "now" as`,
	} {
		if _, err := url.ParseQuery(query); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRecorder()
		handler(b.engine, nil).ServeHTTP(r, httptest.NewRequest("GET", "/flows?"+query, nil))
		if r.Code != 400 || !strings.HasPrefix(r.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", query, r.Code, r.Body, want)
		}
	}
}
