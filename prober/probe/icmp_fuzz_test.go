package probe

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// fuzzedEcho makes requests of 56 octets with a known mark.
func fuzzedEcho(ipv6 bool, id uint16) *echoMessage {
	m := newEchoMessage(56, ipv6, id)
	copy(m.mark[:], "the mark")
	copy(m.b[echoHeader:], m.mark[:])
	m.b[2], m.b[3] = 0, 0
	clear(m.b[6:echoHeader])
	m.sum = sum16(m.b)
	return m
}

// echoMessages are the fuzz targets' seeds: requests and replies, whole and cut, with an IPv4 header and
// without, and what is nearly one.
func echoMessages() [][]byte {
	all := [][]byte{nil, make([]byte, 8), make([]byte, 64), append([]byte{0x45}, make([]byte, 19)...), append([]byte{0x4F}, make([]byte, 40)...)}
	for _, ipv6 := range []bool{false, true} {
		m := fuzzedEcho(ipv6, 7)
		for _, i := range []int{0, 65536 + 3, 109_999} {
			request := slices.Clone(m.request(i))
			reply := slices.Clone(request)
			reply[0] = m.replyType
			all = append(all, request, request[:8], request[:20], reply, append(append([]byte{0x45}, make([]byte, 19)...), reply...))
		}
		never := slices.Clone(m.request(5))
		binary.BigEndian.PutUint64(never[16:], 1<<40|5)
		all = append(all, never)
	}
	return all
}

// FuzzEchoReply holds the source to this: a reply is one of its own requests, sent back.
func FuzzEchoReply(f *testing.F) {
	for _, b := range echoMessages() {
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, ipv6 bool) {
		m := fuzzedEcho(ipv6, 7)
		for _, b := range [][]byte{b, withoutIPv4Header(b)} {
			i, ok := m.reply(b)
			if !ok {
				continue
			}
			want := slices.Clone(m.request(int(i)))
			want[0] = m.replyType
			copy(want[2:4], b[2:4]) // the kernel has looked at the checksum
			if n := echoHeader + echoMark + echoSequence; !bytes.Equal(b[:n], want[:n]) {
				t.Errorf("%x is taken for the reply to sample %d", b, i)
			}
		}
	})
}

// FuzzEchoQuotation: what an ICMP error quotes is a sample that was sent, or none.
func FuzzEchoQuotation(f *testing.F) {
	for _, b := range echoMessages() {
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, ipv6 bool) {
		const sent = 65536 + 100
		latest := func(r uint16) int {
			if i := 65536 + int(r); i < sent {
				return i
			}
			return int(r)
		}
		m := fuzzedEcho(ipv6, 7)
		if i, ok := m.quoted(b, latest); ok && (i < 0 || i >= sent || uint16(i) != binary.BigEndian.Uint16(b[6:])) {
			t.Errorf("%x is taken for sample %d", b, i)
		}
	})
}

func TestTheEchoFuzzTargetsHaveTheirSeeds(t *testing.T) {
	if n := len(echoMessages()); n != 37 {
		t.Errorf("%d seeds, want 37", n)
	}
	replies, quoted := 0, 0
	for _, ipv6 := range []bool{false, true} {
		m := fuzzedEcho(ipv6, 7)
		for _, b := range echoMessages() {
			if _, ok := m.reply(b); ok {
				replies++
			}
			if _, ok := m.reply(withoutIPv4Header(b)); ok {
				replies++
			}
			if _, ok := m.quoted(b, func(uint16) int { return 109_999 }); ok {
				quoted++
			}
		}
	}
	if replies != 12 || quoted < 6 {
		t.Errorf("the seeds hold %d replies and %d quotations, want 12 and 6 at least", replies, quoted)
	}
}
