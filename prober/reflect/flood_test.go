package reflect

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// flood keeps perSource connections open from each of the addresses 127.0.0.first and on, all
// silent: one that the reflector closes is replaced at once. It ends with the test.
func flood(t *testing.T, address string, first byte, sources, perSource int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() {
		stop()
		all.Wait()
	})
	for i := range sources {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, first+byte(i))}, Timeout: 10 * time.Second}
		for range perSource {
			all.Go(func() {
				for ctx.Err() == nil {
					conn, err := dialer.DialContext(ctx, "tcp", address)
					if err != nil {
						continue
					}
					release := context.AfterFunc(ctx, func() { _ = conn.Close() })
					_, _ = io.Copy(io.Discard, conn) // until one of the two closes
					release()
					_ = conn.Close()
				}
			})
		}
	}
}

func (r *running) waiting() int {
	r.pending.mu.Lock()
	defer r.pending.mu.Unlock()
	return r.pending.waiting.Len()
}

// displaced waits until n connections have lost their places.
func (r *running) displaced(t *testing.T, n int) {
	t.Helper()
	for range 3000 {
		if _, refused := r.counts.snapshot(); refused[ReasonPendingLimit] >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d connections have not lost their places", n)
}

func TestAFloodOfSilentConnectionsLocksNobodyOut(t *testing.T) {
	const sources, perSource, wanted = 8, 32, 60 // the flood fills the limit exactly
	sessions := make([]wire.Session, wanted)
	for i := range sessions {
		sessions[i] = session()
		sessions[i].ID = wire.SessionID{1, byte(i)}
	}
	r, _ := open(t, Limits{Pending: sources * perSource, PendingPerSource: perSource, Hello: time.Minute}, sessions...)
	flood(t, r.address, 2, sources, perSource)
	for range 1000 {
		if r.waiting() == sources*perSource {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	before, began, full := heap(), time.Now(), 0
	for i, s := range sessions {
		if n := r.waiting(); n == sources*perSource {
			full++
		} else if n > sources*perSource {
			t.Errorf("%d connections are pending, the limit is %d", n, sources*perSource)
		}
		conn := dial(t, r.address)
		if !greet(t, conn, s, wire.NewNonce()) {
			t.Fatalf("session %d was locked out", i)
		}
		if _, err := ask(t, conn, s, uint64(i)); err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
		_ = conn.Close()
		time.Sleep(50 * time.Millisecond)
	}
	// A place that a real session took and left is free for the moment that the flood needs to
	// dial again; most of the time there was none.
	if took := time.Since(began); took < 3*time.Second || full < wanted*2/3 {
		t.Errorf("in %s the limit was reached at %d of %d looks: this test looks at no flood", took, full, wanted)
	}
	if grown := int64(heap()) - int64(before); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if admitted, refused := r.counts.snapshot(); admitted != wanted || refused[ReasonPendingLimit] < wanted/2 || refused[ReasonConnectionLimit] > 0 {
		t.Errorf("admitted %d, refused %v; want %d, and a flooder displaced for most of them", admitted, refused, wanted)
	}
}

// A peer far away needs its round trip, in which a fast flood can fill the limit anew many times.
func TestAFastFloodFromAFewSourcesDoesNotDisplaceAPeerFarAway(t *testing.T) {
	const sources, perSource = 12, 32
	s := session()
	limit := (sources - 4) * perSource // less than the flood holds: its connections displace each other
	r, _ := open(t, Limits{Pending: limit, PendingPerSource: perSource, Hello: time.Minute}, s)
	flood(t, r.address, 2, sources, perSource)
	r.displaced(t, limit)
	conn := dial(t, r.address)
	_, refused := r.counts.snapshot()
	r.displaced(t, refused[ReasonPendingLimit]+4*limit) // the oldest of all it is by now
	if !greet(t, conn, s, wire.NewNonce()) {
		t.Error("it was displaced before it could show its key")
	}
}

func TestWhoLosesAPlace(t *testing.T) {
	for _, c := range []struct {
		name  string
		enter string // sources, a letter each, in this order; the limit is reached with the last but one
		want  string // the one that loses its place, by source and number
	}{
		{"the oldest, where nobody has more than its share of 2", "abcabd", "a1"},
		{"the oldest of who has more", "abbbc", "b1"},
		{"not one that has its share, although it is older", "aabbbc", "b1"},
		{"the oldest of two that have more", "cbabbaad", "b1"},
		{"the newcomer's own source, if that is the one", "abbbb", "b1"},
	} {
		p := newPending(len(c.enter)-1, 8)
		names := map[*net.TCPConn]string{}
		seen := map[byte]int{}
		for i := range len(c.enter) {
			conn, letter := new(net.TCPConn), c.enter[i]
			seen[letter]++
			names[conn] = fmt.Sprintf("%c%d", letter, seen[letter])
			_, taken, reason := p.enter(conn, sourceOf(addressOf(letter)))
			if want := map[bool]string{true: c.want}[i == len(c.enter)-1]; reason != "" || names[taken] != want {
				t.Errorf("%s: with number %d %q lost its place (%q), want %q", c.name, i, names[taken], reason, want)
			}
		}
	}
}

// The counts by which the loser is chosen stay right whatever happens.
func TestPendingForgetsWhoLeft(t *testing.T) {
	p := newPending(12, 8)
	var places []*place
	for i := range 200 {
		mine, _, reason := p.enter(new(net.TCPConn), sourceOf(addressOf("abca"[i%4])))
		if reason == "" {
			places = append(places, mine)
		}
		if i%3 == 0 {
			p.leave(places[(i*7)%len(places)]) // of some it is the second time
		}
	}
	for _, q := range places {
		p.leave(q)
	}
	if p.waiting.Len() != 0 || len(p.sources) != 0 || p.greedy != 0 {
		t.Errorf("%d connections, %d sources, %d of them greedy; want none", p.waiting.Len(), len(p.sources), p.greedy)
	}
}

func addressOf(letter byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, letter}) }
