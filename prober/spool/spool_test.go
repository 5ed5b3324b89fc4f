package spool

import (
	"errors"
	"slices"
	"testing"
)

func TestDocumentsLeaveInTheOrderTheyCameAndStayUntilRemoved(t *testing.T) {
	m := NewMemory(100)
	for _, name := range []string{"b", "a", "c"} {
		if dropped, err := m.Put(name, []byte("body of "+name)); err != nil || dropped != nil {
			t.Fatalf("Put(%q) = %q, %v", name, dropped, err)
		}
	}
	for _, want := range []string{"b", "a", "c"} {
		for range 2 { // looking does not take
			name, body, ok, err := m.Oldest()
			if name != want || string(body) != "body of "+want || !ok || err != nil {
				t.Fatalf("Oldest() = %q, %q, %v, %v; want %q", name, body, ok, err, want)
			}
		}
		if err := m.Remove(want); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, ok, _ := m.Oldest(); ok || m.Len() != 0 {
		t.Errorf("an emptied spool still has %d documents", m.Len())
	}
	if err := m.Remove("absent"); err != nil {
		t.Errorf("removing an absent document: %v", err)
	}
}

func TestAFullSpoolGivesUpItsOldestAndNamesThem(t *testing.T) {
	m := NewMemory(10)
	for _, name := range []string{"one", "two", "three"} { // 3 × 3 bytes
		if _, err := m.Put(name, []byte("123")); err != nil {
			t.Fatal(err)
		}
	}
	dropped, err := m.Put("four", []byte("12345"))
	if err != nil || !slices.Equal(dropped, []string{"one", "two"}) {
		t.Fatalf("Put dropped %q, %v; want one and two: 3 + 5 bytes fit into 10, 6 + 5 do not", dropped, err)
	}
	if name, _, _, _ := m.Oldest(); name != "three" || m.Len() != 2 {
		t.Errorf("oldest of %d is %q, want three of 2", m.Len(), name)
	}
	if _, err := m.Put("five", make([]byte, 11)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a document larger than the spool: %v, want ErrTooLarge", err)
	}
	if m.Len() != 2 {
		t.Errorf("a document that does not fit at all displaced others: %d are left of 2", m.Len())
	}
}

func TestRemovedBytesAreFreeAgain(t *testing.T) {
	m := NewMemory(4)
	for range 1000 {
		if dropped, err := m.Put("x", []byte("1234")); err != nil || dropped != nil {
			t.Fatalf("Put = %q, %v: the bytes of an earlier document are still counted", dropped, err)
		}
		if m.Len() != 1 {
			t.Fatalf("%d documents under one name", m.Len())
		}
		if err := m.Remove("x"); err != nil {
			t.Fatal(err)
		}
	}
}
