// Package child starts the processes of the local stack so that none outlives it: each in a
// process group of its own, which a Ctrl-C at the terminal does not reach, and killed by the
// kernel should the stack itself die.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts cmd, and calls exited, once, after it has ended and was waited for. Do not call
// cmd.Wait.
func Start(cmd *exec.Cmd, exited func()) error {
	return StartIn(func() (func() error, error) { return func() error { return nil }, nil }, cmd, exited)
}

// StartIn is like Start from a place that a thread is in, such as a network namespace: enter
// brings the thread there, and what it returns brings it back. A thread that does not come back
// ends after the child has.
func StartIn(enter func() (leave func() error, err error), cmd *exec.Cmd, exited func()) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when the thread that started the child ends, so this
		// thread has to live as long as the child (go.dev/issue/27505).
		runtime.LockOSThread()
		leave, err := enter()
		if err != nil {
			started <- err
			return // wherever the thread is now, it ends
		}
		err = cmd.Start()
		if leave() == nil {
			defer runtime.UnlockOSThread()
		}
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		exited()
	}()
	return <-started
}

// Signal sends sig to the child and everything that it started.
func Signal(cmd *exec.Cmd, sig syscall.Signal) error {
	return syscall.Kill(-cmd.Process.Pid, sig)
}
