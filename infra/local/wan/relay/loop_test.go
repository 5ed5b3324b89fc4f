package relay

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isochrone/infra/local/wan/topology"
)

// With more due than a batch for every node, the loop goes back to look for arrivals in between.
func TestSendingIsBounded(t *testing.T) {
	b := newBench(topology.Link{Delay: time.Millisecond}, 1)
	c, err := newClock()
	if err != nil {
		t.Fatal(err)
	}
	var tuns []*os.File
	for range b.engine.routes {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"the relay's end", "the kernel's end"} {
			f := os.NewFile(uintptr(pair[i]), name)
			defer func() { _ = f.Close() }()
			if i == 0 {
				tuns = append(tuns, f)
			}
		}
	}
	l, err := newLoop(b.engine, c, time.Millisecond, tuns)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.close() }()
	const waiting = 3*batch*2 + 1 // two nodes
	for i := range uint32(waiting) {
		b.send(i, 100) // long ago, by the loop's clock
	}
	for _, want := range []uint64{batch * 2, batch * 4, batch * 6, waiting, waiting} {
		l.send()
		if got := b.link().counters; got.Delivered != want || got.Refused != 0 {
			t.Errorf("%d delivered and %d refused, want %d and 0", got.Delivered, got.Refused, want)
		}
	}
}

func TestStatisticsOfADevice(t *testing.T) {
	const dev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    2    0     0          0         0      100       1    0    3    0     0       0          0
  wan0:     100       1    0    4    0     0          0         0 18446744073709551615       1    0    1234    0     0       0          0
 short: 1 2 3
`
	for _, c := range []struct {
		device, fault string
		want          uint64
	}{
		{"wan0", "", 1234},
		{"lo", "", 3},
		{"wan", `it has no device "wan"`, 0},
		{"short", `device "short" has 3 fields, want 16`, 0},
	} {
		got, err := sendDropped([]byte(dev), c.device)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if got != c.want || fault != c.fault {
			t.Errorf("%s: %d, %q; want %d, %q", c.device, got, fault, c.want, c.fault)
		}
	}
}
