package wan_test

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

const burst = 20

// flood sends n datagrams of size bytes from a to b, with a gap after every burst, and returns their numbers as
// b saw them arrive, with the flow as the relay counted it.
func flood(t *testing.T, w *wan.WAN, n, size int, gap time.Duration) ([]uint64, relay.Flow) {
	t.Helper()
	c, err := w.ListenPacket("b", "udp", at(w, "b", "public", 0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	within(t, c)
	enlarge(t, c.(*net.UDPConn))
	d, err := w.Dial(t.Context(), "a", "udp", portOf(c.LocalAddr()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	body := make([]byte, size)
	for i := range n {
		binary.BigEndian.PutUint64(body, uint64(i))
		if _, err := d.Write(body); err != nil {
			t.Fatal(err)
		}
		if i%burst == burst-1 {
			time.Sleep(gap)
		}
	}
	f := theFlow(t, w, uint64(n), relay.Query{From: "a", To: "b", Protocol: "udp", SourcePort: portOf(d.LocalAddr()).Port()})
	var seen []uint64
	for range f.Delivered {
		if _, _, err := c.ReadFrom(body); err != nil {
			t.Fatalf("after %d of %d datagrams: %v", len(seen), f.Delivered, err)
		}
		seen = append(seen, binary.BigEndian.Uint64(body))
	}
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.ReadFrom(body); err == nil {
		t.Errorf("more than the %d datagrams arrived that were counted", f.Delivered)
	}
	return seen, f
}

// enlarge makes a receive buffer that holds a whole test's datagrams.
func enlarge(t *testing.T, c *net.UDPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var set error
	if err := raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 32<<20)
	}); err != nil || set != nil {
		t.Fatal(err, set)
	}
}

// arrivals is what the far side can tell, computed from the numbers in their order of arrival.
type arrivals struct{ delivered, lost, duplicated, reordered uint64 }

// tell is RFC 4737, section 3, word by word: NextExp is one more than the highest number so far,
// and of several copies only the first to arrive is looked at.
func tell(seen []uint64, sent int) arrivals {
	a := arrivals{delivered: uint64(len(seen))}
	known := map[uint64]bool{}
	var nextExp uint64
	for _, s := range seen {
		switch {
		case known[s]:
			a.duplicated++
		case s >= nextExp:
			nextExp = s + 1
		default:
			a.reordered++
		}
		known[s] = true
	}
	a.lost = uint64(sent - len(known))
	return a
}

func TestCountersAreWhatTheFarSideSaw(t *testing.T) {
	const n = 3000
	for _, c := range []struct {
		name string
		link topology.Link
		// least is how many of each there are at least: a fifth of what is to be expected.
		least arrivals
	}{
		{"clean", topology.Link{Delay: time.Millisecond, Jitter: 2 * time.Millisecond}, arrivals{delivered: n}},
		{"loss", topology.Link{Loss: 0.1}, arrivals{lost: 60}},
		{"duplication", topology.Link{Duplicate: 0.1, Delay: time.Millisecond}, arrivals{duplicated: 60}},
		{"reordering", topology.Link{Reorder: 0.1, ReorderBy: 20 * time.Millisecond}, arrivals{reordered: 60}},
		{"all", topology.Link{Delay: 3 * time.Millisecond, Jitter: time.Millisecond, Loss: 0.1, Duplicate: 0.1, Reorder: 0.1, ReorderBy: 20 * time.Millisecond},
			arrivals{lost: 60, duplicated: 50, reordered: 50}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := start(t, line(2, c.link))
			seen, f := flood(t, w, n, 64, time.Millisecond)
			want := tell(seen, n)
			if got := (arrivals{f.Delivered, f.Lost, f.Duplicated, f.Reordered}); got != want || f.In != n || f.QueueDropped+f.Refused != 0 {
				t.Errorf("the relay counted %+v, the far side saw %+v", f.Counters, want)
			}
			if want.delivered < c.least.delivered || want.lost < c.least.lost || want.duplicated < c.least.duplicated || want.reordered < c.least.reordered {
				t.Errorf("the far side saw %+v, want at least %+v", want, c.least)
			}
			links, err := w.Reports().Links(t.Context(), relay.Query{From: "a", To: "b", Path: "public"})
			if err != nil {
				t.Fatal(err)
			}
			if l := links.Links; len(l) != 1 || l[0].Counters != f.Counters || uint64(l[0].Delays.Count) != f.Delivered-f.Duplicated {
				t.Errorf("the link counted %+v, its one flow %+v", l, f.Counters)
			}
			if f.InBytes != n*(64+28) || f.DeliveredBytes != want.delivered*(64+28) || f.DeliveredPayload != want.delivered*64 {
				t.Errorf("bytes: %d in, %d delivered, %d of payload", f.InBytes, f.DeliveredBytes, f.DeliveredPayload)
			}
			records(t, w, f, seen)
		})
	}
}

// records compares the records of single packets with what arrived, one by one.
func records(t *testing.T, w *wan.WAN, f relay.Flow, seen []uint64) {
	t.Helper()
	all := packets(t, w, relay.Query{
		From: "a", To: "b", Path: "public", Protocol: "udp", Length: 64 + 28,
		Source: f.Source.Addr(), Destination: f.Destination.Addr(), SourcePort: f.Source.Port(), DestinationPort: f.Destination.Port(),
	})
	if got := relay.Tally(all); got != f.Counters {
		t.Errorf("the records add up to %+v, the flow is %+v", got, f.Counters)
	}
	i := 0
	for _, p := range all {
		if p.Verdict != relay.Delivered && p.Verdict != relay.Duplicate {
			continue
		}
		if i == len(seen) || p.Index != seen[i] {
			t.Fatalf("record %d of an arrival is of packet %d; the far side saw %v", i, p.Index, seen[min(i, len(seen)-1):min(i+5, len(seen))])
		}
		i++
	}
	if others := packets(t, w, relay.Query{Length: 64 + 29}); len(others) != 0 {
		t.Errorf("%d packets of another length", len(others))
	}
	if later := packets(t, w, relay.Query{Since: time.Now()}); len(later) != 0 {
		t.Errorf("%d packets came after the last", len(later))
	}
}
