package main

import "golang.org/x/sys/unix"

// clockErrorNS is the kernel's bound on the error of the wall clock against UTC, in nanoseconds
// (adjtimex(2), maxerror); nil when no daemon keeps the clock synchronised, or the kernel does
// not say.
func clockErrorNS() *int64 {
	var t unix.Timex // modes 0: only read, which needs no privilege
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return nil
	}
	return boundOf(state, t.Status, int64(t.Maxerror))
}

// boundOf reads the answer of adjtimex. maxerror is in microseconds.
func boundOf(state int, status int32, maxerror int64) *int64 {
	if state == unix.TIME_ERROR || status&unix.STA_UNSYNC != 0 {
		return nil
	}
	ns := maxerror * 1000
	return &ns
}
