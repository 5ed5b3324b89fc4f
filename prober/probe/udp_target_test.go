package probe

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"isochrone/prober/reflect"
	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// refusals is a reflector's Observer.
type refusals struct {
	mu       sync.Mutex
	admitted int
	refused  map[reflect.Reason]int
}

func (c *refusals) SessionAdmitted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admitted++
}

func (c *refusals) SessionRefused(r reflect.Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = map[reflect.Reason]int{}
	}
	c.refused[r]++
}

func (c *refusals) snapshot() (int, map[reflect.Reason]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.admitted, maps.Clone(c.refused)
}

// stampTarget is a real reflector on loopback that admits sessions, which began before now.
type stampTarget struct {
	*reflect.Reflector
	refusals
	address string
	stop    func() // ends it, and waits
}

func startStampTarget(t testing.TB, clockError func() *int64, sessions ...wire.Session) *stampTarget {
	t.Helper()
	return startStampTargetAt(t, "127.0.0.1:0", clockError, sessions...)
}

func startStampTargetAt(t testing.TB, listen string, clockError func() *int64, sessions ...wire.Session) *stampTarget {
	t.Helper()
	conn, err := reflect.ListenUDP(t.Context(), listen)
	if err != nil {
		t.Fatal(err)
	}
	s := &stampTarget{address: conn.LocalAddr().String()}
	began := time.Now()
	s.Reflector = reflect.New(reflect.Config{
		Observer: &s.refusals, Now: time.Now, Uptime: func() time.Duration { return time.Since(began) },
		Log: slog.New(slog.DiscardHandler), ClockError: clockError,
	})
	s.Admit(sessions)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.ServeUDP(ctx, conn) }()
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-served:
				if err != nil {
					t.Errorf("serving ended with %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Error("serving did not end within 20 s of being told to")
			}
		})
	}
	t.Cleanup(s.stop)
	return s
}

// testStampSession is what udpRequest opens. It begins a moment from now, after any reflector that was
// started before it; sources ask again until then.
func testStampSession(size, requests int) wire.Session {
	now := time.Now()
	return wire.Session{
		ID: testSession, Key: testKey, Source: "westeurope", Path: "public", Probe: "udp", Kind: wire.KindUDP,
		RequestBytes: size, MaxRequests: requests, NotBefore: now.Add(300 * time.Millisecond), Deadline: now.Add(time.Minute),
	}
}

// udpRequest is a run of count samples of 192 octets (as a control packet has), 5 ms apart, with a timeout of 2 s and 3 of warm-up.
func udpRequest(address string, count int) Request {
	r := tcpRequest(address, count)
	r.Spec.Kind, r.Spec.RequestBytes, r.Spec.ResponseBytes, r.Spec.Warmup, r.Spec.Timeout = wire.KindUDP, 192, 0, 3, 2*time.Second
	return r
}

// stampProber asks again soon.
func stampProber() *Prober {
	p := newTestProber()
	p.again = 100 * time.Millisecond
	return p
}

// bothUDPWays is bothWays with a prober that asks again soon. Afterwards its threads are free.
func bothUDPWays(t *testing.T, f func(t *testing.T, p *Prober)) {
	t.Helper()
	bothWays(t, func(t *testing.T, p *Prober) {
		p.again = stampProber().again
		free := 0
		for p.threads.Take() {
			free++
		}
		for range free {
			p.threads.Give()
		}
		f(t, p)
		for range free {
			if !p.threads.Take() {
				t.Error("the run is over, and its thread is not free")
			}
		}
	})
}

// udpStamps is where round trips are clocked on this system.
func udpStamps() wire.Timestamps {
	if socket.Stamps {
		return wire.TimestampsKernel
	}
	return wire.TimestampsUser
}

// number writes what is known of a count, or that it is not.
func number(n *int) any {
	if n == nil {
		return "unknown"
	}
	return *n
}

// sender is a socket on loopback that is not a run's.
func sender(t testing.TB, to string) *net.UDPConn {
	t.Helper()
	c, err := net.Dial("udp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.UDPConn)
}
