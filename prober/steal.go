package main

import (
	"fmt"
	"strconv"
	"strings"
)

// cpuTimes are the processor times of the whole machine since it started, in ticks.
type cpuTimes struct{ all, steal uint64 }

// parseCPUTimes reads the first line of /proc/stat (proc_stat(5)): user, nice, system, idle,
// iowait, irq, softirq, steal. What follows, guest and guest_nice, is part of user and nice.
func parseCPUTimes(stat string) (cpuTimes, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return cpuTimes{}, fmt.Errorf("first line %q: want cpu and at least eight numbers", line)
	}
	var t cpuTimes
	for i, f := range fields[1:9] {
		v, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return cpuTimes{}, fmt.Errorf("first line %q: %w", line, err)
		}
		t.all += v
		if i == 7 {
			t.steal = v
		}
	}
	return t, nil
}

// stealSince is the part of the machine's time since before, 0 to 1, in which the hypervisor ran
// something else; nil where nothing can be said.
func stealSince(before, now *cpuTimes) *float64 {
	if before == nil || now == nil || now.all <= before.all || now.steal < before.steal {
		return nil
	}
	ratio := float64(now.steal-before.steal) / float64(now.all-before.all)
	return &ratio
}
