package wan_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

// printPermitted prints what a process without privileges may do.
func printPermitted() int {
	if err := syscall.Setuid(65534); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(wan.Permitted())
	return 0
}

func TestPermittedSaysWhatHinders(t *testing.T) {
	if err := wan.Permitted(); err != nil {
		t.Errorf("as root: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), os.Args[0], "permitted").CombinedOutput()
	want := "emulating a network needs root, or the capabilities CAP_SYS_ADMIN and CAP_NET_ADMIN and the right to open /dev/net/tun: " +
		"creating a network namespace: operation not permitted\n"
	if err != nil || string(out) != want {
		t.Errorf("as nobody: %q, %v; want %q", out, err, want)
	}
}

func TestSocketFileIsRemoved(t *testing.T) {
	name := filepath.Join(t.TempDir(), "wan.sock")
	w, err := wan.Start(t.Context(), line(2, topology.Link{}), wan.Options{Socket: name, Log: testLog{t}})
	if err != nil {
		t.Fatal(err)
	}
	links, err := w.Reports().Links(t.Context(), relay.Query{To: "a"})
	if err != nil || len(links.Links) != 1 || w.Socket != name {
		t.Errorf("%+v, %v", links, err)
	}
	if err := w.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := w.Reports().Links(t.Context(), relay.Query{}); err == nil {
		t.Error("the relay answers after its end")
	}
}

// The relay's end is told, and Stop reports that it was early.
func TestRelayThatDiesIsReported(t *testing.T) {
	w, err := wan.Start(t.Context(), line(2, topology.Link{}), wan.Options{Log: testLog{t}})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(w.RelayPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.Exited():
	case <-time.After(20 * time.Second):
		t.Fatal("the relay's end was not told")
	}
	if err := w.Stop(); err == nil || err.Error() != "the relay ended early: signal: killed" {
		t.Errorf("stopping: %v", err)
	}
}

func TestRelayThatIsNoneIsSaid(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := wan.Start(ctx, line(2, topology.Link{}), wan.Options{Relay: []string{os.Args[0], "addresses"}})
	if err == nil || !strings.Contains(err.Error(), "want a program that calls RelayMain") {
		t.Errorf("%v", err)
	}
	_, err = wan.Start(ctx, topology.Topology{}, wan.Options{})
	if err == nil || err.Error() != "making an emulated network: 0 nodes: want 1 to 200" {
		t.Errorf("%v", err)
	}
}
