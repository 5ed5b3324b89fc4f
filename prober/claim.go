package main

import (
	"errors"
	"sync"
	"time"
)

// claim is a process's claim on its prober's id. Two processes of one id would both measure what
// is assigned to it, and take turns in the registration: the later started stands aside.
//
// The registrar decides on it, the agent and the health checks go by it. Its methods may be
// called by several goroutines.
type claim struct {
	mu    sync.Mutex
	taken bool      // this process may take assignments; not before it has looked for another
	since time.Time // what starts before it was for an earlier process
	other string    // of a contested claim: who else is registered
}

func newClaim(started time.Time) *claim { return &claim{since: started} }

// free says whether assignments may be taken, and from which start on: an earlier process may
// have begun the others, and delivered.
func (c *claim) free() (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since, c.taken
}

// contested is an error while another process is registered.
func (c *claim) contested() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.other == "" {
		return nil
	}
	return errors.New(c.other)
}

// uncontested notes that no other process is registered.
func (c *claim) uncontested() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken, c.other = true, ""
}

// contest notes that another process is. yield says that this one stands aside.
func (c *claim) contest(other string, yield bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken, c.other = !yield, other
}

// seen notes when another process was at work.
func (c *claim) seen(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.since) {
		c.since = at
	}
}
