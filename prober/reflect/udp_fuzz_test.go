package reflect

import (
	"bytes"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// hand is a stampServer without a socket, with one open session and another that is not opened.
type hand struct {
	*stampServer
	counts *counts
	own    *source
	other  *source
	remote netip.AddrPort
}

func newHand(t testing.TB) *hand {
	c := newClock()
	h := &hand{counts: &counts{}, remote: netip.MustParseAddrPort("192.0.2.1:4000")}
	r := New(Config{Observer: h.counts, Now: c.now, Uptime: c.uptime, Log: slog.New(slog.DiscardHandler)})
	h.stampServer = newStampServer(r, 7700)
	first, second := stampOf(1), stampOf(2)
	r.Admit([]wire.Session{first, second})
	c.move(3 * time.Second)
	h.own = &source{session: first, key: stamp.NewAuthenticator(first.Key[:])}
	h.other = &source{session: second, key: stamp.NewAuthenticator(second.Key[:])}
	if h.give(h.own.control(0), h.remote) == nil {
		t.Fatal("the session was not opened")
	}
	return h
}

func (h *hand) give(b []byte, from netip.AddrPort) []byte {
	return h.handle(b, &socket.Packet{Bytes: len(b), At: 1_790_000_000_000_000_000, TTL: 60, Remote: from, Local: netip.MustParseAddr("192.0.2.9")})
}

func (h *hand) followed(sequence uint32) []byte { return h.own.followed(sequence) }

// sealed signs a packet of followed, which was changed.
func (h *hand) sealed(b []byte) []byte {
	h.own.key.SignFollowed(b)
	return b
}

// packets are the fuzz target's seeds, each near a decision of the reflector's.
func packets(h *hand) [][]byte {
	reply := h.give(h.own.sample(1), h.remote)
	all := [][]byte{
		nil, make([]byte, 44), make([]byte, 112), make([]byte, stamp.ControlBytes), make([]byte, 1452), make([]byte, 1453),
		h.own.sample(0), h.own.sample(99), h.own.sample(100), h.own.sample(stamp.WarmupFrom), h.own.sample(stamp.ControlFrom), h.own.sample(0)[:112],
		h.own.control(0), h.own.control(255), h.other.control(0), h.other.sample(0), bytes.Clone(reply),
	}
	followed := h.followed(2)
	all = append(all, followed, h.followed(3), h.give(h.followed(4), h.remote))
	for _, at := range []int{113, 115} { // its type, its length
		changed := bytes.Clone(followed)
		changed[at]++
		all = append(all, h.sealed(changed))
	}
	control := h.own.control(3)
	for _, at := range []int{0, 26, 96, 112, 113, 115, 116, 132, 152, 153, 172, 191} {
		changed := bytes.Clone(control)
		changed[at] ^= 0xFF
		all = append(all, changed)
	}
	return all
}

// FuzzDatagram holds the reflector to this: whatever it answers is the holder's of a key, from who
// opened the session, and the reply is as large and signed; all else is counted.
func FuzzDatagram(f *testing.F) {
	for _, b := range packets(newHand(f)) {
		f.Add(b, true)
		f.Add(b, false)
	}
	stranger := netip.MustParseAddrPort("198.51.100.1:4000")
	f.Fuzz(func(t *testing.T, b []byte, bound bool) {
		h := newHand(t)
		from := stranger
		if bound {
			from = h.remote
		}
		admittedBefore, refusedBefore := h.counts.snapshot()
		reply := h.give(bytes.Clone(b), from)
		admitted, refused := h.counts.snapshot()
		if reply == nil {
			if len(refused) == len(refusedBefore) {
				t.Fatal("it was not answered, nor counted")
			}
			return
		}
		if len(refused) != len(refusedBefore) {
			t.Fatal("it was answered and refused")
		}
		key := h.own.key
		if admitted > admittedBefore {
			key = h.other.key
		} else if from == stranger {
			t.Fatal("a stranger was answered")
		}
		if len(reply) != len(b) || !key.Verify(reply) || !key.Verify(b) {
			t.Fatalf("a packet of %d octets was answered with %d", len(b), len(reply))
		}
	})
}

func TestTheFuzzTargetHasItsSeeds(t *testing.T) {
	if n := len(packets(newHand(t))); n != 34 {
		t.Errorf("%d seeds, want 34", n)
	}
}

func TestNoDatagramAllocates(t *testing.T) {
	h := newHand(t)
	p := &socket.Packet{At: 1, TTL: 60, Remote: h.remote, Local: netip.MustParseAddr("192.0.2.9")}
	samples, followed := [][]byte{}, [][]byte{}
	for i := range uint32(100) {
		samples, followed = append(samples, h.own.sample(i)), append(followed, h.followed(i))
	}
	wrong := h.own.sample(5)
	wrong[100] ^= 1
	control := h.own.control(1)
	stray := h.other.control(0)
	stray[130] ^= 1 // the session is known, the key is not proved
	for name, give := range map[string]func(i int){
		"samples":           func(i int) { h.handle(samples[i%100], p) },
		"with a follow-up":  func(i int) { h.handle(followed[i%100], p) },
		"with a wrong key":  func(int) { h.handle(wrong, p) },
		"control":           func(int) { h.handle(control, p) },
		"forged openings":   func(int) { h.handle(stray, &socket.Packet{Remote: netip.MustParseAddrPort("198.51.100.1:4000")}) },
		"too short for any": func(int) { h.handle(wrong[:50], p) },
	} {
		i := 0
		if allocated := testing.AllocsPerRun(200, func() { give(i); i++ }); allocated != 0 {
			t.Errorf("%s: %v allocations each, want none", name, allocated)
		}
	}
}
