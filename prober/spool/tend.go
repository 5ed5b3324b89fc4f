package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

const (
	tendEvery     = time.Second      // the queue is looked over, which takes milliseconds at 100,000 documents
	saveRetry     = 10 * time.Second // a full disk is tried again
	readRetry     = time.Minute      // a file that the disk does not give is tried again
	settling      = time.Hour        // see expired
	maxUnreadable = 64               // files that one call of Next tries in vain

	// A disk that has become read-only removes nothing, not even what it does not have, so that each
	// document leaves two names behind for as long as that lasts.
	maxUnremovable = 1024    // files whose removal is tried again each time
	maxDoomed      = 1 << 17 // names of such files that are remembered: a few MB
)

// tend does the housekeeping that is due: it gives up what has expired, wherever in the queue,
// removes files that could not be removed, and saves documents that could not be saved.
func (s *Spool) tend() {
	now := s.o.Uptime()
	if now < s.tendAt {
		return
	}
	s.tendAt = now + tendEvery
	wall := s.wall()
	var expired []*document
	for _, d := range s.queue.docs {
		if d.expired(wall, now, s.o.TTL) {
			expired = append(expired, d)
		}
	}
	s.giveUp(expired, Expired, nil)
	if s.folder == nil {
		return
	}
	for range min(len(s.doomed), maxUnremovable) {
		name := s.doomed[0]
		s.doomed = s.doomed[1:]
		if s.folder.remove(name) != nil {
			s.doomed = append(s.doomed, name) // behind the others
		}
	}
	if s.queue.unsaved > 0 && now >= s.saveAt {
		for _, d := range s.queue.docs {
			if d.body != nil && !s.save(d) {
				break
			}
		}
	}
	s.syncRemovals()
}

// save brings a document to the disk, and says whether that worked. If it did not, the body stays
// in memory. An error does not say that there is no file: it may be there all the same, so that the
// next attempt writes it anew under the same name, and removing the document removes it.
func (s *Spool) save(d *document) bool {
	d.filed = true
	if err := s.folder.save(d.seq, encode(d.head(), d.body)); err != nil {
		if !s.failing {
			s.o.Log.Error("the spool's disk takes no documents: they are kept in memory until it does, and would be lost with the process",
				"document", d.name, "error", err, "remedy", "make room on the disk of ISOCHRONE_SPOOL_DIR, or replace it")
		}
		s.failing, s.saveAt = true, s.o.Uptime()+saveRetry
		return false
	}
	if s.failing {
		s.o.Log.Info("the spool's disk takes documents again")
	}
	s.change(func() { s.queue.saved(d) })
	s.failing, s.saveAt = false, 0 // the others that were not saved are due
	return true
}

// boundUnsaved gives up the oldest documents that only memory has, until the rest are within the
// bound. What is on the disk stays: it is no cause of a full disk that others fill.
func (s *Spool) boundUnsaved() {
	if s.folder == nil {
		return
	}
	var victims []*document
	held := s.queue.held
	for _, d := range s.queue.docs {
		if held <= s.o.MemoryBytes {
			break
		}
		if d.body != nil {
			victims = append(victims, d)
			held -= int64(len(d.body))
		}
	}
	s.giveUp(victims, Disk, nil)
}

// giveUp discards documents and reports them.
func (s *Spool) giveUp(victims []*document, reason Reason, err error) {
	for _, d := range victims {
		s.discard(d)
		s.o.Dropped(d.name, reason, err)
	}
	if len(victims) > 0 {
		s.syncRemovals()
	}
}

// discard removes a document from the queue and its file from the disk.
func (s *Spool) discard(d *document) {
	s.change(func() { s.queue.remove(d) })
	if s.folder != nil && d.filed {
		s.unlink(fileName(d.seq))
		if d.body != nil { // an attempt at saving failed, wherever
			s.unlink(tempName(d.seq))
		}
	}
}

// unlink removes a file, now or later. One of too many to remember is found by the next start, and
// delivered once more, which changes nothing.
func (s *Spool) unlink(name string) {
	if err := s.folder.remove(name); err != nil {
		if len(s.doomed) == maxDoomed {
			s.doomed = s.doomed[1:]
		}
		s.o.Log.Warn("a file of the spool cannot be removed", "file", name, "error", err, "retry_after", tendEvery)
		s.doomed = append(s.doomed, name)
	}
}

// syncRemovals makes removals durable. When that fails, power loss may bring a document back: it
// is delivered once more, which changes nothing.
func (s *Spool) syncRemovals() {
	if s.folder == nil {
		return
	}
	if err := s.folder.syncRemovals(); err != nil {
		s.o.Log.Warn("removing from the spool is not durable", "error", err)
	}
}

// setAside takes a document out of the queue, and keeps its file for a person to look at.
func (s *Spool) setAside(d *document, reason Reason, why error) {
	s.change(func() { s.queue.remove(d) })
	if s.folder != nil && d.filed {
		if err := s.folder.setAside(d.seq, reason); err != nil && !errors.Is(err, fs.ErrNotExist) {
			why = fmt.Errorf("%w (and %w)", why, err)
			s.unlink(fileName(d.seq))
		}
		if d.body != nil {
			s.unlink(tempName(d.seq))
		}
	}
	s.o.Dropped(d.name, reason, why)
}

// body is the document's, proved whole.
func (s *Spool) body(d *document) ([]byte, error) {
	if d.body != nil || s.folder == nil {
		return d.body, nil
	}
	head, body, err := s.folder.load(d.seq)
	if err == nil && head != d.head() {
		err = fmt.Errorf("%w: it holds %q", errCorrupt, head.name)
	}
	return body, err
}
