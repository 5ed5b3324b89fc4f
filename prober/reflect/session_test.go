package reflect

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// manySessions are n, each with its own id.
func manySessions(n int) []wire.Session {
	out := make([]wire.Session, n)
	for i := range out {
		out[i] = session()
		out[i].ID = wire.SessionID{1, byte(i)}
		out[i].MaxRequests = 5000
	}
	return out
}

// All at a time, so that some have a thread and the others have not.
func TestMoreSessionsThanThreadsAreServed(t *testing.T) {
	for _, threads := range []int{-1, 3, 100} {
		sessions := manySessions(12)
		r, _ := open(t, Limits{Threads: threads}, sessions...)
		conns := make([]net.Conn, len(sessions))
		for i, s := range sessions {
			if conns[i] = dial(t, r.address); !greet(t, conns[i], s, wire.NewNonce()) {
				t.Fatal("refused")
			}
		}
		for sequence := range uint64(5) {
			for i, s := range sessions {
				if _, err := ask(t, conns[i], s, sequence); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.expect(t, len(sessions), nil)
	} // serving is told to end while all of them wait for requests: see startAt
}

func TestSessionsGiveTheirThreadsBack(t *testing.T) {
	sessions := manySessions(6)
	r, _ := open(t, Limits{Threads: 2}, sessions...)
	for _, s := range sessions {
		conn := dial(t, r.address)
		if !greet(t, conn, s, wire.NewNonce()) {
			t.Fatal("refused")
		}
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		silence(t, conn) // it has read the end, and closed
	}
	for range 500 {
		if r.threads.Take() {
			if r.threads.Take() {
				return
			}
			r.threads.Give()
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the sessions are over, and not both threads are free")
}

func TestTheDeadlineClosesASessionWhosePeerDoesNotRead(t *testing.T) {
	for _, threads := range []int{-1, 1} {
		s := session()
		s.RequestBytes, s.ResponseBytes = wire.MaxMessageBytes, wire.MaxMessageBytes
		s.Deadline = s.NotBefore.Add(2 * time.Second)
		r, _ := open(t, Limits{Threads: threads}, s) // a second is left
		conn := dial(t, r.address)
		if !greet(t, conn, s, wire.NewNonce()) {
			t.Fatal("refused")
		}
		began := time.Now()
		request := make([]byte, s.RequestBytes)
		for { // until both directions are full, and the reflector closes
			if _, err := conn.Write(request); err != nil {
				break
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("closed after %s, with a second left", took)
		}
	}
}

func TestAnsweringAllocatesNothing(t *testing.T) {
	for _, threads := range []int{-1, 1} {
		mallocs := func(n int) uint64 {
			s := manySessions(1)[0]
			r, _ := open(t, Limits{Threads: threads}, s)
			conn := dial(t, r.address)
			if !greet(t, conn, s, wire.NewNonce()) {
				t.Fatal("refused")
			}
			request, response := make([]byte, s.RequestBytes), make([]byte, s.ResponseBytes)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range n {
				wire.PutRequest(request, uint64(i))
				if _, err := conn.Write(request); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(conn, response); err != nil {
					t.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs
		}
		few, many := mallocs(20), mallocs(1020)
		if extra := int64(many) - int64(few); extra > 50 { // 1,000 requests more; the runtime itself may allocate a little
			t.Errorf("threads %d: 20 requests cost %d allocations, 1,020 cost %d", threads, few, many)
		}
	}
}
