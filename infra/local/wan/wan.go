// Package wan emulates a wide-area network on one machine: every node is a network namespace of
// its own, with the real kernel's TCP and UDP at both ends of every link, and a relay between
// their TUNs delays, loses, copies, reorders and shapes packets, and knows what it did to each:
// in counters, in records of the latest packets of every link (relay.DefaultPackets) and in the
// flows with the latest packets (relay.DefaultFlows).
//
// It is for Linux and IPv4 alone, with an MTU of 1500 bytes; packets keep their TTL. It needs root,
// or what Permitted says. Nothing of it outlives the process: namespaces have no names, so they
// end with the last process inside; the relay and the children that StartIn starts end with
// the process that started them, even if that is killed.
package wan

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"isochrone/infra/local/child"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

// Options are how an emulator is run. What is zero has a default.
type Options struct {
	// Relay is the command that calls RelayMain; by default this program with the argument
	// wan-relay.
	Relay []string
	// Socket is the path of the unix socket for reports, at most 100 bytes; by default a name
	// that begins with @ and has no file (unix(7), abstract sockets), so that a crash leaves none.
	Socket string
	// Margin is how long before a packet is due the relay spins (see relay.DefaultMargin).
	Margin time.Duration
	// Awake keeps the machine's processors from sleeping while the emulator runs. What a sleeping
	// one needs to wake is part of what nodes measure, and the relay cannot see it: a packet waits
	// for it before the relay reads it, and after it was written. The price is that every
	// processor is busy doing nothing, on all of the machine, with the power that this takes; a
	// virtual machine's host sees it busy. It is for comparing with the truth. Where it is not to
	// be had, Log says so, and the emulator runs without.
	Awake bool
	Sizes relay.Sizes // what the relay remembers of each link
	Log   io.Writer   // what the relay complains of
}

// RelayArgument is the argument with which a program is to call RelayMain.
const RelayArgument = "wan-relay"

// RelayMain is the relay's process. It returns the exit code.
func RelayMain(stdin io.Reader, stdout, stderr io.Writer) int {
	return relay.Main(stdin, stdout, stderr)
}

// WAN is an emulated network that runs.
type WAN struct {
	Topology topology.Topology
	// Socket is where the relay answers GET /links, /flows and /packets with the parameters of
	// relay.Query: curl --unix-socket FILE http://wan/links, or with --abstract-unix-socket the
	// name behind its @. /links also tells, by node, what overran (see Overrun).
	Socket string

	machine *namespace // in which this process is
	nodes   map[string]*node
	client  *relay.Client

	relay   *exec.Cmd
	control io.Closer
	awake   *os.File // see Options.Awake; nil without
	exited  chan struct{}

	mu         sync.Mutex
	stopped    bool
	forwarders map[*Forwarder]bool
}

// Start makes the namespaces and starts the relay. ctx bounds the start alone. Stop what it
// returns.
func Start(ctx context.Context, t topology.Topology, o Options) (w *WAN, err error) {
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("making an emulated network: %w", err)
	}
	w = &WAN{Topology: t, nodes: map[string]*node{}, exited: make(chan struct{}), forwarders: map[*Forwarder]bool{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.release())
			w = nil
		}
	}()
	if w.machine, err = current(); err != nil {
		return w, err
	}
	var files []*os.File // the relay's
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if o.Awake {
		if w.awake, err = stayAwake(); err != nil && o.Log != nil {
			_, _ = fmt.Fprintf(o.Log, "wan: %v\n", err)
		}
	}
	listener, err := w.listen(o)
	if err != nil {
		return w, err
	}
	files = append(files, listener)
	var statistics []*os.File
	defer func() {
		for _, f := range statistics {
			_ = f.Close()
		}
	}()
	for _, n := range t.Nodes {
		made, h, err := newNode(&t, n, w.machine)
		if err != nil {
			return w, fmt.Errorf("making node %q: %w", n.Name, err)
		}
		w.nodes[n.Name] = made
		files, statistics = append(files, h.tun), append(statistics, h.statistics)
	}
	if err := w.startRelay(ctx, o, append(slices.Clone(files), statistics...)); err != nil {
		return w, fmt.Errorf("starting the relay: %w", err)
	}
	w.client = relay.NewClient(w.Socket)
	return w, nil
}

