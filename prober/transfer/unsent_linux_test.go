package transfer

import (
	"io"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// Nobody reads until the sender is stopped: what the kernel took beyond the other end's window leaves only then.
func TestWhatTheKernelHoldsHasNotLeft(t *testing.T) {
	near, far := pair(t)
	s := NewSender(near, wire.DefaultChunkBytes, wire.NewBudget(1<<30), nil)
	ended := make(chan error, 1)
	go func() { ended <- s.Run() }()
	for deadline := time.Now().Add(20 * time.Second); unsent(near) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("all of %d bytes have left, and nobody reads", s.Sent())
		}
	}
	s.Stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	sent, left := s.Sent(), s.Left()
	if left <= 0 || left >= sent {
		t.Errorf("%d bytes have left of %d", left, sent)
	}
	if err := far.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyN(io.Discard, far, sent); err != nil || s.Left() != sent {
		t.Errorf("after %d bytes were read (%v) %d have left, want %d", n, err, s.Left(), sent)
	}
}
