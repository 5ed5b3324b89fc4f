//go:build !windows

package main

import (
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
)

// gate stands before a real storage emulator. While it is closed, storage is away: connections are
// refused, and those that were open are cut.
type gate struct {
	target, address string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
}

func newGate(t *testing.T, target string) *gate {
	g := &gate{target: target, address: "127.0.0.1:0", open: map[net.Conn]bool{}}
	g.raise(t)
	g.address = g.listener.Addr().String()
	t.Cleanup(g.close)
	return g
}

func (g *gate) raise(t *testing.T) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.listener = l
	g.mu.Unlock()
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", g.target)
			if err != nil {
				_ = from.Close()
				continue
			}
			g.mu.Lock()
			g.open[from], g.open[to] = true, true
			g.mu.Unlock()
			go g.carry(from, to)
			go g.carry(to, from)
		}
	}()
}

func (g *gate) carry(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = from.Close(), to.Close()
	g.mu.Lock()
	delete(g.open, from)
	g.mu.Unlock()
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.listener.Close()
	for c := range g.open {
		_ = c.Close()
	}
}

// child is a prober in a process of its own, which can be killed.
type child struct {
	*process
	cmd *exec.Cmd
}

func startChild(t *testing.T, a account.Account, environment, id, dir string) *child {
	t.Helper()
	c := &child{process: &process{id: id, out: &output{}}, cmd: exec.Command("prober", "run")} // as the scripts' is
	c.cmd.Env = append(os.Environ(),
		account.EnvEnvironment+"="+environment, account.EnvConnectionString+"="+a.ConnectionString, "ISOCHRONE_PROBER="+id,
		"ISOCHRONE_ADDRESSES=public=127.0.0.1", "ISOCHRONE_LISTEN=127.0.0.1:0", "ISOCHRONE_HEALTH=127.0.0.1:0", "ISOCHRONE_POLL=200ms",
		"ISOCHRONE_HEARTBEAT=1s", "ISOCHRONE_SPOOL_DIR="+dir, "GORACE=atexit_sleep_ms=0")
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", id, c.out)
		}
	})
	return c
}

func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

// Storage, which is real, goes away before the documents are made and stays away while the prober
// is killed and started again twice. Afterwards each document is there once.
func TestDocumentsSurviveAnOutageOfStorageAndKills(t *testing.T) {
	const id = "westeurope"
	x := newExchange(t)
	direct, err := url.Parse(x.base)
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, direct.Host)
	away := account.Account{ConnectionString: strings.ReplaceAll(x.account.ConnectionString, direct.Host, g.address)}
	dir := filepath.Join(t.TempDir(), "spool")
	inbox := wire.InboxContainer(x.environment)

	first := startChild(t, away, x.environment, id, dir)
	x.registered(t, id)
	start := time.Now().UTC().Add(3 * time.Second)
	var assignments []wire.Assignment
	for _, probe := range []string{"one", "two", "three"} {
		as, _ := x.assign(t, id, "northeurope", probe, connectSpec, start)
		as.Runs[0].Address, as.Runs[0].Failure = "", wire.FailureTargetDown // a document without a measurement
		assignments = append(assignments, as)
	}
	x.write(t, id, assignments, nil)
	eventually(t, "three assignments were not taken", func() bool {
		_, metrics := first.local(t, "/metrics")
		return strings.Contains(metrics, "\nisochrone_assignments_taken_total 3")
	})
	g.close()
	queued := func(c *child, want string) func() bool {
		return func() bool {
			if c.out.field("serving health", "address") == "" {
				return false
			}
			_, metrics := c.local(t, "/metrics")
			return strings.Contains(metrics, "\nisochrone_documents_queued "+want+"\n") && strings.Contains(metrics, "\nisochrone_documents_unsaved 0\n")
		}
	}
	eventually(t, "three documents do not wait", queued(first, "3"))
	first.kill()

	second := startChild(t, away, x.environment, id, dir)
	eventually(t, "the second process has not found three documents", queued(second, "3"))
	if got := second.out.field("documents wait for storage on disk", "found"); got != "3" {
		t.Errorf("it says that it found %s", got)
	}
	eventually(t, "it does not try", func() bool { return second.out.field("a delivery failed", "document") != "" })
	if _, metrics := second.local(t, "/metrics"); !strings.Contains(metrics, "\nisochrone_documents_oldest_age_seconds ") || strings.Contains(metrics, "\nisochrone_documents_oldest_age_seconds 0\n") {
		t.Error("the oldest document has no age")
	}
	if left := x.list(inbox); len(left) != 0 {
		t.Fatalf("storage is not away: %q", left)
	}
	other := startChild(t, away, x.environment, id, dir) // while the second has the folder
	eventually(t, "a second prober does not say that the folder is taken", func() bool {
		return other.out.field("another process has the spool: waiting for it to end", "folder") == dir
	})
	other.kill()
	second.kill()

	third := startChild(t, away, x.environment, id, dir)
	eventually(t, "the third process has not found three documents", queued(third, "3"))
	g.raise(t)
	eventually(t, "the documents do not arrive", queued(third, "0"))
	names := x.list(inbox)
	var probes []string
	for _, name := range names {
		probes = append(probes, x.document(t, name).Probe)
	}
	slices.Sort(probes)
	if !slices.Equal(probes, []string{"one", "three", "two"}) {
		t.Errorf("the inbox has documents of %q", probes)
	}
	if got := third.out.field("delivered", "document"); !strings.HasPrefix(got, id+"/") {
		t.Errorf("delivered %q", got)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 2 { // the lock and aside
		t.Errorf("the folder still has %v", left)
	}
	third.kill()
	fourth := startChild(t, away, x.environment, id, dir)
	eventually(t, "the fourth process does not start", queued(fourth, "0"))
	if got := fourth.out.field("documents wait for storage on disk", "found"); got != "0" {
		t.Errorf("what storage acknowledged is found again: %s", got)
	}
}
