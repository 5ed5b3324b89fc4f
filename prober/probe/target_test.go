package probe

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"isochrone/prober/wire"
)

var (
	testKey     = wire.Key{1, 2, 3}
	testSession = wire.SessionID{4, 5, 6}
)

// listenTest opens a socket on loopback, without multipath TCP as the real reflector does.
func listenTest(t *testing.T) net.Listener {
	t.Helper()
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// target runs script over the first connection to a new address, which it returns; the test
// waits for the script's end.
func target(t *testing.T, script func(conn *net.TCPConn)) string {
	t.Helper()
	l := listenTest(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close() // the script has checked what it wanted
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		script(conn.(*net.TCPConn))
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// welcome does the reflector's part of the handshake as the holder of key.
func welcome(t *testing.T, conn net.Conn, key wire.Key) bool {
	t.Helper()
	var hello [wire.ClientHelloBytes]byte
	if _, err := io.ReadFull(conn, hello[:]); err != nil {
		t.Errorf("reading the first message: %v", err)
		return false
	}
	if !wire.VerifyClientHello(hello, testKey, wire.KindTCP) {
		t.Error("the first message was not made with the session's key")
		return false
	}
	id, nonce := wire.ReadClientHello(hello)
	answer := wire.ReflectorHello(key, wire.KindTCP, id, nonce, wire.NewNonce())
	_, err := conn.Write(answer[:])
	return err == nil
}

// serveRequests calls reply for every request with its sequence number, until the peer closes
// or reply returns false.
func serveRequests(t *testing.T, conn net.Conn, size int, reply func(sequence uint64) bool) {
	t.Helper()
	if !welcome(t, conn, testKey) {
		return
	}
	in := make([]byte, size)
	for {
		if _, err := io.ReadFull(conn, in); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the stream ended within a request: %v", err)
			}
			return
		}
		if !reply(wire.RequestSequence(in)) {
			return
		}
	}
}

// respond writes a response of size bytes.
func respond(conn net.Conn, size int, sequence uint64) bool {
	out := make([]byte, size)
	wire.PutResponse(out, sequence, time.Nanosecond)
	_, err := conn.Write(out)
	return err == nil
}

// tcpRequest is a run of count samples, 5 ms apart, with a timeout of 5 s, no warm-up, and a
// minute's deadline.
func tcpRequest(address string, count int) Request {
	now := time.Now()
	return Request{
		Target: "northeurope", Path: "public", Address: address, Session: testSession, Key: testKey,
		Spec: wire.Spec{
			Kind: wire.KindTCP, Count: count, Interval: 5 * time.Millisecond, Timeout: 5 * time.Second,
			RequestBytes: 64, ResponseBytes: 16,
		},
		PlannedStart: now, First: now, Deadline: now.Add(time.Minute),
	}
}

func connectRequest(address string, count int) Request {
	r := tcpRequest(address, count)
	r.Spec.Kind, r.Spec.RequestBytes, r.Spec.ResponseBytes = wire.KindConnect, 0, 0
	return r
}

func newTestProber() *Prober { return New(NewPacer(1)) }
