package spool

import (
	"cmp"
	"slices"
	"time"
)

// document is one that waits.
type document struct {
	seq    uint64 // the order in which they came, and the file's name
	name   string
	body   []byte // nil when its file has it
	length int64  // of the body
	size   int64  // what it takes of the spool
	filed  bool   // there is a file of it, or may be: an attempt at saving was made

	stored  time.Time     // wall clock
	since   time.Duration // the uptime from which this process has had it
	before  time.Duration // how old it was then, by what the wall clock said then
	retryAt time.Duration // uptime before which its file is not read again
}

// age is never more than can be proved. A document of this process has an age by the monotonic
// clock alone. One that an earlier process left has the lower of two: what the wall clock said when
// it was found and says now; so that a clock that was wrong when the machine started, or jumps
// later, lets no document expire early. Too low an age is harmless: the app judges for itself.
func (d *document) age(wall time.Time, uptime time.Duration) time.Duration {
	held := uptime - d.since
	return min(d.before+held, max(wall.Sub(d.stored), held))
}

// expired says whether the document has outlived ttl. One that an earlier process left is held for
// settling in any case: time to set a clock that is wrong, and for a first attempt at delivery.
func (d *document) expired(wall time.Time, uptime, ttl time.Duration) bool {
	return d.age(wall, uptime) >= ttl && uptime-d.since >= min(settling, ttl)
}

// queue holds the documents in the order of seq.
type queue struct {
	docs  []*document
	names map[string]*document // the newest of each name
	bytes int64

	unsaved int   // documents whose body is in memory
	held    int64 // bytes of those
}

// add appends a document whose seq is the highest.
func (q *queue) add(d *document) {
	q.docs = append(q.docs, d)
	q.names[d.name] = d
	q.bytes += d.size
	q.count(d, 1)
}

func (q *queue) find(seq uint64) *document {
	if i, ok := q.index(seq); ok {
		return q.docs[i]
	}
	return nil
}

func (q *queue) index(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(q.docs, seq, func(d *document, seq uint64) int { return cmp.Compare(d.seq, seq) })
}

func (q *queue) remove(d *document) {
	i, ok := q.index(d.seq)
	if !ok {
		return
	}
	if i == 0 { // moving all the others up would make emptying a long queue quadratic
		q.docs[0], q.docs = nil, q.docs[1:]
	} else {
		q.docs = slices.Delete(q.docs, i, i+1)
	}
	if q.names[d.name] == d {
		delete(q.names, d.name)
	}
	q.bytes -= d.size
	q.count(d, -1)
}

// saved lets go of a body that the disk has.
func (q *queue) saved(d *document) {
	q.count(d, -1)
	d.body = nil
}

// count counts a document once more or less among those in memory.
func (q *queue) count(d *document, by int) {
	if d.body != nil {
		q.unsaved += by
		q.held += int64(by) * d.length
	}
}
