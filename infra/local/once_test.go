package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
)

// Two copies run side by side, in one folder. One of them may not emulate a network, and says so; the
// other does, and loses a prober.
func TestOnceEndsWithZeroOnlyWhenEveryPairWasMeasured(t *testing.T) {
	root, err := azuritetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "make", "build", "package")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make build package: %v\n%s", err, out)
	}
	var both sync.WaitGroup
	for name, c := range map[string]struct {
		under   []string // the command that it runs under
		disturb func(pid int) error
		code    int
		says    []string
	}{
		"undisturbed": {[]string{"setpriv", "--bounding-set", "-net_admin,-sys_admin", "--inh-caps", "-net_admin,-sys_admin"}, nil,
			0, []string{"No emulated wide-area network: ", "6 rows, 0 with a failure code"}},
		"a prober dies": {nil, func(pid int) error { return killProber(pid, "eastus") },
			1, []string{"emulated network: 3 nodes", "4 of 6 planned runs have no result"}},
	} {
		both.Go(func() {
			out, code, err := once(ctx, root, c.under, c.disturb)
			if err != nil || code != c.code {
				t.Errorf("%s: exit code %d (%v), want %d:\n%s", name, code, err, c.code, out)
			}
			for _, says := range c.says {
				if !strings.Contains(out, says) {
					t.Errorf("%s: it does not say %q:\n%s", name, says, out)
				}
			}
		})
	}
	both.Wait()
	if left := stillRunning(t, root); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

// once runs bin/local --once, and disturbs it as soon as its probers are registered.
func once(ctx context.Context, root string, under []string, disturb func(pid int) error) (string, int, error) {
	command := append(slices.Clone(under), filepath.Join(root, "bin", "local"), "--once",
		"--config", "infra/local/testdata/quick.yaml", "--wan", "infra/local/testdata/quick-wan.yaml")
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = root
	out := &lines{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	defer func() { // a run that ended badly keeps its logs for a person
		if _, dir, ok := strings.Cut(out.String(), "\nlogs are in "); ok {
			_ = os.RemoveAll(filepath.Join(root, strings.TrimSpace(dir)))
		}
	}()
	var disturbed error
	if disturb != nil {
		for !strings.Contains(out.String(), "probers registered") && !strings.Contains(out.String(), "logs are in") && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
		disturbed = disturb(cmd.Process.Pid)
	}
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return out.String(), 0, err
	}
	return out.String(), cmd.ProcessState.ExitCode(), disturbed
}

// Write makes lines an io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// killProber kills the named prober among the children of a process.
func killProber(parent int, prober string) error {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var pid, of int
		var state string
		_, rest, _ := strings.Cut(string(stat), ") ") // after the name, which may hold blanks
		if _, err := fmt.Sscan(rest, &state, &of); err != nil || of != parent {
			continue
		}
		if _, err := fmt.Sscan(string(stat), &pid); err != nil {
			return err
		}
		environ, err := os.ReadFile(filepath.Join(filepath.Dir(name), "environ"))
		if err == nil && strings.Contains(string(environ), "ISOCHRONE_PROBER="+prober+"\x00") {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("process %d has no prober %q", parent, prober)
}
