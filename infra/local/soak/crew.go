package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"isochrone/infra/local/child"
)

// childArgument is what this program is started with as a child.
const childArgument = "child"

var errGone = errors.New("the child has ended")

// member is a place in the crew, and the process that has it at present, if one does.
type member struct {
	task   task
	steady bool // it is never killed
	log    io.Writer
	back   time.Time     // when the next process starts, while there is none
	skew   time.Duration // of its clock
	skewed time.Time     // until when

	mu      sync.Mutex
	process *process
	busy    map[string]int // orders under way, by what they say

	spooled int // documents that its last answer said wait
	starts  int
}

// process is a child that runs.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	exited chan struct{}

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
}

// start starts the member's next process.
func (m *member) start(now time.Time) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	m.starts++
	t := m.task
	t.Now, t.Skew, t.Seed = now, m.skew, m.task.Seed*1000+uint64(m.starts) // each process has its own attempts
	p := &process{cmd: exec.Command(self, childArgument), exited: make(chan struct{}), waiting: map[int]chan answer{}}
	p.cmd.Stderr = m.log
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return fmt.Errorf("starting %q: %w", t.Name, err)
	}
	out, write := io.Pipe()
	p.cmd.Stdout = write
	if err := child.Start(p.cmd, func() { _ = write.Close(); close(p.exited) }); err != nil {
		return fmt.Errorf("starting %q: %w", t.Name, err)
	}
	go p.read(out)
	if err := p.write(t); err != nil {
		return fmt.Errorf("starting %q: %w", t.Name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process, m.busy = p, map[string]int{}
	return nil
}

func (p *process) write(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = p.stdin.Write(append(line, '\n'))
	}
	return err
}

func (p *process) read(from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue // it was killed in the middle of a line
		}
		p.mu.Lock()
		if c := p.waiting[a.ID]; c != nil {
			c <- a
			delete(p.waiting, a.ID)
		}
		p.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, from)
}

// alive is the member's process, if it has one.
func (m *member) alive() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return nil
	}
	select {
	case <-m.process.exited:
		return nil
	default:
		return m.process
	}
}

// ask gives an order and waits for the answer. An order like it that is still under way is waited for
// instead: no function of the app runs twice at once in one process.
func (m *member) ask(ctx context.Context, o order) (answer, error) {
	p := m.alive()
	if p == nil {
		return answer{}, errGone
	}
	m.mu.Lock()
	if m.busy[o.Do] > 0 {
		m.mu.Unlock()
		return answer{}, errBusy
	}
	m.busy[o.Do]++
	busy := m.busy
	m.mu.Unlock()
	back := make(chan answer, 1)
	p.mu.Lock()
	p.last++
	o.ID, o.Skew = p.last, m.skew
	p.waiting[o.ID] = back
	err := p.write(o)
	p.mu.Unlock()
	if err != nil {
		return answer{}, errGone
	}
	done := make(chan answer, 1)
	go func() {
		select {
		case a := <-back:
			done <- a
		case <-p.exited:
		}
		m.mu.Lock()
		busy[o.Do]--
		m.mu.Unlock()
		close(done)
	}()
	select {
	case a, ok := <-done:
		if !ok {
			return answer{}, errGone
		}
		if a.Error != "" {
			return a, errors.New(a.Error)
		}
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

var errBusy = errors.New("the last one is still under way")

// kill ends the member's process with SIGKILL, wherever it is, and waits for its end.
func (m *member) kill() bool {
	p := m.alive()
	if p == nil {
		return false
	}
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
	return true
}

// stop has the member's process end by itself, and kills it if it does not.
func (m *member) stop() {
	p := m.alive()
	if p == nil {
		return
	}
	_ = p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(5 * time.Second):
		m.kill()
	}
}
