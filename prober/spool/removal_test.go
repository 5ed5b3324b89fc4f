package spool

import (
	"fmt"
	"testing"
)

// A disk that was made read-only removes nothing for as long as that lasts, which may be weeks.
func TestWhatCannotBeRemovedIsRememberedAndTriedWithinBounds(t *testing.T) {
	r := newRig(t)
	r.start(Options{})
	broken, removals := true, 0
	r.disk.fault = func(op string) outcome {
		if op == "remove" {
			removals++
		}
		if broken {
			return refused
		}
		return fine
	}
	for i := range maxDoomed + 10 {
		r.spool.unlink(fmt.Sprintf("%016x.doc", i))
	}
	if n := len(r.spool.doomed); n != maxDoomed {
		t.Errorf("%d names are remembered, want %d", n, maxDoomed)
	}
	removals = 0
	r.pass(tendEvery)
	r.spool.Next(1, 1, nil)
	if removals != maxUnremovable || len(r.spool.doomed) != maxDoomed {
		t.Errorf("%d removals were tried at once, want %d; %d names are left", removals, maxUnremovable, len(r.spool.doomed))
	}
	broken = false
	for range maxDoomed / maxUnremovable {
		r.pass(tendEvery)
		r.spool.Next(1, 1, nil)
	}
	if n := len(r.spool.doomed); n != 0 {
		t.Errorf("the disk works again, and %d files are still to be removed", n)
	}
}

func TestWhatAStartSetsAsideOutlivesPowerLoss(t *testing.T) {
	for seed := range uint64(20) {
		r := newRig(t)
		r.disk = newMemDisk(seed)
		r.start(Options{})
		r.put("a")
		f := r.disk.names[fileName(1)]
		f.data, f.synced = f.data[:50], f.data[:50]
		r.start(Options{})
		r.disk.losePower()
		if r.disk.names["aside/0000000000000001.corrupt"] == nil {
			t.Fatalf("seed %d: the file that was set aside is lost", seed)
		}
	}
}

func TestAStartThatWasEndedWhileItAdoptedLeavesNothing(t *testing.T) {
	r := newRig(t)
	r.start(Options{})
	r.put("a")
	r.disk.set(adopting, &inode{data: []byte("isochrone-spool 1 ")})
	r.start(Options{})
	if r.disk.names[adopting] != nil {
		t.Error("the half copy is still there")
	}
	wantNames(t, r.spool, "a")
}
