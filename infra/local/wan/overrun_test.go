package wan_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

// While the relay is stopped, a node sends more than the kernel keeps for it.
func TestReportTellsWhatOverran(t *testing.T) {
	const sent = 12_000
	w, err := wan.Start(t.Context(), line(2, topology.Link{}), wan.Options{Log: testLog{t}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := w.ListenPacket("b", "udp", at(w, "b", "public", 0)) // without it the kernel would answer
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	d, err := w.Dial(t.Context(), "a", "udp", portOf(c.LocalAddr()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	within(t, d)
	if err := syscall.Kill(w.RelayPID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitStopped(t, w.RelayPID())
	var wrote error
	for range sent {
		if _, err := d.Write([]byte("x")); err != nil {
			wrote = err
			break
		}
	}
	if err := syscall.Kill(w.RelayPID(), syscall.SIGCONT); err != nil || wrote != nil {
		t.Fatal(err, wrote)
	}
	links, err := w.Reports().Settled(t.Context(), relay.Query{From: "a", To: "b"})
	for deadline := time.Now().Add(20 * time.Second); err == nil && links.Links[0].In+links.Overruns["a"] < sent && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		links, err = w.Reports().Settled(t.Context(), relay.Query{From: "a", To: "b"})
	}
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := w.Overrun("a")
	if err != nil {
		t.Fatal(err)
	}
	if in, lost := links.Links[0].In, links.Overruns["a"]; lost == 0 || lost != kernels || in+lost != sent {
		t.Errorf("of %d packets %d came to the relay and %d overran, the kernel says %d", sent, in, lost, kernels)
	}
	if got := slices.Collect(maps.Keys(links.Overruns)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("asked for links from a, there are overruns of %q", got)
	}
	all, err := w.Reports().Links(t.Context(), relay.Query{})
	if b, ok := all.Overruns["b"]; err != nil || len(all.Overruns) != 2 || !ok || b > kernels {
		t.Errorf("overruns %v, %v", all.Overruns, err)
	}
}

// awaitStopped waits until all threads of a process are stopped: a signal takes its time.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(stats) == 0 {
			t.Fatalf("process %d has no threads: %v", pid, err)
		}
		stopped := 0
		for _, name := range stats {
			b, err := os.ReadFile(name)
			if _, rest, _ := strings.Cut(string(b), ") "); err == nil && strings.HasPrefix(rest, "T") {
				stopped++
			}
		}
		if stopped == len(stats) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d threads of process %d have stopped", stopped, len(stats), pid)
		}
	}
}

// The device is held as long as the emulator runs.
func TestProcessorsAreKeptAwakeUntilStop(t *testing.T) {
	const device = "/dev/cpu_dma_latency"
	held := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range files {
			if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && to == device {
				n++
			}
		}
		return n
	}
	var said strings.Builder
	w, err := wan.Start(t.Context(), line(2, topology.Link{}), wan.Options{Awake: true, Log: &said})
	if err != nil {
		t.Fatal(err)
	}
	running := held()
	if err := w.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(device); err != nil {
		if !strings.Contains(said.String(), "keeping the processors awake, which needs root and a kernel with CONFIG_CPU_IDLE") {
			t.Errorf("without the device it says %q", said.String())
		}
	} else if left := held(); running != 1 || left != 0 {
		t.Errorf("%d descriptors while it runs and %d afterwards, want 1 and 0; it says %q", running, left, said.String())
	}
}
