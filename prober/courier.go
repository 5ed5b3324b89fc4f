package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"isochrone/prober/mailbox"
	"isochrone/prober/spool"
)

// spooler keeps documents until storage has acknowledged them. Its methods may be called by
// several goroutines. What Put has taken stays until Remove or Refuse, or until the spool gives it
// up and says so elsewhere; with a folder a new process finds what an old one left. Next looks and
// does not take.
type spooler interface {
	Put(name string, body []byte) error
	Next(most int, bytes int64, skip func(name string) bool) []spool.Document
	Remove(documents ...spool.Document)
	Refuse(document spool.Document, why error)
	Len() int
}

// inbox takes documents. Delivering one again that it has is a success; mailbox.ErrConflict is
// final. Each call is one attempt. It may be called by several goroutines.
type inbox interface {
	Deliver(ctx context.Context, name string, body []byte) error
}

const (
	// sideBySide bounds the documents of a batch. The inbox has a blob for each, which is what makes
	// them idempotent, so that a batch saves waiting and not requests: at eight, an outage's backlog
	// is gone in an eighth of the round trips, and sixty probers are still no burden to an account.
	sideBySide = 8
	// strikes is how often a document may fail while others succeed before it is set back.
	strikes = 3
	// tendSpool is how long the courier waits at the most while documents wait and none is due: the
	// spool does its housekeeping when it is asked.
	tendSpool = time.Minute
)

// courier carries documents from the spool to the inbox in the spool's order, a batch side by side.
//
// When none of a batch is taken, storage is away: after a wait one document is tried, each time
// another, so that one that storage will not have cannot hold up the others. When some are taken,
// the fault is with those that are not: after a few strikes each is set back, for longer and longer.
type courier struct {
	inbox   inbox
	spool   spooler
	metrics *metrics
	log     *slog.Logger
	wake    chan struct{} // one place: a document was put
	last    chan struct{} // closed when no more will be put
	batch   int64         // bytes of bodies that are delivered side by side; one document in any case

	backoff mailbox.Backoff
	tried   map[string]bool  // what has failed since anything succeeded
	marks   map[string]*mark // what has failed while other documents succeeded
}

// mark is the record of one document that storage does not take.
type mark struct {
	strikes int
	until   time.Time // set back until then
	backoff mailbox.Backoff
}

// pause is what the courier does before it looks into the spool again.
type pause struct {
	empty bool          // nothing waits
	wait  time.Duration // 0: not at all
	awake bool          // a new document ends it
}

// put hands over a document.
func (c *courier) put(name string, body []byte) {
	if err := c.spool.Put(name, body); err != nil {
		c.gaveUp(name, spool.Cap, err)
		return
	}
	select {
	case c.wake <- struct{}{}:
	default: // it has been woken and will see this document too
	}
}

// gaveUp notes that a document is lost.
func (c *courier) gaveUp(name string, reason spool.Reason, err error) {
	c.metrics.gaveUp(reason)
	c.log.Error("gave up a document", "document", name, "reason", reason, "error", err)
}

// run delivers until ctx ends, or until the spool is empty and no more will come.
func (c *courier) run(ctx context.Context) {
	c.backoff = mailbox.Backoff{First: time.Second, Most: time.Minute}
	c.tried, c.marks = map[string]bool{}, map[string]*mark{}
	last := c.last
	for ctx.Err() == nil {
		p := c.deliver(ctx)
		if p.empty && last == nil {
			return
		}
		if !p.empty && p.wait == 0 {
			continue
		}
		var retry <-chan time.Time
		if !p.empty {
			retry = time.After(p.wait)
		}
		var wake <-chan struct{} // while storage does not answer, a new document is no reason to try sooner
		if p.empty || p.awake {
			wake = c.wake
		}
		select {
		case <-wake:
		case <-retry:
		case <-last: // the program is stopping: an end to waiting
			last = nil
			c.backoff = mailbox.Backoff{First: 200 * time.Millisecond, Most: time.Second}
			clear(c.marks)
		case <-ctx.Done():
		}
	}
}

