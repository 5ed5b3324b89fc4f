package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// resetPeak makes a process's peak memory what it has now (proc(5), clear_refs).
func resetPeak(pid int) error {
	if err := os.WriteFile(filepath.Join("/proc", strconv.Itoa(pid), "clear_refs"), []byte("5"), 0); err != nil {
		return fmt.Errorf("resetting the handler's peak memory: %w", err)
	}
	return nil
}

// peakMB is the most memory that a process had resident, in MiB.
func peakMB(pid int) (float64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, fmt.Errorf("reading the handler's memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kilobytes / 1024, err
		}
	}
	return 0, fmt.Errorf("reading the handler's memory: process %d has none", pid)
}

// processorTime is what a process has used of processors so far.
func processorTime(pid int) (time.Duration, error) {
	const ticks = 100 // USER_HZ, the same on every Linux architecture that Go knows
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("reading the processor time of %d: %w", pid, err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("reading the processor time of %d: %d fields", pid, len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the processor time of %d: %w", pid, err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the processor time of %d: %w", pid, err)
	}
	return time.Duration(user+system) * time.Second / ticks, nil
}
