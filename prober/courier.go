package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"isochrone/prober/mailbox"
)

// spooler keeps documents until storage has acknowledged them. Put, Oldest, Remove and Len may
// be called by several goroutines. What Put has taken stays until Remove, for as long as the
// spool itself lasts: in memory that is the process, on disk it will be longer, and then a new
// process finds what an old one left. A full spool gives up its oldest documents and names them.
type spooler interface {
	Put(name string, body []byte) (dropped []string, err error)
	Oldest() (name string, body []byte, ok bool, err error)
	Remove(name string) error
	Len() int
}

// inbox takes documents. Delivering one again that it has is a success; mailbox.ErrConflict is
// final. Each call is one attempt.
type inbox interface {
	Deliver(ctx context.Context, name string, body []byte) error
}

// courier carries documents from the spool to the inbox, the oldest first, one at a time.
type courier struct {
	inbox   inbox
	spool   spooler
	metrics *metrics
	log     *slog.Logger
	wake    chan struct{} // one place: a document was put
	last    chan struct{} // closed when no more will be put
}

// put hands over a document.
func (c *courier) put(name string, body []byte) {
	dropped, err := c.spool.Put(name, body)
	for _, d := range dropped {
		c.metrics.deliveryFailures.Inc()
		c.log.Error("the spool is full: gave up a document", "document", d)
	}
	if err != nil {
		c.metrics.deliveryFailures.Inc()
		c.log.Error("gave up a document", "document", name, "error", err)
		return
	}
	select {
	case c.wake <- struct{}{}:
	default: // it has been woken and will see this document too
	}
}

// run delivers until ctx ends, or until the spool is empty and no more will come.
func (c *courier) run(ctx context.Context) {
	backoff := mailbox.Backoff{First: time.Second, Most: time.Minute}
	last := c.last
	for ctx.Err() == nil {
		wait, idle := c.deliverOldest(ctx, &backoff)
		if !idle && wait == 0 {
			continue
		}
		var retry <-chan time.Time
		if idle {
			if last == nil {
				return
			}
		} else {
			retry = time.After(wait)
		}
		select {
		case <-c.wakeWhen(idle):
		case <-retry:
		case <-last: // the program is stopping: an end to waiting
			last = nil
			backoff = mailbox.Backoff{First: 200 * time.Millisecond, Most: time.Second}
		case <-ctx.Done():
		}
	}
}

// wakeWhen is the wake channel while there is nothing to deliver. While storage does not
// answer, a new document is no reason to try sooner.
func (c *courier) wakeWhen(idle bool) <-chan struct{} {
	if idle {
		return c.wake
	}
	return nil
}

// deliverOldest makes one attempt at one document. idle means that there was none; wait is how
// long to wait after a failure.
func (c *courier) deliverOldest(ctx context.Context, backoff *mailbox.Backoff) (wait time.Duration, idle bool) {
	name, body, ok, err := c.spool.Oldest()
	switch {
	case err != nil:
		wait = backoff.Next()
		c.log.Error("reading the spool failed", "error", err, "retry_after", wait)
		return wait, false
	case !ok:
		return 0, true
	}
	switch err := c.inbox.Deliver(ctx, name, body); {
	case err == nil:
		c.metrics.documentsDelivered.Inc()
		c.log.Info("delivered", "document", name, "bytes", len(body))
	case errors.Is(err, mailbox.ErrConflict):
		c.metrics.deliveryFailures.Inc()
		c.log.Error("gave up a document", "document", name, "error", err)
	default:
		c.metrics.deliveryFailures.Inc()
		wait = backoff.Next()
		c.log.Warn("a delivery failed", "document", name, "error", err, "retry_after", wait)
		return wait, false
	}
	backoff.Reset()
	if err := c.spool.Remove(name); err != nil {
		// It will be delivered once more, which is harmless; but not in a tight loop.
		wait = backoff.Next()
		c.log.Error("removing a document from the spool failed", "document", name, "error", err, "retry_after", wait)
	}
	return wait, false
}
