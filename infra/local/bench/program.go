package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"isochrone/infra/local/child"
)

// build builds the prober, without the race detector.
func (b *bench) build(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(b.programs, "prober"), "./prober")
	cmd.Dir, cmd.Env = b.root, append(slices.Clone(b.environ), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the prober: %w\n%s", err, out)
	}
	return nil
}

func (b *bench) prober(args ...string) []string {
	return append([]string{filepath.Join(b.programs, "prober")}, args...)
}

// place is where the two ends of a measurement are.
type place struct {
	name string
	far  string // the far end's address, as the near end sees it
	// near and farther start a command at one end; as exec.Cmd.Start does for this program's own
	// place.
	startNear, startFar func(*exec.Cmd, func()) error
}

// loopback is this machine's own loopback interface.
var loopback = place{name: "loopback", far: "127.0.0.1", startNear: child.Start, startFar: child.Start}

// process is a server at the far end.
type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	exited chan struct{}
}

// serve starts a server at the far end of a place. It is given a moment to listen.
func (p place) serve(command []string) (*process, error) {
	s := &process{cmd: exec.Command(command[0], command[1:]...), exited: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := p.startFar(s.cmd, func() { close(s.exited) }); err != nil {
		return nil, fmt.Errorf("starting %q: %w", strings.Join(command, " "), err)
	}
	select {
	case <-s.exited:
		return nil, fmt.Errorf("starting %q: it ended: %s\n%s", strings.Join(command, " "), s.cmd.ProcessState, s.output.String())
	case <-time.After(700 * time.Millisecond):
		return s, nil
	}
}

func (s *process) stop() {
	_ = child.Signal(s.cmd, syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(5 * time.Second):
		_ = child.Signal(s.cmd, syscall.SIGKILL)
		<-s.exited
	}
}

// client runs a command at the near end and returns what it wrote to standard output.
func (p place) client(ctx context.Context, command []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.Command(command[0], command[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exited := make(chan struct{})
	if err := p.startNear(cmd, func() { close(exited) }); err != nil {
		return nil, fmt.Errorf("starting %q: %w", strings.Join(command, " "), err)
	}
	select {
	case <-exited:
	case <-ctx.Done():
		_ = child.Signal(cmd, syscall.SIGKILL)
		<-exited
		return nil, fmt.Errorf("running %q: %w", strings.Join(command, " "), ctx.Err())
	}
	if !cmd.ProcessState.Success() {
		return nil, fmt.Errorf("running %q: %s\n%s%s", strings.Join(command, " "), cmd.ProcessState, stdout.String(), stderr.String())
	}
	return stdout.Bytes(), nil
}

// needs says what to install where a tool is missing.
func needs(tool, pkg string) error {
	if _, err := exec.LookPath(tool); err != nil {
		return errors.Join(fmt.Errorf("%s is measured beside us and is not here: install Debian's package %s", tool, pkg), err)
	}
	return nil
}
