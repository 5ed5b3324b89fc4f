package wan

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/vishvananda/netns"
)

// namespace is a network namespace that is held by a descriptor.
type namespace struct {
	mu     sync.RWMutex
	handle netns.NsHandle // closed: -1
}

// set brings the calling thread into the namespace.
func (n *namespace) set() error {
	n.mu.RLock() // the descriptor's number may be another's once it is closed
	defer n.mu.RUnlock()
	if !n.handle.IsOpen() {
		return errors.New("the network is stopped")
	}
	return netns.Set(n.handle)
}

// current is the namespace that this process is in.
func current() (*namespace, error) {
	runtime.LockOSThread() // netns.Get asks about the thread
	defer runtime.UnlockOSThread()
	h, err := netns.Get()
	if err != nil {
		return nil, fmt.Errorf("finding the machine's network namespace: %w", err)
	}
	return &namespace{handle: h}, nil
}

func (n *namespace) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.handle.Close(); err != nil {
		return fmt.Errorf("closing a network namespace: %w", err)
	}
	return nil
}

// enter brings the calling thread, which must be locked, into the namespace. leave brings it to
// another; where that fails, the thread must end.
func (n *namespace) enter(back *namespace) (leave func() error, err error) {
	if err := n.set(); err != nil {
		return nil, fmt.Errorf("entering a network namespace: %w", err)
	}
	return func() error {
		if err := back.set(); err != nil {
			return fmt.Errorf("leaving a network namespace: %w", err)
		}
		return nil
	}, nil
}

// visit calls do on a thread that enter has brought elsewhere. If the thread cannot be brought
// back it ends with the goroutine, so that no other work is done there by mistake.
func visit(enter func() (leave func() error, err error), do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		leave, err := enter()
		if err != nil {
			done <- err
			return // wherever the thread is now, it ends
		}
		err = do()
		left := leave()
		if left == nil {
			runtime.UnlockOSThread()
		}
		done <- errors.Join(err, left)
	}()
	return <-done
}

// in calls do on a thread inside the namespace.
func (n *namespace) in(back *namespace, do func() error) error {
	return visit(func() (func() error, error) { return n.enter(back) }, do)
}

// create makes a namespace, in which do is called on a thread inside.
func create(back *namespace, do func() error) (made *namespace, err error) {
	err = visit(func() (func() error, error) {
		h, err := netns.New() // the thread is inside from now on
		if err != nil {
			return nil, fmt.Errorf("creating a network namespace: %w", err)
		}
		made = &namespace{handle: h}
		return back.set, nil
	}, do)
	if err != nil && made != nil {
		err = errors.Join(err, made.close())
		made = nil
	}
	return made, err
}
