//go:build unix && !linux

package functionshost

import "syscall"

// groupAttributes makes the handler the leader of a process group. Only Linux can tie its life to
// ours: elsewhere a handler outlives a host that was killed.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// groupLives says whether the group has a process left.
func groupLives(pgid int) bool { return syscall.Kill(-pgid, 0) == nil }
