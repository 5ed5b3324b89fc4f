package wan_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/topology"
)

// held is what a process says of the emulator that it holds.
type held struct {
	PIDs       []int    // the relay, and the children inside nodes
	Namespaces []string // as /proc names them
	Socket     string
}

// hold runs an emulator with a child in each node until it is killed.
func hold() int {
	w, err := wan.Start(context.Background(), line(2, topology.Link{}), wan.Options{Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	h := held{PIDs: []int{w.RelayPID()}, Socket: w.Socket}
	for _, node := range []string{"a", "b"} {
		cmd := exec.Command(os.Args[0], "wait")
		if err := w.StartIn(node, cmd, func() {}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		h.PIDs = append(h.PIDs, cmd.Process.Pid)
		if err := w.Do(node, func() error {
			name, err := os.Readlink("/proc/thread-self/ns/net")
			h.Namespaces = append(h.Namespaces, name)
			return err
		}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(h); err != nil {
		return 1
	}
	select {}
}

func TestNothingOutlivesAHolderThatIsKilled(t *testing.T) {
	before := addresses(t)
	cmd := exec.Command(os.Args[0], "hold")
	cmd.Stderr = testLog{t}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var h held
	if err = errors.Join(err, json.Unmarshal(line, &h)); err != nil || len(h.PIDs) != 3 || len(h.Namespaces) != 2 {
		_ = cmd.Process.Kill()
		t.Fatalf("the holder said %q: %v", line, err)
	}
	for _, pid := range h.PIDs {
		if !runs(t, pid) {
			t.Errorf("process %d does not run while its holder does", pid)
		}
	}
	if users := usersOf(h.Namespaces); len(users) < 3 {
		t.Errorf("the namespaces are used by %v, want the holder and two children", users)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	deadline := time.Now().Add(20 * time.Second)
	for {
		left := slices.DeleteFunc(slices.Clone(h.PIDs), func(pid int) bool { return !runs(t, pid) })
		// Without a process or a descriptor the kernel removes a namespace with its TUN and
		// its addresses.
		users := usersOf(h.Namespaces)
		c, err := net.Dial("unix", h.Socket)
		if err == nil {
			_ = c.Close()
		}
		if len(left) == 0 && len(users) == 0 && err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: processes %v, users of the namespaces %v, socket: %v", left, users, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if after := addresses(t); !slices.Equal(before, after) {
		t.Errorf("the machine has addresses %q, before it had %q", after, before)
	}
}

// runs says whether a process runs; one that has ended and was not waited for does not.
func runs(t *testing.T, pid int) bool {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// usersOf lists what keeps one of the namespaces: threads in them, and descriptors.
func usersOf(namespaces []string) (users []string) {
	for _, pattern := range []string{"/proc/[0-9]*/task/*/ns/net", "/proc/[0-9]*/fd/*"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			if name, err := os.Readlink(f); err == nil && slices.Contains(namespaces, name) {
				users = append(users, f)
			}
		}
	}
	return users
}
