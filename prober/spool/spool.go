// Package spool keeps result documents from the moment an assignment is finished until storage
// has acknowledged them.
//
// This version keeps them in memory, so a prober that is killed loses what it had not delivered;
// one that is told to stop delivers first. A spool on disk is to take its place: the prober
// program declares the interface that it needs of a spool, and Memory is one that satisfies it.
package spool

import (
	"errors"
	"fmt"
	"sync"
)

// ErrTooLarge is returned for a document that does not fit into an empty spool.
var ErrTooLarge = errors.New("the document is larger than the whole spool")

// Memory is a spool in memory, bounded in bytes. It may be used by several goroutines.
type Memory struct {
	limit int

	mu    sync.Mutex
	bytes int
	queue []document // oldest first
}

type document struct {
	name string
	body []byte
}

// NewMemory makes an empty spool for at most limit bytes of bodies.
func NewMemory(limit int) *Memory { return &Memory{limit: limit} }

// Put adds a document; the spool keeps body, which must not be changed any more. A full spool
// gives up its oldest documents and names them: after a long outage the newest results are
// those that are still in time to be accepted. Putting a name again replaces its document.
func (m *Memory) Put(name string, body []byte) (dropped []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(body) > m.limit {
		return nil, fmt.Errorf("spooling %q of %d bytes: %w", name, len(body), ErrTooLarge)
	}
	m.remove(name)
	for m.bytes+len(body) > m.limit {
		dropped = append(dropped, m.queue[0].name)
		m.remove(m.queue[0].name)
	}
	m.queue = append(m.queue, document{name, body})
	m.bytes += len(body)
	return dropped, nil
}

// Oldest returns the document that has waited longest, and leaves it in the spool; ok is false
// when there is none.
func (m *Memory) Oldest() (name string, body []byte, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
		return "", nil, false, nil
	}
	return m.queue[0].name, m.queue[0].body, true, nil
}

// Remove removes a document; an absent one is no error.
func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(name)
	return nil
}

// Len is the number of documents that wait.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue)
}

func (m *Memory) remove(name string) {
	for i := range m.queue {
		if m.queue[i].name != name {
			continue
		}
		m.bytes -= len(m.queue[i].body)
		copy(m.queue[i:], m.queue[i+1:])
		m.queue[len(m.queue)-1] = document{} // let go of the body
		m.queue = m.queue[:len(m.queue)-1]
		return
	}
}