// listen makes the socket for reports, which the relay takes over: whoever asks early waits.
func (w *WAN) listen(o Options) (*os.File, error) {
	w.Socket = o.Socket
	if w.Socket == "" {
		w.Socket = "@isochrone-wan-" + rand.Text()
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.Socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("making the relay's socket: %w", err)
	}
	defer func() { _ = l.Close() }()
	l.SetUnlinkOnClose(false)
	f, err := l.File()
	if err != nil {
		return nil, fmt.Errorf("handing over the relay's socket: %w", err)
	}
	return f, nil
}

func (w *WAN) startRelay(ctx context.Context, o Options, files []*os.File) error {
	command := o.Relay
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
		command = []string{self, RelayArgument}
	}
	orders := relay.Orders{Topology: w.Topology, Sizes: o.Sizes, Margin: o.Margin, Device: tunName}
	if orders.Sizes.Packets == 0 {
		orders.Sizes.Packets = relay.DefaultPackets
	}
	if orders.Sizes.Flows == 0 {
		orders.Sizes.Flows = relay.DefaultFlows
	}
	if orders.Margin == 0 {
		orders.Margin = relay.DefaultMargin
	}
	w.relay = exec.Command(command[0], command[1:]...)
	w.relay.ExtraFiles, w.relay.Stderr = files, o.Log
	stdin, err := w.relay.StdinPipe()
	if err != nil {
		return err
	}
	w.control = stdin
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	w.relay.Stdout = in
	started := child.Start(w.relay, func() { close(w.exited) })
	_ = in.Close()
	if started != nil {
		w.relay = nil
		return fmt.Errorf("starting %q: %w", command[0], started)
	}
	said := make(chan error, 1)
	go func() { said <- instruct(stdin, out, orders) }()
	select {
	case err := <-said:
		return err
	case <-ctx.Done():
		return ctx.Err() // the relay's end, which release brings about, ends the goroutine
	}
}

// instruct gives the relay its orders and waits until it is ready.
func instruct(stdin io.Writer, stdout io.Reader, o relay.Orders) error {
	if err := json.NewEncoder(stdin).Encode(o); err != nil {
		return fmt.Errorf("giving it its orders: %w", err)
	}
	line, err := bufio.NewReader(io.LimitReader(stdout, 4096)).ReadString('\n')
	if err != nil || line != relay.Ready {
		return fmt.Errorf("waiting until it is ready: it said %q: %w", line, errors.Join(err, errors.New("want a program that calls RelayMain; its complaints are in the log")))
	}
	return nil
}

// Reports asks the relay what it did. It is closed by Stop.
func (w *WAN) Reports() *relay.Client { return w.client }

// Exited is closed when the relay has ended: before Stop, only if it failed.
func (w *WAN) Exited() <-chan struct{} { return w.exited }

// RelayPID is the relay's process.
func (w *WAN) RelayPID() int { return w.relay.Process.Pid }

// Stop closes the forwarders and ends the relay. Namespaces end with the last socket and process
// inside; the children that StartIn started are their starters' to end.
func (w *WAN) Stop() error {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return nil
	}
	w.stopped = true
	forwarders := w.forwarders
	w.forwarders = nil
	w.mu.Unlock()
	for f := range forwarders {
		f.Close()
	}
	w.client.Close()
	return w.release()
}

// release gives back whatever there is.
func (w *WAN) release() error {
	var errs []error
	if w.relay != nil {
		errs = append(errs, w.endRelay())
	}
	for _, n := range w.nodes {
		errs = append(errs, n.close())
	}
	if w.awake != nil {
		errs = append(errs, w.awake.Close())
	}
	if w.machine != nil {
		errs = append(errs, w.machine.close())
	}
	if w.Socket != "" && !strings.HasPrefix(w.Socket, "@") {
		if err := os.Remove(w.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing the relay's socket: %w", err))
		}
	}
	return errors.Join(errs...)
}

const patience = 5 * time.Second

func (w *WAN) endRelay() error {
	_ = w.control.Close() // it may have ended
	select {
	case <-w.exited:
	case <-time.After(patience):
		_ = child.Signal(w.relay, syscall.SIGKILL)
		<-w.exited
		return fmt.Errorf("stopping the relay: it did not end within %s and was killed", patience)
	}
	if !w.relay.ProcessState.Success() {
		return fmt.Errorf("the relay ended early: %s", w.relay.ProcessState)
	}
	return nil
}
