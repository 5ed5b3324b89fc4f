// Package relay carries packets between the TUNs of emulated nodes, each as its link says. It runs
// as a process of its own, so that its timing is disturbed by no other work, and keeps account of
// every packet: in counters of links and flows, and in records of the latest packets. The kernel hands
// over TCP's packets many at a time; whatever is decided or counted is of those on the wire.
package relay

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"isochrone/infra/local/wan/topology"
)

// Orders are what a relay is started with, in JSON, as the first value on its standard input.
// The input then stays open: its end is the relay's.
type Orders struct {
	Topology topology.Topology `json:"topology"`
	Sizes    Sizes             `json:"sizes"`
	Margin   time.Duration     `json:"margin_ns"` // see DefaultMargin
	Device   string            `json:"device"`    // the name of every node's TUN
}

// The descriptors that a relay inherits: its listener, then a TUN for every node in the order of
// the topology, then in the same order every node's /proc/net/dev.
const (
	listenerFile = 3
	firstTUN     = 4
)

// Ready is the line that a relay writes when it carries packets.
const Ready = "ready\n"

// Main is the relay's process: it takes its orders from stdin, says on stdout when it is ready,
// and returns the exit code when stdin ends or the relay cannot go on.
func Main(stdin io.Reader, stdout, stderr io.Writer) int {
	if err := run(stdin, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "wan-relay: %v\n", err)
		return 1
	}
	return 0
}

func run(stdin io.Reader, stdout io.Writer) error {
	var o Orders
	in := json.NewDecoder(stdin)
	if err := in.Decode(&o); err != nil {
		return fmt.Errorf("reading the relay's orders: %w", err)
	}
	if err := o.Topology.Validate(); err != nil {
		return fmt.Errorf("reading the relay's orders: %w", err)
	}
	// One processor for the loop whatever those who ask for reports and the collector do.
	runtime.GOMAXPROCS(max(4, runtime.NumCPU()))
	debug.SetGCPercent(400)
	listener, err := net.FileListener(os.NewFile(listenerFile, "listener"))
	if err != nil {
		return fmt.Errorf("taking over the listener: %w", err)
	}
	c, err := newClock()
	if err != nil {
		return err
	}
	tuns := make([]*os.File, len(o.Topology.Nodes))
	nodes := make([]statistics, len(tuns))
	for i, n := range o.Topology.Nodes {
		tuns[i] = os.NewFile(uintptr(firstTUN+i), "TUN of "+n.Name)
		dev := os.NewFile(uintptr(firstTUN+len(tuns)+i), "/proc/net/dev of "+n.Name)
		nodes[i] = statistics{node: n.Name, device: o.Device, dev: dev}
	}
	e := newEngine(&o.Topology, o.Sizes)
	l, err := newLoop(e, c, o.Margin, tuns)
	if err != nil {
		return err
	}
	ended := make(chan error, 3)
	server := newServer(e, nodes)
	go func() { ended <- fmt.Errorf("serving reports: %w", server.Serve(listener)) }()
	go func() { ended <- l.run() }()
	go func() {
		_, err := io.Copy(io.Discard, io.MultiReader(in.Buffered(), stdin))
		ended <- err // nil: whoever started it has ended, or wants it to
	}()
	if _, err := io.WriteString(stdout, Ready); err != nil {
		return fmt.Errorf("saying that the relay is ready: %w", err)
	}
	err = <-ended
	runtime.KeepAlive(tuns)
	return err
}
