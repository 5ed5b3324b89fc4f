// Package spool keeps result documents from the moment an assignment is finished until storage
// has acknowledged them.
//
// With a folder they survive the process and the machine: Put returns once the document is on the
// disk. The folder holds one file a document, so that there is no log to repair and none to
// compact. A file is written under a temporary name, synced, renamed, and then the folder is
// synced; what bears a document's name is therefore whole, and its checksum proves it before it is
// delivered. Removing syncs the folder too, so that power loss does not bring back what storage has
// acknowledged. Without a folder documents are kept in memory, and end with the process.
//
// A disk that takes nothing, because it is full or broken, costs no document: those on it stay, new
// ones are kept in memory up to a bound and are saved as soon as that works again.
package spool

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"
)

// ErrTooLarge is returned for a document that does not fit into an empty spool.
var ErrTooLarge = errors.New("the document is larger than the whole spool")

// ErrLocked is returned by Open while another process has the folder.
var ErrLocked = errors.New("another process has the folder")

// Reason says why the spool gave up a document, or why its owner did.
type Reason string

// The reasons, a closed list.
const (
	Expired Reason = "expired" // older than the time to live
	Cap     Reason = "cap"     // the spool was full, and it was the oldest
	Corrupt Reason = "corrupt" // its file is not what was written
	Refused Reason = "refused" // storage has another document of its name
	Disk    Reason = "disk"    // the disk took nothing, and memory for such documents was full
)

// Reasons are all there are.
func Reasons() []Reason { return []Reason{Expired, Cap, Corrupt, Refused, Disk} }

// Options say where documents are kept and for how long. The zero value of a limit is none.
type Options struct {
	Dir         string // "": memory
	Bytes       int64  // the most that all documents may take: on disk, whole blocks; in memory, their bodies
	MemoryBytes int64  // with Dir: the most bodies kept in memory because the disk does not take them
	TTL         time.Duration
	NewestFirst bool // the order of Next; the oldest are given up first either way

	Now    func() time.Time     // the wall clock, which may jump
	Uptime func() time.Duration // a monotonic clock, which does not
	// Dropped is told of each document that is given up. It must not call the spool.
	Dropped func(name string, reason Reason, err error)
	Log     *slog.Logger
}

// Document is one that waits. Its body must not be changed.
type Document struct {
	Name string
	Body []byte

	seq uint64
}

// Stats is what waits.
type Stats struct {
	Documents int
	Bytes     int64         // as Options.Bytes counts them
	Unsaved   int           // documents that a kill of the process would lose
	Oldest    time.Duration // the highest age of a document; 0 when none waits
}

// Spool keeps documents. It may be used by several goroutines.
type Spool struct {
	o      Options
	folder *folder // nil: memory
	lock   *lock   // nil: memory, or a disk of a test

	// work is held while something is changed, which may take as long as the disk does. mu guards
	// the queue alone, so that Stats and Len answer while a disk hangs; whoever holds work may read
	// the queue without it.
	work    sync.Mutex
	mu      sync.Mutex
	queue   queue
	nextSeq uint64

	tendAt  time.Duration // uptime at which housekeeping is due
	saveAt  time.Duration // the same for documents that the disk did not take
	failing bool          // the last attempt at saving failed
	doomed  []string      // files that could not be removed yet
}

// NewMemory makes an empty spool in memory for at most limit bytes of bodies.
func NewMemory(limit int64) *Spool { return newSpool(Options{Bytes: limit}) }

func newSpool(o Options) *Spool {
	o.Bytes = cmp.Or(o.Bytes, math.MaxInt64)
	o.MemoryBytes = cmp.Or(o.MemoryBytes, math.MaxInt64)
	o.TTL = cmp.Or(o.TTL, math.MaxInt64)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Uptime == nil {
		begun := time.Now()
		o.Uptime = func() time.Duration { return time.Since(begun) }
	}
	if o.Dropped == nil {
		o.Dropped = func(string, Reason, error) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Spool{o: o, nextSeq: 1, queue: queue{names: map[string]*document{}}}
}

// Put adds a document; the spool keeps body, which must not be changed any more. Documents that are
// given up to make room are reported to Options.Dropped: the oldest, because those are the first
// that the app would refuse as too late. Putting a name again replaces its document. The name is
// 1 to 512 printable characters of ASCII, without blanks. An error says that no spool of this size
// could ever take the document.
func (s *Spool) Put(name string, body []byte) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("spooling a document: %w", err)
	}
	s.work.Lock()
	defer s.work.Unlock()
	d := &document{
		seq: s.nextSeq, name: name, body: body, length: int64(len(body)), stored: s.wall(), since: s.o.Uptime(),
	}
	if body == nil {
		d.body = []byte{}
	}
	d.size = s.sizeOf(d)
	if d.size > s.o.Bytes {
		return fmt.Errorf("spooling %q of %d bytes into %d: %w", name, len(body), s.o.Bytes, ErrTooLarge)
	}
	s.nextSeq++
	s.tend()
	before := s.queue.names[name]
	s.makeRoom(d.size, before)
	s.change(func() { s.queue.add(d) }) // under its name, in place of the one before
	if s.folder != nil {
		s.save(d)
	}
	if before != nil { // only now: at no time is there none on the disk
		s.discard(before)
		s.syncRemovals()
	}
	s.boundUnsaved()
	return nil
}

