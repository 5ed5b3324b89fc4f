package spool

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every operation that saving and removing take fails in every way, one at a time, and the process
// is killed or the machine loses power afterwards: the earlier document is there, the new one is
// there if the spool said that it is on the disk, and nothing is delivered that is not whole.
func TestEachOperationFailsInEachWay(t *testing.T) {
	for _, how := range []outcome{refused, lost, short} {
		for _, power := range []bool{false, true} {
			for at := 1; ; at++ {
				r := newRig(t)
				r.start(Options{})
				r.put("before", "old")
				before := r.spool.Next(1, 1, nil)
				n, hit := 0, ""
				r.disk.fault = func(op string) outcome {
					if n++; n == at {
						hit = op
						return how
					}
					return fine
				}
				r.spool.Remove(before...)
				r.put("new")
				r.disk.fault = nil
				if hit == "" {
					break // there is no such operation any more
				}
				what := fmt.Sprintf("operation %d (%s) fails in way %d, power lost: %v", at, hit, how, power)
				unsaved := r.spool.Stats().Unsaved
				if got := names(t, r.spool); !slices.Equal(got, []string{"old", "new"}) {
					t.Errorf("%s: while running: %q", what, got)
				}
				r.pass(saveRetry)
				names(t, r.spool)
				if s := r.spool.Stats(); s.Unsaved != 0 {
					t.Errorf("%s: %d documents are unsaved although the disk works again", what, s.Unsaved)
				}
				if power {
					r.disk.losePower()
				}
				r.start(Options{})
				if got := names(t, r.spool); !slices.Contains(got, "old") || !slices.Contains(got, "new") {
					t.Errorf("%s: %q after a restart (%d were unsaved for a while)", what, got, unsaved)
				}
				r.wantDropped()
			}
		}
	}
}

func TestAFullDiskCostsNoDocument(t *testing.T) {
	r := newRig(t)
	r.start(Options{MemoryBytes: int64(5 * len(bodyOf("x")))})
	r.put("a", "b", "c")
	r.disk.room = 100 // of the next record a part is written
	r.put("d", "e")
	if s := r.spool.Stats(); s.Unsaved != 2 || s.Documents != 5 {
		t.Errorf("%+v, want five documents, two of them unsaved", s)
	}
	wantNames(t, r.spool, "a", "b", "c", "d", "e") // the old ones stay, the new ones are delivered from memory
	r.put("f", "g", "h", "i")
	r.wantDropped("disk d")
	wantNames(t, r.spool, "a", "b", "c", "e", "f", "g", "h", "i")
	for name := range r.disk.names {
		if strings.HasSuffix(name, tempEnd) {
			t.Errorf("%s is left on a full disk", name)
		}
	}

	r.disk.room = -1
	r.pass(saveRetry)
	wantNames(t, r.spool, "a", "b", "c", "e", "f", "g", "h", "i")
	if s := r.spool.Stats(); s.Unsaved != 0 {
		t.Errorf("the disk has room again, and %d documents are unsaved", s.Unsaved)
	}
	r.disk.losePower()
	r.start(Options{})
	wantNames(t, r.spool, "a", "b", "c", "e", "f", "g", "h", "i")
}

func TestDeliveringMakesRoomOnAFullDisk(t *testing.T) {
	r := newRig(t)
	r.start(Options{})
	r.put("a", "b")
	r.disk.room = 0
	r.put("c")
	r.spool.Remove(r.spool.Next(1, 1, nil)...) // a
	r.pass(saveRetry)
	wantNames(t, r.spool, "b", "c")
	if s := r.spool.Stats(); s.Unsaved != 0 {
		t.Errorf("%d unsaved", s.Unsaved)
	}
}

func TestClosingSavesWhatTheDiskTakesNow(t *testing.T) {
	r := newRig(t)
	r.start(Options{})
	r.disk.room = 0
	r.put("a")
	r.disk.room = -1
	if err := r.spool.Close(); err != nil {
		t.Fatal(err)
	}
	r.start(Options{})
	wantNames(t, r.spool, "a")
}

// A document of every length that a file may be cut to, and with every bit changed: it is set
// aside, its neighbours are delivered, and it never is.
func TestNothingTornOrChangedIsDelivered(t *testing.T) {
	whole := encode(head{stored: 1764500000000, length: int64(len(bodyOf("x"))), name: "x"}, bodyOf("x"))
	var spoilt [][]byte
	for n := range whole {
		spoilt = append(spoilt, whole[:n])
	}
	for bit := range 8 * len(whole) {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		spoilt = append(spoilt, b)
	}
	spoilt = append(spoilt, append(bytes.Clone(whole), '\n'), make([]byte, len(whole)))
	for i, b := range spoilt {
		for _, running := range []bool{false, true} { // it is found so, or becomes so
			r := newRig(t)
			r.start(Options{})
			r.put("a", "x", "b")
			r.disk.names[fileName(2)].data = b
			if !running {
				r.start(Options{})
			}
			wantNamesOnce(t, r.spool, "a", "b")
			if len(r.dropped) != 1 || !strings.HasPrefix(r.dropped[0], "corrupt ") || r.disk.names["aside/0000000000000002.corrupt"] == nil {
				t.Errorf("spoilt %d: given up %q, files %d", i, r.dropped, len(r.disk.names))
			}
			if t.Failed() {
				t.Fatalf("spoilt %d, running %v: %q", i, running, b)
			}
		}
	}
}

