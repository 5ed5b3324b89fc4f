package functionshost

import "sync"

// tasks are the goroutines that outlive the request, or whatever else, that began them.
type tasks struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// begin runs f beside the caller. It returns false, and runs nothing, once end has been called.
func (t *tasks) begin(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.running.Go(f)
	return true
}

// end lets nothing more begin, and waits for what has.
func (t *tasks) end() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}
