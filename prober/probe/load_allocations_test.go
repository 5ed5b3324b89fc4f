package probe

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// What is counted is all that the program allocates for a request of a user: net/http with its two
// goroutines a connection, and ours. The server allocates nothing. The same request by net/http alone
// is the measure.
func TestALoadAllocatesNothingBesideWhatNetHTTPDoes(t *testing.T) {
	url := "http://" + plainServer(t) + "/"
	l := newLoad(loadRequest(url, 1, 50_000), wire.NewBudget(1<<40))
	u, err := readURL(url)
	if err != nil {
		t.Fatal(err)
	}
	w := &webUser{client: newTestProber().newHTTPClient(loadRequest(url, 1, 1), u), load: l, asking: t.Context()}
	w.client.meter(l)
	w.client.under = w.stamped
	w.renew()
	defer w.close()
	user := userState{load: l}
	once := func() {
		if f, ok := user.once(w); !ok || f != "" {
			t.Fatalf("failure %q: %s", f, l.firstError)
		}
	}
	once()
	ours := testing.AllocsPerRun(2000, once)

	bare := &http.Transport{DisableCompression: true}
	defer bare.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request := w.client.request.WithContext(ctx)
	alone := func() {
		response, err := bare.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body) // the next request would fail
		_ = response.Body.Close()
	}
	alone()
	theirs := testing.AllocsPerRun(2000, alone)
	t.Logf("%.0f allocations a request, of which net/http's are %.0f", ours, theirs)
	if ours > theirs {
		t.Errorf("a request costs %.0f allocations, with net/http alone %.0f", ours, theirs)
	}
}

// plainServer answers every request with the same octets, and allocates nothing for it.
func plainServer(t *testing.T) string {
	t.Helper()
	answer := []byte("HTTP/1.1 200 OK\r\nServer-Timing: total;dur=0.001\r\nContent-Length: 5\r\n\r\nhello")
	return serveAll(t, func(conn net.Conn) {
		in, have := make([]byte, 4096), 0
		for {
			n, err := conn.Read(in[have:])
			if have += n; err != nil {
				return
			}
			if !bytes.HasSuffix(in[:have], []byte("\r\n\r\n")) {
				continue
			}
			have = 0
			if _, err := conn.Write(answer); err != nil {
				return
			}
		}
	})
}

// serveAll runs script for every connection to a new address.
func serveAll(t *testing.T, script func(net.Conn)) string {
	t.Helper()
	l := listenTest(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			go func() {
				defer conn.Close() // the script has written what it wanted
				script(conn)
			}()
		}
	}()
	return l.Addr().String()
}

func TestALoadToAProberAllocatesNothingForARequest(t *testing.T) {
	address := serveAll(t, func(conn net.Conn) {
		in, out := make([]byte, 64), make([]byte, 100)
		for {
			if _, err := io.ReadFull(conn, in); err != nil {
				return
			}
			wire.PutResponse(out, wire.RequestSequence(in), time.Microsecond)
			if _, err := conn.Write(out); err != nil {
				return
			}
		}
	})
	req := loadRequest("", 1, 50_000)
	req.Spec.Method, req.Spec.Connection, req.Spec.RequestBytes, req.Spec.ResponseBytes = "", "", 64, 100
	budget := wire.NewBudget(1 << 40)
	l := newLoad(req, budget)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	u := &targetUser{
		load: l, link: &bulkLink{budget: budget}, asking: t.Context(), conn: conn.(*net.TCPConn), uncut: func() bool { return true },
		header: make([]byte, 16), padding: make([]byte, 48), response: make([]byte, 100),
	}
	u.in, _ = incomingOf(u.conn)
	defer u.close()
	user := userState{load: l}
	if n := testing.AllocsPerRun(2000, func() {
		if f, ok := user.once(u); !ok || f != "" {
			t.Fatalf("failure %q: %s", f, l.firstError)
		}
	}); n > 0 {
		t.Errorf("%.0f allocations a request", n)
	}
	if l.rec.samples[0].server != 1000 || l.answered.Load() != 2001 {
		t.Errorf("sample %+v of %d", &l.rec.samples[0], l.answered.Load())
	}
}
