package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"isochrone/infra/local/child"
)

const (
	// jtlMemoryBarMB is what reading a result file of any size may take.
	jtlMemoryBarMB = 64
	// jtlHeapBytes is what is read within this process, where nothing but the heap is looked at.
	jtlHeapBytes = 256 << 20
	jtlFileBytes = 1 << 30
)

// heapWatch looks at the heap while a text is read.
type heapWatch struct {
	in    io.Reader
	since int
	most  uint64
}

// Read implements io.Reader.
func (h *heapWatch) Read(p []byte) (int, error) {
	n, err := h.in.Read(p)
	if h.since += n; h.since > 4<<20 || err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		h.since, h.most = 0, max(h.most, m.HeapAlloc)
	}
	return n, err
}

// jtlHeap reads a file that is made while it is read.
func (b *bench) jtlHeap() error {
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	text := newJTLStream(jtlHeapBytes)
	watch := &heapWatch{in: text}
	begin := time.Now()
	rows, err := readJTL(watch)
	if err != nil {
		return fmt.Errorf("reading a generated result file: %w", err)
	}
	grown := float64(int64(watch.most)-int64(before.HeapAlloc)) / 1e6
	b.say("%d MB, %d samples into %d rows in %.1f s: the heap grew by %.1f MB at most", jtlHeapBytes>>20, text.rows, rows, time.Since(begin).Seconds(), grown)
	b.figure("convert_jtl_memory", grown, "MB", atMost(jtlMemoryBarMB))
	return nil
}

// jtlResident converts a file of a gigabyte with the command that people use.
func (b *bench) jtlResident(ctx context.Context) (err error) {
	program := filepath.Join(b.programs, "sweep")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "./sweep")
	build.Dir, build.Env = b.root, append(slices.Clone(b.environ), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building sweep: %w\n%s", err, out)
	}
	name := filepath.Join(b.programs, "large.jtl")
	size, rows, err := writeJTL(name)
	defer func() { err = errors.Join(err, os.Remove(name)) }()
	if err != nil {
		return fmt.Errorf("writing a result file of a gigabyte: %w", err)
	}
	cmd := exec.Command(program, "convert", name, "--source", "here", "--target", "there", "--path", "public")
	cmd.Env = b.environ
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exited := make(chan struct{})
	begin := time.Now()
	if err := child.Start(cmd, func() { close(exited) }); err != nil {
		return fmt.Errorf("starting sweep convert: %w", err)
	}
	resident := mostResident(ctx, cmd.Process.Pid, exited)
	if ctx.Err() != nil {
		_ = child.Signal(cmd, syscall.SIGKILL)
		<-exited
		return ctx.Err()
	}
	took := time.Since(begin).Seconds()
	if !cmd.ProcessState.Success() {
		return fmt.Errorf("running sweep convert: %s\n%s%.2000s", cmd.ProcessState, stderr.String(), stdout.String())
	}
	if resident == 0 {
		return errors.New("running sweep convert: the system does not say how much memory it had")
	}
	b.say("sweep convert: %.0f MB, %d samples in %.1f s (%.0f MB/s), at most %.1f MB resident", float64(size)/1e6, rows, took, float64(size)/1e6/took, resident)
	b.figure("convert_jtl_1gb_rss", resident, "MB", atMost(jtlMemoryBarMB))
	return nil
}

// mostResident is the most memory that a process had until it ended, in MB. What wait4 says of a child
// holds what its parent had when it started it.
func mostResident(ctx context.Context, pid int, exited <-chan struct{}) (most float64) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status") // gone once it has ended
		for line := range strings.Lines(string(status)) {
			if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kib, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
				most = max(most, kib*1024/1e6)
			}
		}
		select {
		case <-exited:
			return most
		case <-ctx.Done():
			return most
		case <-tick.C:
		}
	}
}

func writeJTL(name string) (size int64, rows int, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, 0, err
	}
	text := newJTLStream(jtlFileBytes)
	w := bufio.NewWriterSize(f, 1<<20)
	size, err = io.Copy(w, text)
	return size, text.rows, errors.Join(err, w.Flush(), f.Close())
}
