package main

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestTheEnvironmentWinsOverOurMemorySettings(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	for _, c := range []struct {
		env     map[string]string
		percent int
		limit   int64
	}{
		{nil, garbagePercent, memoryLimit},
		{map[string]string{"GOGC": "50"}, 100, memoryLimit},
		{map[string]string{"GOMEMLIMIT": "1GiB"}, garbagePercent, math.MaxInt64},
	} {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
		setMemory(func(name string) string { return c.env[name] })
		if p, l := debug.SetGCPercent(100), debug.SetMemoryLimit(-1); p != c.percent || l != c.limit {
			t.Errorf("%v: percent %d and limit %d, want %d and %d", c.env, p, l, c.percent, c.limit)
		}
	}
}
