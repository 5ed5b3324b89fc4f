//go:build !windows

package spool

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the process that is killed: see killChild.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SPOOL_TEST_DIR"); dir != "" {
		killChild(dir, os.Getenv("SPOOL_TEST_KILL_AT"))
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// suicidalDisk is the real one, and ends the process with SIGKILL at its n-th operation: before it,
// after it, or when half of a write is done.
type suicidalDisk struct {
	realDisk
	left  *int
	after bool
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (d suicidalDisk) at() (before, after func()) {
	*d.left--
	nothing := func() {}
	if *d.left != 0 {
		return nothing, nothing
	}
	if d.after {
		return nothing, die
	}
	return die, nothing
}

func (d suicidalDisk) Rename(from, to string) error {
	before, after := d.at()
	defer after()
	before()
	return d.realDisk.Rename(from, to)
}

func (d suicidalDisk) Remove(name string) error {
	before, after := d.at()
	defer after()
	before()
	return d.realDisk.Remove(name)
}

func (d suicidalDisk) SyncDir(dir string) error {
	before, after := d.at()
	defer after()
	before()
	return d.realDisk.SyncDir(dir)
}

func (d suicidalDisk) Create(name string) (file, error) {
	before, after := d.at()
	defer after()
	before()
	f, err := d.realDisk.Create(name)
	return suicidalFile{f, d}, err
}

type suicidalFile struct {
	file
	d suicidalDisk
}

func (f suicidalFile) Write(b []byte) (int, error) {
	before, after := f.d.at()
	defer after()
	if *f.d.left == 0 && !f.d.after {
		_, _ = f.file.Write(b[:len(b)/2])
	}
	before()
	return f.file.Write(b)
}

func (f suicidalFile) Sync() error {
	before, after := f.d.at()
	defer after()
	before()
	return f.file.Sync()
}

// killChild puts, delivers and replaces documents, and says each time what it is about to do and
// what it has done. at is the operation at which it is killed, "a" behind it for after it; without
// one it goes on until somebody kills it.
func killChild(dir, at string) {
	number, after := strings.CutSuffix(at, "a")
	left, _ := strconv.Atoi(number)
	l, err := takeLock(dir)
	var s *Spool
	if err == nil {
		s, err = openOn(suicidalDisk{realDisk{dir}, &left, after}, Options{})
	}
	if err != nil {
		fmt.Println("error", err)
		return
	}
	s.lock = l
	for i := 0; i < 6 || at == ""; i++ {
		name := fmt.Sprintf("d%06d", i)
		fmt.Println("put?", name)
		if err := s.Put(name, bodyOf(name)); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("put", name)
		if i%3 == 2 {
			batch := s.Next(2, 1<<20, nil)
			for _, d := range batch {
				fmt.Println("remove?", d.Name)
			}
			s.Remove(batch...)
			for _, d := range batch {
				fmt.Println("remove", d.Name)
			}
		}
		if i%5 == 4 {
			fmt.Println("put?", name)
			_ = s.Put(name, bodyOf(name)) // in place of the one just now
			fmt.Println("put", name)
		}
	}
	fmt.Println("end")
}

// life is what a killed process said that it did.
type life struct {
	put, maybePut, removed, maybeRemoved []string
	ended                                bool
}

func runChild(t *testing.T, dir, at string, killAfter time.Duration) life {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable)
	cmd.Env = append(os.Environ(), "SPOOL_TEST_DIR="+dir, "SPOOL_TEST_KILL_AT="+at, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var l life
	lines := bufio.NewScanner(out)
	for first := true; lines.Scan(); first = false {
		if first && killAfter > 0 {
			timer := time.AfterFunc(killAfter, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
		verb, name, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "put?":
			l.maybePut = append(l.maybePut, name)
		case "put":
			l.put = append(l.put, name)
		case "remove?":
			l.maybeRemoved = append(l.maybeRemoved, name)
		case "remove":
			l.removed = append(l.removed, name)
		case "end":
			l.ended = true
		default:
			t.Errorf("the process said %q", lines.Text())
		}
	}
	err = cmd.Wait()
	if killed := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL; !killed && !l.ended {
		t.Fatalf("the process ended with %v, and not by a kill", err)
	}
	return l
}

// check opens the folder as the next process does.
func (l life) check(t *testing.T, dir, what string) {
	t.Helper()
	s, err := Open(Options{Dir: dir, Dropped: func(name string, reason Reason, err error) {
		t.Errorf("%s: gave up %s: %s, %v", what, name, reason, err)
	}})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	found := names(t, s)
	if !slices.IsSorted(found) {
		t.Errorf("%s: out of order: %q", what, found)
	}
	for _, name := range l.put {
		if !slices.Contains(found, name) && !slices.Contains(l.maybeRemoved, name) {
			t.Errorf("%s: %s was put and is lost", what, name)
		}
	}
	for i, name := range found {
		if slices.Contains(l.removed, name) {
			t.Errorf("%s: %s was removed and is there again", what, name)
		}
		if !slices.Contains(l.maybePut, name) || i > 0 && found[i-1] == name {
			t.Errorf("%s: %s was never put, or is there twice", what, name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(found)+2 { // the lock and aside
		t.Errorf("%s: %d files for %d documents: %v", what, len(entries)-2, len(found), entries)
	}
}

func TestKilledBeforeInAndAfterEveryOperationOfTheDisk(t *testing.T) {
	for _, after := range []string{"", "a"} {
		points := 0
		for {
			at := strconv.Itoa(points+1) + after
			dir := t.TempDir()
			if err := os.Mkdir(dir+"/"+asideDir, 0o700); err != nil {
				t.Fatal(err)
			}
			l := runChild(t, dir, at, 0)
			l.check(t, dir, "killed at operation "+at)
			if t.Failed() {
				return
			}
			if l.ended {
				break
			}
			points++
		}
		if points < 40 {
			t.Errorf("there were only %d operations to kill it at", points)
		}
	}
}

// The same with a process that works as fast as it can, and a kill that comes at any time.
func TestKilledAtAnyTime(t *testing.T) {
	put := 0
	for i := range 40 {
		dir := t.TempDir()
		if err := os.Mkdir(dir+"/"+asideDir, 0o700); err != nil {
			t.Fatal(err)
		}
		l := runChild(t, dir, "", time.Duration(1+i*i)*100*time.Microsecond)
		l.check(t, dir, fmt.Sprintf("kill %d", i))
		put += len(l.put)
	}
	if put < 100 {
		t.Errorf("the processes put only %d documents: this test looks at nothing", put)
	}
}
