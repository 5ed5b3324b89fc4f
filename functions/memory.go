package main

import "runtime/debug"

// A tick makes much garbage and keeps little, so the collector may wait until there is more of it; from
// memoryLimit on it works as hard as it must. Documents in hand are bounded by ingest's budget, which lies
// well below. GOGC and GOMEMLIMIT, where they are set, win.
const (
	garbagePercent = 300
	memoryLimit    = 400 << 20
)

func setMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
