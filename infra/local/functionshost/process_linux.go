package functionshost

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// groupAttributes makes the handler the leader of a process group, and lets the kernel kill it
// when this process dies, however that comes about.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// groupLives says whether the group has a process that is not a zombie: those that nobody waits
// for stay in the group, and harm nothing.
func groupLives(pgid int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	for _, path := range stats {
		body, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		// pid (name) state ppid pgrp …, where the name may hold anything.
		end := bytes.LastIndexByte(body, ')')
		if end < 0 {
			continue
		}
		rest := bytes.Fields(body[end+1:])
		if len(rest) > 2 && string(rest[2]) == strconv.Itoa(pgid) && string(rest[0]) != "Z" && string(rest[0]) != "X" {
			return true
		}
	}
	return false
}
