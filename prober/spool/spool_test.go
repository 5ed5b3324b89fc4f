package spool

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// rig is a spool on a disk in memory, with clocks that the test moves.
type rig struct {
	t       *testing.T
	disk    *memDisk
	spool   *Spool
	wall    time.Time
	uptime  time.Duration
	dropped []string // reason and name
}

func newRig(t *testing.T) *rig {
	return &rig{t: t, disk: newMemDisk(1), wall: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)}
}

func (r *rig) pass(d time.Duration) { r.wall, r.uptime = r.wall.Add(d), r.uptime+d }

// start opens the spool as a new process does.
func (r *rig) start(o Options) *Spool {
	r.t.Helper()
	o.Now, o.Uptime = func() time.Time { return r.wall }, func() time.Duration { return r.uptime }
	o.Dropped = func(name string, reason Reason, _ error) { r.dropped = append(r.dropped, string(reason)+" "+name) }
	o.Log = slog.New(slog.DiscardHandler)
	s, err := openOn(r.disk, o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.spool = s
	return s
}

func (r *rig) put(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if err := r.spool.Put(name, bodyOf(name)); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) wantDropped(want ...string) {
	r.t.Helper()
	if !slices.Equal(r.dropped, want) {
		r.t.Errorf("given up: %q, want %q", r.dropped, want)
	}
	r.dropped = nil
}

func bodyOf(name string) []byte { return []byte(strings.Repeat("body of "+name+"\n", 20)) }

// names are those of all documents, in order; each has its body.
func names(t *testing.T, s *Spool) []string {
	t.Helper()
	var out []string
	for _, d := range s.Next(1000, 1<<40, nil) {
		out = append(out, d.Name)
		if !bytes.Equal(d.Body, bodyOf(d.Name)) {
			t.Errorf("%s has the body %q", d.Name, d.Body)
		}
	}
	return out
}

func wantNames(t *testing.T, s *Spool, want ...string) {
	t.Helper()
	if got := names(t, s); !slices.Equal(got, want) {
		t.Errorf("the spool holds %q, want %q", got, want)
	}
	if s.Len() != len(want) {
		t.Errorf("Len() = %d, want %d", s.Len(), len(want))
	}
}

// both runs a test on a spool in memory and on one with a folder.
func both(t *testing.T, o Options, test func(t *testing.T, s *Spool)) {
	t.Run("memory", func(t *testing.T) {
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
	})
	t.Run("folder", func(t *testing.T) {
		o := o
		o.Dir = t.TempDir()
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func put(t *testing.T, s *Spool, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := s.Put(name, bodyOf(name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDocumentsComeInOrderAndStayUntilRemoved(t *testing.T) {
	for _, newest := range []bool{false, true} {
		both(t, Options{NewestFirst: newest}, func(t *testing.T, s *Spool) {
			put(t, s, "b", "a", "c")
			order := []string{"b", "a", "c"}
			if newest {
				slices.Reverse(order)
			}
			wantNames(t, s, order...)
			wantNames(t, s, order...) // looking does not take
			s.Remove(s.Next(1, 1<<20, nil)...)
			wantNames(t, s, order[1:]...)
			two := s.Next(2, 1<<20, nil)
			s.Remove(two...)
			s.Remove(two...) // once more is harmless
			wantNames(t, s)
			if got := s.Stats(); got != (Stats{}) {
				t.Errorf("an emptied spool: %+v", got)
			}
		})
	}
}

func TestABatchIsBoundedInNumberAndBytes(t *testing.T) {
	both(t, Options{}, func(t *testing.T, s *Spool) {
		put(t, s, "a", "b", "c", "d")
		one := int64(len(bodyOf("a")))
		for _, c := range []struct {
			most  int
			bytes int64
			skip  string
			want  int
		}{{8, 1 << 20, "", 4}, {3, 1 << 20, "", 3}, {8, 2 * one, "", 2}, {8, 2*one - 1, "", 1}, {8, 1, "", 1}, {8, 1 << 20, "ac", 2}, {8, 1 << 20, "abcd", 0}} {
			got := s.Next(c.most, c.bytes, func(name string) bool { return strings.Contains(c.skip, name) })
			if len(got) != c.want {
				t.Errorf("Next(%d, %d) without %q: %d documents, want %d", c.most, c.bytes, c.skip, len(got), c.want)
			}
		}
	})
}

func TestPuttingANameAgainReplacesIt(t *testing.T) {
	both(t, Options{Bytes: 3 * block}, func(t *testing.T, s *Spool) {
		put(t, s, "a", "b")
		stale := s.Next(1, 1, nil)
		if err := s.Put("a", []byte("new")); err != nil {
			t.Fatal(err)
		}
		s.Remove(stale...) // what was delivered is the old one
		got := s.Next(9, 1<<20, nil)
		if len(got) != 2 || got[0].Name != "b" || got[1].Name != "a" || string(got[1].Body) != "new" {
			t.Errorf("%+v", got)
		}
	})
}

func TestWhatCanNeverBeTaken(t *testing.T) {
	both(t, Options{Bytes: 2 * block}, func(t *testing.T, s *Spool) {
		put(t, s, "a")
		if err := s.Put("b", make([]byte, 2*block+1)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v, want ErrTooLarge", err)
		}
		for _, name := range []string{"", "a b", "a\nb", "ä", strings.Repeat("x", maxName+1)} {
			if err := s.Put(name, nil); err == nil {
				t.Errorf("the name %q is taken", name)
			}
		}
		wantNames(t, s, "a")
		if err := s.Put("empty", nil); err != nil {
			t.Error(err)
		}
		if got := s.Next(9, 1<<20, nil); len(got) != 2 || len(got[1].Body) != 0 {
			t.Errorf("an empty body: %+v", got)
		}
	})
}

func TestAFullSpoolGivesUpItsOldest(t *testing.T) {
	for _, newest := range []bool{false, true} {
		r := newRig(t)
		r.start(Options{Bytes: 3 * block, NewestFirst: newest})
		r.put("a", "b", "c")
		r.wantDropped()
		r.put("d")
		r.wantDropped("cap a")
		if err := r.spool.Put("e", make([]byte, 2*block-200)); err != nil { // three documents are not enough room
			t.Fatal(err)
		}
		r.wantDropped("cap b", "cap c")
		if got := r.spool.Stats(); got.Documents != 2 || got.Bytes != 3*block {
			t.Errorf("%+v", got)
		}
		r.start(Options{Bytes: 2 * block}) // less than there is
		r.wantDropped("cap d")
	}
}

func TestADocumentThatIsReplacedIsNotGivenUpForItsSuccessor(t *testing.T) {
	r := newRig(t)
	r.start(Options{Bytes: 2 * block})
	r.put("a", "b")
	r.put("a") // of the same size: nothing has to go
	r.wantDropped()
	r.put("b")
	if err := r.spool.Put("a", make([]byte, block)); err != nil { // two blocks with its first line
		t.Fatal(err)
	}
	r.wantDropped("cap b")
	if got := r.spool.Stats(); got.Documents != 1 || got.Bytes != 2*block {
		t.Errorf("%+v", got)
	}
}

func TestManyPutWhileOneDelivers(t *testing.T) {
	both(t, Options{}, func(t *testing.T, s *Spool) {
		const putters, each = 4, 25
		var all sync.WaitGroup
		for p := range putters {
			all.Go(func() {
				for i := range each {
					put(t, s, fmt.Sprintf("p%d-%02d", p, i))
				}
			})
		}
		last := map[string]string{}
		for n := 0; n < putters*each; {
			batch := s.Next(8, 1<<20, nil)
			for _, d := range batch {
				putter, number, _ := strings.Cut(d.Name, "-")
				if number <= last[putter] || !bytes.Equal(d.Body, bodyOf(d.Name)) {
					t.Errorf("%s comes after %s", d.Name, last[putter])
				}
				last[putter] = number
			}
			s.Remove(batch...)
			if got := s.Stats(); got.Bytes < 0 || got.Documents > putters*each-n {
				t.Errorf("%+v after %d were delivered", got, n)
			}
			n += len(batch)
		}
		all.Wait()
		wantNames(t, s)
	})
}

func TestRemovedBytesAreFreeAgain(t *testing.T) {
	both(t, Options{Bytes: block}, func(t *testing.T, s *Spool) {
		for range 50 {
			put(t, s, "x")
			if s.Len() != 1 {
				t.Fatalf("%d documents", s.Len())
			}
			s.Remove(s.Next(1, 1, nil)...)
		}
	})
}

func TestARestartFindsTheQueueInOrder(t *testing.T) {
	dir := t.TempDir()
	for round := range 4 { // the numbers go on where they were
		s, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := range round * 5 {
			want = append(want, fmt.Sprintf("d%d", i))
		}
		wantNames(t, s, want...)
		if s.Stats().Unsaved != 0 {
			t.Errorf("unsaved: %+v", s.Stats())
		}
		for i := range 5 {
			put(t, s, fmt.Sprintf("d%d", round*5+i))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoProbersCannotShareAFolder(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second spool: %v, want ErrLocked and the folder", err)
	}
	put(t, first, "a")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, second, "a")
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderThatCannotBeUsedIsNamed(t *testing.T) {
	_, err := Open(Options{Dir: "/proc/nothing"})
	if err == nil || !strings.Contains(err.Error(), `"/proc/nothing"`) || !strings.Contains(err.Error(), "want a folder") {
		t.Errorf("%v", err)
	}
}