// deliver makes one attempt at the documents that are next.
func (c *courier) deliver(ctx context.Context) pause {
	batch := c.next()
	if len(batch) == 0 {
		if c.spool.Len() > 0 {
			return pause{wait: c.untilDue(), awake: true}
		}
		clear(c.marks)
		return pause{empty: true}
	}
	faults := make([]error, len(batch))
	var all sync.WaitGroup
	for i, d := range batch {
		all.Go(func() { faults[i] = c.inbox.Deliver(ctx, d.Name, d.Body) })
	}
	all.Wait()
	var delivered, failed []spool.Document
	for i, d := range batch {
		switch err := faults[i]; {
		case err == nil:
			delivered = append(delivered, d)
			c.metrics.documentsDelivered.Inc()
			c.log.Info("delivered", "document", d.Name, "bytes", len(d.Body))
		case errors.Is(err, mailbox.ErrConflict):
			c.spool.Refuse(d, err) // which says so
		default:
			failed = append(failed, d)
			c.metrics.deliveryFailures.Inc()
		}
	}
	c.spool.Remove(delivered...)
	for _, d := range delivered {
		delete(c.marks, d.Name)
	}
	wait := c.judge(failed, len(failed) < len(batch))
	for i, d := range batch {
		if faults[i] != nil && !errors.Is(faults[i], mailbox.ErrConflict) {
			c.log.Warn("a delivery failed", "document", d.Name, "error", faults[i], "retry_after", max(wait, c.setBack(d.Name)))
		}
	}
	return pause{wait: wait}
}

// next is the batch to try. While storage is away it is one document, another than last time.
func (c *courier) next() []spool.Document {
	if len(c.tried) == 0 {
		return c.spool.Next(sideBySide, c.batch, func(name string) bool { return c.setBack(name) > 0 })
	}
	one := c.spool.Next(1, c.batch, func(name string) bool { return c.tried[name] || c.setBack(name) > 0 })
	if len(one) == 0 { // all have had their turn
		clear(c.tried)
		one = c.spool.Next(1, c.batch, func(name string) bool { return c.setBack(name) > 0 })
	}
	return one
}

// judge says whose fault it is that documents failed, and returns how long to wait.
func (c *courier) judge(failed []spool.Document, storageWorks bool) time.Duration {
	if storageWorks {
		c.backoff.Reset()
		for name := range c.tried {
			c.strike(name)
		}
		clear(c.tried)
		for _, d := range failed {
			c.strike(d.Name)
		}
		return 0
	}
	suspect := false // storage is
	for _, d := range failed {
		if m := c.marks[d.Name]; m != nil && m.strikes >= strikes {
			c.strike(d.Name) // that it failed again says nothing of storage
			continue
		}
		c.tried[d.Name], suspect = true, true
	}
	if !suspect {
		return 0
	}
	return c.backoff.Next()
}

// strike notes that a document failed while another did not.
func (c *courier) strike(name string) {
	m := c.marks[name]
	if m == nil {
		m = &mark{backoff: mailbox.Backoff{First: time.Minute, Most: time.Hour}}
		c.marks[name] = m
	}
	if m.strikes++; m.strikes >= strikes {
		m.until = time.Now().Add(m.backoff.Next())
	}
}

// setBack is for how long a document is not tried.
func (c *courier) setBack(name string) time.Duration {
	if m := c.marks[name]; m != nil {
		return max(time.Until(m.until), 0)
	}
	return 0
}

// untilDue is how long to wait when all documents that wait are set back, or cannot be read.
func (c *courier) untilDue() time.Duration {
	wait := tendSpool
	for name := range c.marks {
		if d := c.setBack(name); d > 0 {
			wait = min(wait, d)
		}
	}
	return wait
}