// A checksum that is right does not make a length right.
func TestALengthThatIsWrong(t *testing.T) {
	for _, wrong := range []int64{0, 199, 201, 1 << 62} {
		if _, _, err := decode(encode(head{stored: 1, length: wrong, name: "x"}, make([]byte, 200))); !errors.Is(err, errCorrupt) {
			t.Errorf("%d for 200 bytes: %v", wrong, err)
		}
	}
}

// wantNamesOnce also holds what remains to it.
func wantNamesOnce(t *testing.T, s *Spool, want ...string) {
	t.Helper()
	if got := names(t, s); !slices.Equal(got, want) {
		t.Errorf("delivered %q, want %q", got, want)
	}
	wantNames(t, s, want...)
}

func TestAFileThatIsGoneBlocksNothing(t *testing.T) {
	r := newRig(t)
	r.start(Options{})
	r.put("a", "b")
	delete(r.disk.names, fileName(1))
	wantNamesOnce(t, r.spool, "b")
	r.wantDropped("corrupt a")
}

func TestAFileThatTheDiskDoesNotGiveBlocksNothingAndStays(t *testing.T) {
	r := newRig(t)
	r.start(Options{})
	r.put("a", "b")
	first := true
	r.disk.fault = func(op string) outcome {
		if op == "read" && first {
			first = false
			return refused
		}
		return fine
	}
	if got := names(t, r.spool); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q", got)
	}
	if got := names(t, r.spool); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q: it is tried again at once", got)
	}
	r.pass(readRetry)
	wantNames(t, r.spool, "a", "b")
	r.wantDropped()
}

func TestWhatIsSetAsideIsKeptAndBounded(t *testing.T) {
	r := newRig(t)
	r.start(Options{Bytes: 16 * 16 * 3 * block}) // a sixteenth: 48 blocks
	for i := range asideFiles + 10 {
		name := fmt.Sprintf("d%d", i)
		r.put(name)
		for _, d := range r.spool.Next(1, 1, nil) {
			r.spool.Refuse(d, errDisk)
		}
	}
	entries, err := r.disk.List(asideDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 48 || entries[47].name != fmt.Sprintf("%016x.refused", asideFiles+10) {
		t.Errorf("%d files, the last of them %v; want the newest 48", len(entries), entries[len(entries)-1])
	}
	if len(r.dropped) != asideFiles+10 || r.dropped[0] != "refused d0" || r.spool.Len() != 0 {
		t.Errorf("%d given up, %d left", len(r.dropped), r.spool.Len())
	}
	r.start(Options{}) // numbers are not given twice, or one would take the other's place
	r.put("next")
	if r.disk.names[fileName(asideFiles+11)] == nil {
		t.Error("a number that was set aside is used again")
	}
}

func TestAFileThatCannotBeRemovedIsNotDeliveredAgain(t *testing.T) {
	r := newRig(t)
	r.start(Options{})
	r.put("a", "b")
	broken := true
	r.disk.fault = func(op string) outcome {
		if op == "remove" && broken {
			return refused
		}
		return fine
	}
	r.spool.Remove(r.spool.Next(1, 1, nil)...)
	wantNames(t, r.spool, "b")
	broken = false
	r.pass(tendEvery)
	wantNames(t, r.spool, "b")
	if r.disk.names[fileName(1)] != nil {
		t.Error("its file is still there")
	}
}

func TestADocumentBeingWrittenIsAdoptedIfItIsWhole(t *testing.T) {
	for _, torn := range []bool{false, true} {
		for _, full := range []bool{false, true} {
			r := newRig(t)
			r.start(Options{})
			r.put("a", "b")
			r.disk.set(tempName(2), r.disk.names[fileName(2)])
			r.disk.set(fileName(2), nil)
			if torn {
				r.disk.names[tempName(2)].data = r.disk.names[tempName(2)].data[:50]
			}
			if full {
				r.disk.room = 10
			}
			r.start(Options{})
			want := []string{"a", "b"}
			if torn {
				want = want[:1]
			}
			wantNames(t, r.spool, want...)
			r.disk.room = -1
			r.put("c") // b's number may be given again only if there was nothing of it
			wantNames(t, r.spool, append(want, "c")...)
			r.wantDropped()
			if r.disk.names[tempName(2)] != nil || r.disk.names[adopting] != nil {
				t.Error("a temporary file is left")
			}
		}
	}
}

func TestAProcessEndedWhileItReplacedADocument(t *testing.T) {
	for _, spoilt := range []bool{false, true} {
		r := newRig(t)
		r.start(Options{})
		r.put("a")
		old := r.disk.names[fileName(1)]
		r.pass(time.Second)
		r.put("a")
		r.disk.set(fileName(1), old) // as if the old one had not been removed
		if spoilt {
			r.disk.names[fileName(2)].data[200] ^= 1
		}
		r.start(Options{})
		wantNames(t, r.spool, "a")
		if got := r.spool.queue.docs[0].seq; (got == 1) != spoilt {
			t.Errorf("the newer one spoilt: %v; document %d is kept", spoilt, got)
		}
	}
}
