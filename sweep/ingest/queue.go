package ingest

import (
	"cmp"
	"strings"
	"sync"

	"isochrone/sweep/inbox"
)

// queue hands out the items of an inbox so that no folder waits for another: next comes the
// folder of which the fewest are in hand, and of those the one that had the fewest turns. So a
// prober whose documents are many, or slow, has one worker while others wait, and the more of them
// only when nobody does.
type queue struct {
	lock    sync.Mutex
	folders []*folder // in the order in which they were listed
	byName  map[string]*folder
	waiting int
}

// folder is what waits of one prober, or of all strangers.
type folder struct {
	items  []inbox.Item
	inHand int
	turns  int
}

func folderOf(it inbox.Item) string {
	name, _, _ := strings.Cut(it.Name, "/")
	return name
}

func (q *queue) add(it inbox.Item) {
	name := folderOf(it)
	f := q.byName[name]
	if f == nil {
		if q.byName == nil {
			q.byName = map[string]*folder{}
		}
		f = &folder{}
		q.byName[name] = f
		q.folders = append(q.folders, f)
	}
	f.items = append(f.items, it)
	q.waiting++
}

// next takes an item out of the queue; false when it is empty. done must be called when the item
// has been handled.
func (q *queue) next() (it inbox.Item, done func(), ok bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	var first *folder
	for _, f := range q.folders {
		if len(f.items) > 0 && (first == nil || cmp.Or(cmp.Compare(f.inHand, first.inHand), cmp.Compare(f.turns, first.turns)) < 0) {
			first = f
		}
	}
	if first == nil {
		return inbox.Item{}, nil, false
	}
	it, first.items = first.items[0], first.items[1:]
	first.inHand++
	first.turns++
	q.waiting--
	return it, func() {
		q.lock.Lock()
		defer q.lock.Unlock()
		first.inHand--
	}, true
}

func (q *queue) empty() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.waiting == 0
}
