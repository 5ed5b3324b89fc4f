//go:build !linux

package main

// readCPUTimes is only known on Linux.
func readCPUTimes() *cpuTimes { return nil }
