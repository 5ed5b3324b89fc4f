package socket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// connected is both ends of a TCP connection on loopback, the first as a stream.
func connected(t *testing.T) (*Stream, *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it has served its purpose
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = peer.SetDeadline(time.Now().Add(30 * time.Second))
	s, err := Detach(conn.(*net.TCPConn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		_ = peer.Close()
	})
	if _, err := conn.Write([]byte{1}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection that was detached can still be written to (%v)", err)
	}
	return s, peer.(*net.TCPConn)
}

func TestAStreamReadsAndWritesWholeMessages(t *testing.T) {
	s, peer := connected(t)
	first, second := bytes.Repeat([]byte{1, 2, 3}, 7), bytes.Repeat([]byte{4, 5}, 4<<20) // no buffer holds that
	written := make(chan error, 1)
	go func() { written <- s.WriteParts(first, second) }()
	got := make([]byte, len(first)+len(second))
	if _, err := io.ReadFull(peer, got); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil || !bytes.Equal(got, append(first, second...)) {
		t.Errorf("what was written in two parts is not what was read (%v)", err)
	}
	go func() { // in three pieces, and not the whole of a second message
		for range 3 {
			_, _ = peer.Write([]byte("abc"))
			time.Sleep(20 * time.Millisecond)
		}
		_, _ = peer.Write([]byte("d"))
		_ = peer.CloseWrite()
	}()
	in := make([]byte, 9)
	if n, err := s.Read(in); n != 9 || err != nil || string(in) != "abcabcabc" {
		t.Errorf("read %q, %v", in[:n], err)
	}
	if n, err := s.Read(in); n != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d octets, %v; want 1 and the end", n, err)
	}
}

func TestWhoeverWaitsIsInterruptedWithTheFirstCause(t *testing.T) {
	first := errors.New("the first cause")
	for name, block := range map[string]func(*Stream) error{
		"reading": func(s *Stream) error { _, err := s.Read(make([]byte, 1)); return err },
		"writing": func(s *Stream) error { return s.WriteParts(nil, make([]byte, 64<<20)) },
	} {
		s, _ := connected(t)
		time.AfterFunc(50*time.Millisecond, func() {
			s.Interrupt(first)
			s.Interrupt(errors.New("another"))
		})
		if err := block(s); !errors.Is(err, first) {
			t.Errorf("%s ended with %v", name, err)
		}
	}
}

func TestAnInterruptionAfterCloseHarmsNobody(t *testing.T) {
	s, _ := connected(t)
	_ = s.Close()
	other, peer := connected(t) // has the descriptor's number now
	s.Interrupt(io.EOF)
	if err := s.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closing a second time: %v", err)
	}
	if err := other.WriteParts([]byte("whole"), nil); err != nil {
		t.Error(err)
	}
	in := make([]byte, 5)
	if _, err := io.ReadFull(peer, in); err != nil || string(in) != "whole" {
		t.Errorf("read %q, %v", in, err)
	}
}

func TestOfferDoesNotWait(t *testing.T) {
	s, _ := connected(t) // whose peer does not read
	b := make([]byte, 1<<20)
	for range 1000 {
		n, err := s.Offer(b)
		if errors.Is(err, ErrWait) {
			return
		}
		if err != nil || n == 0 {
			t.Fatalf("took %d, %v", n, err)
		}
	}
	t.Error("a thousand mebibytes were taken of a peer that reads none")
}

func TestAWaiterIsCalledOnce(t *testing.T) {
	s, peer := connected(t)
	w, err := NewWaiter(s.FD())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if called, err := w.Wait(30*time.Millisecond, false); called || err != nil || time.Since(began) < 30*time.Millisecond {
		t.Errorf("called %v, %v after %s; want 30 ms", called, err, time.Since(began))
	}
	if called, err := w.Wait(time.Minute, true); called || err != nil { // there is room to write
		t.Errorf("called %v, %v", called, err)
	}
	time.AfterFunc(20*time.Millisecond, w.Call)
	if called, err := w.Wait(time.Minute, false); !called || err != nil {
		t.Errorf("called %v, %v", called, err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _, _ = peer.Write([]byte{1}) })
	if called, err := w.Wait(time.Minute, false); called || err != nil {
		t.Errorf("called %v, %v; want to be woken by what came", called, err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	w.Call() // too late, and harmless
}

func TestNoMoreThreadsAreTakenThanThereAre(t *testing.T) {
	for _, limit := range []int{2, 0, -1} {
		b, taken := NewThreads(limit), 0
		for b.Take() {
			taken++
		}
		if taken != max(limit, 0) {
			t.Errorf("%d of %d were taken", taken, limit)
		}
	}
	b := NewThreads(1)
	b.Take()
	b.Give()
	if !b.Take() || b.Take() {
		t.Error("want the one that was given back, and no other")
	}
}
