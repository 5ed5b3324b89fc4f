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
	"isochrone/infra/local/wan"
)

// Copies run side by side, in one folder. One of them may not emulate a network, and says so; the
// others do, and lose a prober, or the relay: during the first sweep, and after it.
func TestExitCodeIsZeroOnlyWhenEveryPairWasMeasured(t *testing.T) {
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
	var all sync.WaitGroup
	for name, c := range map[string]struct {
		under   []string // the command that it runs under
		args    []string
		moment  string // it is disturbed when it has said so
		disturb func(pid int) error
		code    int
		says    []string
	}{
		"undisturbed": {[]string{"setpriv", "--bounding-set", "-net_admin,-sys_admin", "--inh-caps", "-net_admin,-sys_admin"}, []string{"--once"}, "", nil,
			0, []string{"No emulated wide-area network: ", "6 rows, 0 with a failure code"}},
		"with history": {nil, []string{"--once", "--history", "1w"}, "", nil,
			0, []string{"simulated history of environment history from ", "n = 168 sweeps: ", "probers registered", "6 rows, 0 with a failure code, in table runshistory"}},
		"a prober dies": {nil, []string{"--once"}, "probers registered",
			func(pid int) error { return killChild(pid, "environ", "ISOCHRONE_PROBER=eastus\x00") },
			1, []string{"emulated network: 3 nodes", "4 of 6 planned runs have no result"}},
		"the relay dies at first": {nil, []string{"--once"}, "Functions host on", killRelay,
			3, []string{"local: waiting for the sweep: the relay of the emulated network ended"}},
		"the relay dies later": {nil, nil, "Ctrl-C stops everything", killRelay,
			3, []string{"local: the relay of the emulated network ended", "the relay ended early: signal: killed"}},
	} {
		all.Go(func() {
			out, code, err := once(ctx, root, c.under, c.args, c.moment, c.disturb)
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
	all.Wait()
	if left := stillRunning(t, root); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

// once runs bin/local, and disturbs it as soon as it has said what the moment is.
func once(ctx context.Context, root string, under, args []string, moment string, disturb func(pid int) error) (string, int, error) {
	command := append(slices.Clone(under), filepath.Join(root, "bin", "local"),
		"--config", "infra/local/testdata/quick.yaml", "--wan", "infra/local/testdata/quick-wan.yaml")
	command = append(command, args...)
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
		for !strings.Contains(out.String(), moment) && !strings.Contains(out.String(), "logs are in") && ctx.Err() == nil {
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

func killRelay(parent int) error { return killChild(parent, "cmdline", wan.RelayArgument+"\x00") }

// killChild kills the child of a process that has a text in a file of its folder in /proc.
func killChild(parent int, file, text string) error {
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
		content, err := os.ReadFile(filepath.Join(filepath.Dir(name), file))
		if err == nil && strings.Contains(string(content), text) {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("process %d has no child with %q in its %s", parent, text, file)
}
