package functionshost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Attributes of what the handler writes, as the host's logs have them.
const consoleCategory = "Host.Function.Console"

const (
	maxLine = 64 << 10 // bytes; what is longer is logged in pieces
	// groupWait is how long killed processes may take to vanish.
	groupWait = 5 * time.Second
	// drainWait is how long output may still come once the group is gone: a process that has left
	// the group holds the pipe open, and must not hold the host up.
	drainWait = 300 * time.Millisecond
	lastLines = 3 // of stderr, kept for the error of an exit
)

// process is one run of the handler: a process group of its own.
type process struct {
	cmd    *exec.Cmd
	pid    int
	exited chan struct{} // closed when the handler has ended and its output is read
	code   int           // valid then; 128 + the signal's number if one ended it

	mu     sync.Mutex
	stderr []string // the last lines
}

// startProcess starts the handler. Whatever it starts itself stays in its group, and ends with it.
func startProcess(a *app, env []string, log *slog.Logger) (*process, error) {
	// The host prefers a file of the app, and takes the name for a program on the path otherwise.
	executable := filepath.Join(a.dir, a.executable)
	if filepath.IsAbs(a.executable) {
		executable = a.executable
	} else if _, err := os.Stat(executable); err != nil {
		executable = a.executable
	}
	p := &process{cmd: exec.Command(executable, a.arguments...), exited: make(chan struct{})}
	p.cmd.Dir = a.dir
	p.cmd.Env = env
	p.cmd.SysProcAttr = groupAttributes()

	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, outRead.Close(), outWrite.Close())
	}
	p.cmd.Stdout, p.cmd.Stderr = outWrite, errWrite

	started := make(chan error, 1)
	go p.run(started, []*os.File{outRead, errRead}, log)
	err = <-started
	_ = outWrite.Close()
	_ = errWrite.Close()
	if err != nil {
		return nil, errors.Join(err, outRead.Close(), errRead.Close())
	}
	return p, nil
}

// run starts the handler and sees it through to its end. It stays on one thread: on Linux the
// handler dies with the thread that started it (see groupAttributes), which must not be one that
// the runtime ends early.
func (p *process) run(started chan<- error, output []*os.File, log *slog.Logger) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = p.cmd.Process.Pid
	log = log.With("category", consoleCategory, "handler_pid", p.pid)
	var readers sync.WaitGroup
	readers.Go(func() { p.readLines(output[0], log, slog.LevelInfo) })
	readers.Go(func() { p.readLines(output[1], log, slog.LevelError) })
	started <- nil

	_ = p.cmd.Wait() // what it says is in the process's state
	p.code = exitCode(p.cmd.ProcessState)
	p.killGroup()
	for _, f := range output {
		_ = f.SetReadDeadline(time.Now().Add(drainWait))
	}
	readers.Wait()
	close(p.exited)
}

func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// readLines logs what the handler writes, a record a line.
func (p *process) readLines(from *os.File, log *slog.Logger, level slog.Level) {
	defer func() { _ = from.Close() }()
	lines := bufio.NewReaderSize(from, maxLine)
	for {
		line, _, err := lines.ReadLine()
		if len(line) > 0 {
			text := string(line)
			log.Log(context.Background(), level, text)
			if level == slog.LevelError {
				p.remember(text)
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
				log.Error("reading the handler's output", "error", err)
			}
			return
		}
	}
}

func (p *process) remember(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stderr = append(p.stderr, line)
	p.stderr = p.stderr[max(0, len(p.stderr)-lastLines):]
}

// failure describes the end of a handler that should not have ended.
func (p *process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := ""
	if len(p.stderr) > 0 {
		text = ": " + strings.Join(p.stderr, ", ")
	}
	return fmt.Errorf("%s exited with code %d (0x%X)%s", filepath.Base(p.cmd.Path), p.code, p.code, text)
}

// terminate asks the group to end, and ends it if it has not within grace.
func (p *process) terminate(grace time.Duration) {
	if grace > 0 {
		_ = syscall.Kill(-p.pid, syscall.SIGTERM)
		select {
		case <-p.exited:
			return
		case <-time.After(grace):
		}
	}
	p.killGroup()
	<-p.exited
}

// killGroup ends every process of the group and waits until they are gone.
func (p *process) killGroup() {
	for deadline := time.Now().Add(groupWait); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if syscall.Kill(-p.pid, syscall.SIGKILL) != nil || !groupLives(p.pid) {
			return
		}
	}
}