// sizeOf is what a document takes of Options.Bytes.
func (s *Spool) sizeOf(d *document) int64 {
	if s.folder == nil {
		return d.length
	}
	return onDisk(int64(len(appendHead(nil, d.head(), nil))) + d.length)
}

// makeRoom gives up the oldest documents until size more bytes fit. The one that is about to be
// replaced does not count.
func (s *Spool) makeRoom(size int64, replaced *document) {
	if replaced != nil {
		size -= replaced.size
	}
	var victims []*document
	free := s.o.Bytes - s.queue.bytes
	for _, d := range s.queue.docs {
		if free >= size {
			break
		}
		if d != replaced {
			victims = append(victims, d)
			free += d.size
		}
	}
	s.giveUp(victims, Cap, nil)
}

// Next returns the documents that are to be delivered next, and leaves them in the spool: at most
// most of them, with at most bytes of bodies unless the first alone has more. Those that skip names
// are left out; a nil skip names none. A document that cannot be read never stands in the way of
// another.
func (s *Spool) Next(most int, bytes int64, skip func(name string) bool) []Document {
	s.work.Lock()
	defer s.work.Unlock()
	s.tend()
	var out []Document
	var broken []*document
	var faults []error
	var total int64
	unreadable := 0
	now := s.o.Uptime()
	for i := range s.queue.docs {
		d := s.queue.docs[i]
		if s.o.NewestFirst {
			d = s.queue.docs[len(s.queue.docs)-1-i]
		}
		if now < d.retryAt || skip != nil && skip(d.name) {
			continue
		}
		if len(out) > 0 && (len(out) >= most || total+d.length > bytes) || unreadable == maxUnreadable {
			break
		}
		body, err := s.body(d)
		switch {
		case errors.Is(err, errCorrupt):
			broken, faults = append(broken, d), append(faults, err)
		case err != nil: // the disk's fault perhaps, and not the file's: it stays
			unreadable++
			d.retryAt = now + readRetry
			s.o.Log.Warn("a document cannot be read from the spool", "document", d.name, "error", err, "retry_after", readRetry)
		default:
			out = append(out, Document{Name: d.name, Body: body, seq: d.seq})
			total += d.length
		}
	}
	for i, d := range broken {
		s.setAside(d, Corrupt, faults[i])
	}
	s.syncRemovals()
	return out
}

// Remove removes documents that Next returned and storage has acknowledged. Those that are gone
// already, or have been replaced, are left alone. What the disk does not remove is tried again, and
// not returned by Next in the meantime.
func (s *Spool) Remove(documents ...Document) {
	s.work.Lock()
	defer s.work.Unlock()
	for _, d := range documents {
		if q := s.queue.find(d.seq); q != nil {
			s.discard(q)
		}
	}
	s.syncRemovals()
}

// Refuse removes a document that storage will never take. With a folder its file is set aside.
func (s *Spool) Refuse(document Document, why error) {
	s.work.Lock()
	defer s.work.Unlock()
	if d := s.queue.find(document.seq); d != nil {
		s.setAside(d, Refused, why)
		s.syncRemovals()
	}
}

// Len is the number of documents that wait.
func (s *Spool) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue.docs)
}

// Stats says what waits.
func (s *Spool) Stats() Stats {
	wall, uptime := s.wall(), s.o.Uptime()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Stats{Documents: len(s.queue.docs), Bytes: s.queue.bytes, Unsaved: s.queue.unsaved}
	for _, d := range s.queue.docs {
		out.Oldest = max(out.Oldest, d.age(wall, uptime))
	}
	return out
}

// Close saves what the disk did not take before, if it does now, and lets go of the folder. The
// spool must not be used after it.
func (s *Spool) Close() error {
	s.work.Lock()
	defer s.work.Unlock()
	s.tendAt, s.saveAt = 0, 0
	s.tend()
	return s.lock.release()
}

// wall is the wall clock's reading and nothing else: not, as time.Now's, the monotonic clock's too.
func (s *Spool) wall() time.Time { return s.o.Now().UTC().Round(0) }

// change changes the queue.
func (s *Spool) change(how func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how()
}
