package transfer

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// pair is a connection's two ends.
func pair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{a, b} {
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		t.Cleanup(func() { _ = c.Close() })
	}
	return a.(*net.TCPConn), b.(*net.TCPConn)
}

// What is sent is received, to the byte, when the sender's budget ends it.
func TestWhatIsSentIsReceived(t *testing.T) {
	for _, most := range []int64{1, 1000, 10_000_001} {
		near, far := pair(t)
		s := NewSender(near, wire.DefaultChunkBytes, wire.NewBudget(most), nil)
		r, err := NewReceiver(far, wire.NewBudget(1<<40))
		if err != nil {
			t.Fatal(err)
		}
		received := make(chan error, 1)
		go func() { received <- r.Run() }()
		if err := s.Run(); !errors.Is(err, ErrBudget) {
			t.Errorf("sending ended with %v, want the budget's end", err)
		}
		if err := near.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := <-received; err != io.EOF { //nolint:errorlint // as documented
			t.Errorf("receiving ended with %v, want io.EOF", err)
		}
		if s.Sent() != most || r.Total() != most {
			t.Errorf("sent %d, received %d, want %d", s.Sent(), r.Total(), most)
		}
	}
}

func TestAReceiversBudgetEndsIt(t *testing.T) {
	near, far := pair(t)
	s := NewSender(near, 10_000, wire.NewBudget(1<<40), nil)
	budget := wire.NewBudget(1_000_001)
	r, err := NewReceiver(far, budget)
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() { sent <- s.Run() }()
	if err := r.Run(); !errors.Is(err, ErrBudget) || r.Total() != 1_000_001 || !budget.Reached() {
		t.Errorf("receiving ended with %v after %d bytes, want the budget's end after 1,000,001", err, r.Total())
	}
	s.Stop() // it waits for a reader
	if err := <-sent; err != nil {
		t.Errorf("a sender that was stopped ended with %v", err)
	}
}

func TestAPeerThatGoesIsAnError(t *testing.T) {
	near, far := pair(t)
	_ = far.SetLinger(0)
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	budget := wire.NewBudget(1 << 40)
	s := NewSender(near, 10_000, budget, nil)
	if err := s.Run(); err == nil || errors.Is(err, ErrBudget) {
		t.Errorf("sending ended with %v", err)
	}
	if budget.Used() != s.Sent() {
		t.Errorf("%d bytes are used of the budget, and %d were sent", budget.Used(), s.Sent())
	}
}

// The senders of a rate keep it together. A busy machine may make them slower.
func TestARateIsKeptTogether(t *testing.T) {
	const bps = 40_000_000
	rate := NewRate(bps, 3)
	var receivers []*Receiver
	began := time.Now()
	for range 3 {
		near, far := pair(t)
		s := NewSender(near, wire.DefaultChunkBytes, wire.NewBudget(1<<40), rate)
		r, err := NewReceiver(far, wire.NewBudget(1<<40))
		if err != nil {
			t.Fatal(err)
		}
		receivers = append(receivers, r)
		done := make(chan struct{}, 2)
		go func() { _ = s.Run(); done <- struct{}{} }()
		go func() { _ = r.Run(); done <- struct{}{} }()
		t.Cleanup(func() { s.Stop(); _ = far.Close(); <-done; <-done })
	}
	time.Sleep(time.Second)
	total := int64(0)
	for _, r := range receivers {
		total += r.Total()
	}
	most := bps / 8 * (time.Since(began) + rateCredit + 2*rateStep).Seconds()
	if float64(total) > most || total < bps/8/4 {
		t.Errorf("%d bytes in a second, want at most %.0f", total, most)
	}
	if NewRate(0, 3) != nil {
		t.Error("no cap is a rate")
	}
}

// At a byte a second the second piece is due in half an hour.
func TestAStopWakesASenderThatWaitsForItsRate(t *testing.T) {
	near, _ := pair(t)
	budget := wire.NewBudget(1 << 40)
	s := NewSender(near, wire.DefaultChunkBytes, budget, NewRate(8, 1))
	ended := make(chan error, 1)
	go func() { ended <- s.Run() }()
	for s.Sent() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Stop()
	s.Stop() // by whoever else ends the run
	select {
	case err := <-ended:
		if err != nil || s.Sent() != rateLeast || budget.Used() != rateLeast {
			t.Errorf("ended with %v after %d bytes, %d of the budget: want the first piece of %d", err, s.Sent(), budget.Used(), rateLeast)
		}
	case <-time.After(20 * time.Second):
		t.Error("it still waits")
	}
}

func TestSendingAndReceivingAllocateNothing(t *testing.T) {
	mallocs := func(n int64, rate *Rate) uint64 {
		near, far := pair(t)
		s := NewSender(near, 10_000, wire.NewBudget(n), rate)
		r, err := NewReceiver(far, wire.NewBudget(n))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		go func() { done <- r.Run() }()
		if err := s.Run(); !errors.Is(err, ErrBudget) {
			t.Fatal(err)
		}
		<-done
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	for _, rate := range []*Rate{nil, NewRate(8_000_000_000, 1)} {
		few, many := mallocs(100_000, rate), mallocs(50_000_000, rate)
		if extra := int64(many) - int64(few); extra > 100 { // 5,000 writes more; the runtime itself may allocate a little
			t.Errorf("10 writes cost %d allocations, 5,000 cost %d", few, many)
		}
	}
}

func TestACongestionControlIsAskedFor(t *testing.T) {
	near, _ := pair(t)
	if err := SetCongestion(near, ""); err != nil {
		t.Errorf("asking for none: %v", err)
	}
	err := SetCongestion(near, "nosuch")
	if err == nil || !strings.Contains(err.Error(), `"nosuch"`) {
		t.Errorf("asking for one that is not there: %v", err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	if !strings.Contains(err.Error(), "reno") { // every Linux has it
		t.Errorf("the error does not say which there are: %v", err)
	}
	if err := SetCongestion(near, "reno"); err != nil {
		t.Fatal(err)
	}
	if s := Sending([]*net.TCPConn{near}); s == nil || s.CongestionControl != "reno" || s.CongestionWindow <= 0 {
		t.Errorf("the kernel says %+v", s)
	}
}
