package main

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// weight is what a process holds.
type weight struct {
	Goroutines  int   `json:"goroutines"`
	Descriptors int   `json:"descriptors"`
	HeapBytes   int64 `json:"heap_bytes"`
	// RSSBytes is read after what the garbage collector freed was given back to the system.
	RSSBytes int64 `json:"rss_bytes"`
}

// weigh weighs this process. What the system does not tell is zero.
func weigh() *weight {
	debug.FreeOSMemory() // collects first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w := &weight{Goroutines: runtime.NumGoroutine(), HeapBytes: int64(m.HeapAlloc)}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		w.Descriptors = len(open)
	}
	w.RSSBytes = residentOf("self")
	return w
}

// residentOf is the resident memory of a process, in bytes.
func residentOf(pid string) int64 {
	text, err := os.ReadFile("/proc/" + pid + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
