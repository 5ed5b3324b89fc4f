package spool

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// model is what the spool should hold: a list, and for each document what is known of it.
type model struct {
	names []string
	saved map[string]bool // it was on the disk for certain
	gone  map[string]bool // it was removed, and that is on the disk for certain
	known map[string]bool // ever put
}

// Long random histories of puts, deliveries, faults of every kind, kills, power losses and clock jumps
// are compared with a list. Whatever happens: what was put and saved is there until it is removed
// or reported as given up, in order, with its own body; what was removed for certain stays away.
func TestASpoolBehavesAsAListWhateverTheDiskDoes(t *testing.T) {
	kills, powerLosses, faults := 0, 0, 0
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 2))
		r := newRig(t)
		r.disk = newMemDisk(seed)
		faulty := random.IntN(3) > 0 // a third of the histories has no fault, and is held to more
		injected := false
		r.start(Options{})
		r.disk.fault = func(op string) outcome {
			if !faulty || random.IntN(12) > 0 || op == "list" {
				return fine
			}
			injected = true
			faults++
			return []outcome{refused, lost, short}[random.IntN(3)]
		}
		m := model{saved: map[string]bool{}, gone: map[string]bool{}, known: map[string]bool{}}
		for step := range 60 {
			injected = false
			switch random.IntN(12) {
			case 0, 1, 2, 3:
				name := fmt.Sprintf("s%d-%d", seed, step)
				r.put(name)
				m.names, m.known[name] = append(m.names, name), true
			case 4, 5, 6:
				batch := r.spool.Next(1+random.IntN(4), 1<<20, nil)
				r.spool.Remove(batch...)
				for _, d := range batch {
					m.names = slices.DeleteFunc(m.names, func(n string) bool { return n == d.Name })
					m.gone[d.Name] = !injected
					if !injected {
						delete(m.saved, d.Name)
					}
				}
			case 7, 8:
				r.pass(time.Duration(random.Int64N(int64(20 * time.Second))))
			case 9:
				r.wall = r.wall.Add(time.Duration(random.Int64N(int64(400*24*time.Hour))) - 200*24*time.Hour)
			case 10: // killed: memory is gone
				kills++
				m.restart(t, r, false, seed)
			case 11:
				powerLosses++
				m.restart(t, r, true, seed)
			}
			for _, d := range r.spool.queue.docs {
				if d.body == nil {
					m.saved[d.name] = true
				}
			}
			m.check(t, r, seed, faulty)
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
	if kills < 500 || powerLosses < 500 || faults < 1000 {
		t.Errorf("only %d kills, %d power losses and %d faults were tried", kills, powerLosses, faults)
	}
}

// restart opens the spool anew, on a disk that works while it starts.
func (m *model) restart(t *testing.T, r *rig, power bool, seed uint64) {
	if power {
		r.disk.losePower()
	}
	fault := r.disk.fault
	r.disk.fault = nil
	r.uptime = 0
	r.start(Options{})
	names(t, r.spool) // each with its own body, and none set aside
	r.disk.fault = fault
	var found []string
	for _, d := range r.spool.queue.docs {
		found = append(found, d.name)
		if m.gone[d.name] || !m.known[d.name] {
			t.Errorf("seed %d: %s is there again", seed, d.name)
		}
	}
	for name := range m.saved {
		if !slices.Contains(found, name) && slices.Contains(m.names, name) {
			t.Errorf("seed %d: %s was saved and is lost", seed, name)
		}
	}
	// Others may be there or not: those never saved, and those whose removal was not certain.
	m.names = found
}

// check compares what the spool says with the list.
func (m *model) check(t *testing.T, r *rig, seed uint64, faulty bool) {
	var held []string
	for _, d := range r.spool.queue.docs {
		held = append(held, d.name)
	}
	if !slices.Equal(held, m.names) {
		t.Errorf("seed %d: the spool holds %q, want %q", seed, held, m.names)
	}
	if !slices.IsSortedFunc(r.spool.queue.docs, func(a, b *document) int { return int(a.seq) - int(b.seq) }) {
		t.Errorf("seed %d: out of order", seed)
	}
	var bytes int64
	unsaved := 0
	for _, d := range r.spool.queue.docs {
		bytes += d.size
		if d.body != nil {
			unsaved++
		}
	}
	if s := r.spool.Stats(); s.Bytes != bytes || s.Documents != len(held) || s.Unsaved != unsaved || s.Oldest < 0 {
		t.Errorf("seed %d: %+v, want %d documents of %d bytes, %d unsaved", seed, s, len(held), bytes, unsaved)
	}
	for _, d := range r.dropped {
		t.Errorf("seed %d: given up without cause: %s", seed, d)
	}
	if !faulty {
		wantNames(t, r.spool, m.names...)
	}
}
