package wan_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

// printAddresses prints the addresses of the namespace that it was started in.
func printAddresses() int {
	all, err := net.InterfaceAddrs()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, a := range all {
		fmt.Println(a)
	}
	return 0
}

func addresses(t *testing.T) []string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range all {
		out = append(out, a.String())
	}
	return out
}

func TestChildSeesItsNodeAlone(t *testing.T) {
	before := addresses(t)
	w := start(t, line(2, topology.Link{}))
	for node, want := range map[string]string{"a": "127.0.0.1/8\n10.90.0.11/32", "b": "127.0.0.1/8\n10.90.0.12/32"} {
		cmd := exec.Command(os.Args[0], "addresses")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		exited := make(chan struct{})
		if err := w.StartIn(node, cmd, func() { close(exited) }); err != nil {
			t.Fatal(err)
		}
		<-exited
		if got := strings.TrimSpace(out.String()); got != want || !cmd.ProcessState.Success() {
			t.Errorf("in node %s: %s, addresses %q, want %q", node, cmd.ProcessState, got, want)
		}
	}
	if err := w.StartIn("nobody", exec.Command(os.Args[0]), func() {}); err == nil || !strings.Contains(err.Error(), `node "nobody"`) {
		t.Errorf("started in a node that is none: %v", err)
	}
	if after := addresses(t); !slices.Equal(before, after) {
		t.Errorf("the machine has addresses %q, before it had %q", after, before)
	}
}

// Whatever is done inside nodes, the threads that do it come back.
func TestThreadsComeBack(t *testing.T) {
	w := start(t, line(2, topology.Link{}))
	own := func() string {
		name, err := os.Readlink("/proc/thread-self/ns/net")
		if err != nil {
			t.Error(err)
		}
		return name
	}
	var machine string
	if machine = own(); machine == "" {
		t.Fatal("no namespace")
	}
	var work sync.WaitGroup
	for i := range 50 {
		work.Go(func() {
			node := string(rune('a' + i%2))
			err := w.Do(node, func() error {
				if own() == machine {
					t.Errorf("not inside node %s", node)
				}
				time.Sleep(time.Millisecond)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		name, err := os.Readlink("/proc/self/task/" + task.Name() + "/ns/net")
		if err == nil && name != machine {
			t.Errorf("thread %s is in %s, the machine is %s", task.Name(), name, machine)
		}
	}
}

func TestWhatHasNoRouteIsCountedAndDropped(t *testing.T) {
	w := start(t, line(2, topology.Link{}))
	d, err := w.Dial(t.Context(), "a", "udp", netip.MustParseAddrPort("10.90.7.7:9"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for range 3 {
		if _, err := d.Write([]byte("to nobody")); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		links, err := w.Reports().Links(t.Context(), relay.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if links.Unroutable == 3 && len(links.Links) == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d unroutable packets of 3, %d links", links.Unroutable, len(links.Links))
		}
		time.Sleep(5 * time.Millisecond)
	}
	// Beyond the paths there is no route at all: nothing leaves by another way.
	for _, to := range []string{"192.0.2.1:9", "10.91.0.12:9"} {
		if c, err := w.Dial(t.Context(), "a", "udp", netip.MustParseAddrPort(to)); err == nil {
			_ = c.Close()
			t.Errorf("node a has a route to %s", to)
		} else if !strings.Contains(err.Error(), unix.ENETUNREACH.Error()) {
			t.Errorf("dialing %s: %v, want %v", to, err, unix.ENETUNREACH)
		}
	}
}

// Two emulators have the same addresses and do not see each other.
func TestTwoEmulatorsSideBySide(t *testing.T) {
	slow, quick := start(t, line(2, topology.Link{Delay: 30 * time.Millisecond})), start(t, line(2, topology.Link{}))
	for _, w := range []*wan.WAN{slow, quick} {
		flood(t, w, 10, 100, 0)
	}
	for _, c := range []struct {
		w           *wan.WAN
		least, most time.Duration
	}{{slow, 30 * time.Millisecond, time.Minute}, {quick, 0, 30 * time.Millisecond}} {
		links, err := c.w.Reports().Links(t.Context(), relay.Query{From: "a"})
		if err != nil {
			t.Fatal(err)
		}
		l := links.Links[0]
		if l.Delivered != 10 || l.In != 10 || time.Duration(l.Delays.Min) < c.least-c.least/1000 || time.Duration(l.Delays.Min) > c.most {
			t.Errorf("%+v %+v, want 10 packets delayed by %s at least", l.Counters, l.Delays, c.least)
		}
	}
}

// Whatever the machine has: two machines are to measure the same.
func TestNodesHaveLinuxsOwnCongestionControl(t *testing.T) {
	allowed, err := os.ReadFile("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	want := "reno"
	if slices.Contains(strings.Fields(string(allowed)), "cubic") {
		want = "cubic"
	}
	w := start(t, line(2, topology.Link{}))
	if err := w.Do("a", func() error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		raw, err := l.(*net.TCPListener).SyscallConn()
		if err != nil {
			return err
		}
		var name string
		if failed := raw.Control(func(fd uintptr) { name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION) }); failed != nil || err != nil {
			return errors.Join(failed, err)
		}
		if name != want {
			t.Errorf("a node's congestion control is %q, want %q", name, want)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
