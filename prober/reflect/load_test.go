package reflect

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// loadPayload serves one user's connection of a session with a budget. It returns the user's end, and
// what serving it came to.
func loadPayload(t *testing.T, request, response int, budget int64) (*net.TCPConn, <-chan error) {
	t.Helper()
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // one connection is all
	user, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	served, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = user.Close(), served.Close() })
	_ = user.SetDeadline(time.Now().Add(time.Minute))
	session := &bulkSession{
		spec:   wire.Spec{Kind: wire.KindLoad, RequestBytes: request, ResponseBytes: response},
		budget: wire.NewBudget(budget),
	}
	ended := make(chan error, 1)
	go func() {
		ended <- newLoad(session).payload(context.Background(), &bulkConn{TCPConn: served, session: session})
		_ = served.Close() // as the reflector does
	}()
	return user.(*net.TCPConn), ended
}

func TestALoadsRequestsAreAnsweredWithoutAllocations(t *testing.T) {
	for _, sizes := range [][2]int{{16, 16}, {64, 4096}, {100_000, 16}, {16, 1 << 20}} {
		user, ended := loadPayload(t, sizes[0], sizes[1], 1<<40)
		out, in, sequence := make([]byte, sizes[0]), make([]byte, sizes[1]), uint64(0)
		exchange := func() {
			sequence++
			wire.PutRequest(out, sequence)
			if _, err := user.Write(out); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(user, in); err != nil {
				t.Fatal(err)
			}
			if got, held := wire.Response(in); got != sequence || held < 0 || held > time.Minute {
				t.Fatalf("a response to %d after %s, want one to %d", got, held, sequence)
			}
		}
		exchange()
		if n := testing.AllocsPerRun(100, exchange); n > 0 {
			t.Errorf("%v: %.0f allocations a request", sizes, n)
		}
		_ = user.Close()
		if err := <-ended; err != nil {
			t.Errorf("%v: the user went, and that is %v", sizes, err)
		}
	}
}

func TestALoadsBudgetIsMeteredHereToo(t *testing.T) {
	user, ended := loadPayload(t, 100, 200, 950)
	if _, err := user.Write(make([]byte, 5*100)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(user)
	if len(got) != 3*200 {
		t.Errorf("%d bytes of responses (%v), want three of 200: a fourth exchange does not fit into 950 bytes", len(got), err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the end of the budget is %v", err)
	}
}

func TestAUserThatEndsWithinARequestIsAnError(t *testing.T) {
	user, ended := loadPayload(t, 100, 200, 1<<40)
	if _, err := user.Write(make([]byte, 99)); err != nil {
		t.Fatal(err)
	}
	_ = user.Close()
	if err := <-ended; err == nil {
		t.Error("half a request is no error")
	}
}
