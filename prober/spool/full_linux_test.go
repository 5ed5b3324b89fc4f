package spool

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A real file system of 256 kB that is full: what the disk in memory says of one is so.
func TestAFullFileSystem(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatalf("mounting a small file system: %v; this test needs CAP_SYS_ADMIN, as those with network namespaces do", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	up := time.Duration(0)
	o := Options{Dir: dir + "/spool", Bytes: 1 << 20, Uptime: func() time.Duration { return up }, Dropped: func(name string, reason Reason, err error) {
		t.Errorf("gave up %s: %s, %v", name, reason, err)
	}}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 80 { // 4 kB each: the file system has room for some 60
		want = append(want, fmt.Sprintf("d%02d", i))
		put(t, s, want[i])
	}
	unsaved := s.Stats().Unsaved
	if unsaved < 10 || unsaved > 40 {
		t.Fatalf("%d of 80 documents are unsaved", unsaved)
	}
	wantNames(t, s, want...)
	s.Remove(s.Next(unsaved+2, 1<<20, nil)...) // storage takes as many as there is no room for
	want = want[unsaved+2:]
	up += saveRetry
	wantNames(t, s, want...)
	if n := s.Stats().Unsaved; n != 0 {
		t.Errorf("%d documents are unsaved although there is room", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/filler", make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the file system is not full")
	}
	if s, err = Open(o); err != nil { // on a full disk
		t.Fatal(err)
	}
	if got := names(t, s); !slices.Equal(got, want) {
		t.Errorf("after a restart on a full disk: %q, want %q", got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
