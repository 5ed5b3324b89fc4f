package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// What the reflector has to bear. The attackers share this machine's two processors with both
// ends of the measurement, so their rates are bounded.
const (
	halfOpen           = 10_000
	attackers          = 100 // addresses, 127.0.2.1 and up
	connectsPerSecond  = 300 // after the first halfOpen
	datagramsPerSecond = 1000
	replaysPerSecond   = 100
	memoryBarMB        = 256
)

// flood measures beside an attack, and without it, in turn.
func (b *bench) flood(ctx context.Context) error {
	for _, kind := range []string{"udp", "tcp"} {
		var quiet, attacked, memory []float64
		for i := range b.rounds {
			q, _, err := b.beside(ctx, kind, false)
			if err != nil {
				return err
			}
			a, mb, err := b.beside(ctx, kind, true)
			if err != nil {
				return err
			}
			quiet, attacked, memory = append(quiet, q), append(attacked, a), append(memory, mb)
			b.say("round %d: %s p50 %.1f µs without, %.1f µs under attack; reflector %.1f MB", i+1, kind, q, a, mb)
		}
		b.figure("flood_"+kind+"_p50_ratio", median(attacked)/median(quiet), "ratio", atMost(1.2))
		b.figure("flood_"+kind+"_memory", median(memory), "MB", atMost(memoryBarMB))
	}
	return nil
}

// beside is the median round trip in µs, and the reflector's memory in MB.
func (b *bench) beside(ctx context.Context, kind string, attacked bool) (p50, megabytes float64, err error) {
	r, err := b.reflector(loopback)
	if err != nil {
		return 0, 0, err
	}
	defer r.stop()
	if attacked {
		var a *attack
		if a, err = b.attack(ctx); err != nil {
			return 0, 0, err
		}
		defer func() { err = errors.Join(err, a.end()) }()
	}
	m, err := b.ping(ctx, loopback, exchange{kind: kind, bytes: 112, interval: paced, count: 500})
	if err != nil {
		return 0, 0, err
	}
	if attacked && m.Counts.Lost > 0 {
		return 0, 0, fmt.Errorf("%d of %d samples were lost under attack", m.Counts.Lost, m.Counts.Sent)
	}
	return quantile(m.rtts(), 0.5), usageOf(r.cmd.Process.Pid).megabytes, nil
}

// attack is what strangers do to a reflector.
type attack struct {
	stop      context.CancelFunc
	all       sync.WaitGroup
	connected atomic.Int64 // connections that were made
	standing  atomic.Int64 // of them, those that the reflector has not closed
	answered  atomic.Int64 // bytes that came back to a stranger
}

func (b *bench) attack(ctx context.Context) (*attack, error) {
	hello, control, err := b.captured(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	a := &attack{stop: stop}
	var first sync.WaitGroup
	for i := range attackers {
		from := net.IPv4(127, 0, 2, byte(i+1))
		first.Add(1)
		a.all.Go(func() { a.connect(ctx, from, &first) })
	}
	first.Wait()
	if n := a.connected.Load(); n < halfOpen {
		return nil, errors.Join(fmt.Errorf("%d of %d connections could be made: is the limit of open files too low?", n, halfOpen), a.end())
	}
	garbage := func(b []byte) []byte {
		b = b[:1+rand.N(stamp.ControlBytes)] // of any length up to the longest that means something
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		return b
	}
	a.all.Go(func() { a.send(ctx, garbage, datagramsPerSecond) })
	a.all.Go(func() { a.send(ctx, func([]byte) []byte { return control }, replaysPerSecond/2) })
	a.all.Go(func() { a.replay(ctx, hello) })
	b.say("attack: %d connections made, %d of them not closed by the reflector; %d random datagrams and %d replays a second",
		a.connected.Load(), a.standing.Load(), datagramsPerSecond, replaysPerSecond)
	return a, nil
}

// end stops the attack, and says whether a stranger got an answer.
func (a *attack) end() error {
	a.stop()
	a.all.Wait()
	if n := a.answered.Load(); n > 0 {
		return fmt.Errorf("the reflector answered strangers with %d bytes", n)
	}
	return nil
}

// connect keeps connections open that say nothing.
func (a *attack) connect(ctx context.Context, from net.IP, first *sync.WaitGroup) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: 5 * time.Second}
	var readers sync.WaitGroup
	defer readers.Wait()
	open := func() {
		conn, err := dialer.DialContext(ctx, "tcp", loopback.far+":"+ourPort)
		if err != nil {
			return
		}
		a.connected.Add(1)
		a.standing.Add(1)
		readers.Go(func() {
			defer a.standing.Add(-1)
			release := context.AfterFunc(ctx, func() { _ = conn.Close() })
			n, _ := io.Copy(io.Discard, conn) // until one of the two closes
			a.answered.Add(n)
			release()
			_ = conn.Close()
		})
	}
	for range halfOpen / attackers {
		open()
	}
	first.Done()
	tick := time.NewTicker(attackers * time.Second / connectsPerSecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			open()
		case <-ctx.Done():
			return
		}
	}
}

// send sends what next makes, over and over from one address.
func (a *attack) send(ctx context.Context, next func(b []byte) []byte, perSecond int) {
	conn, err := net.Dial("udp", loopback.far+":"+ourPort)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }() // ends the reader too
	a.all.Go(func() {
		b := make([]byte, 2048)
		for ctx.Err() == nil {
			n, _ := conn.Read(b)
			a.answered.Add(int64(n))
		}
	})
	b := make([]byte, 2048)
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = conn.Write(next(b))
		case <-ctx.Done():
			return
		}
	}
}

// replay opens connections with a first message that the reflector has seen.
func (a *attack) replay(ctx context.Context, hello []byte) {
	tick := time.NewTicker(2 * time.Second / replaysPerSecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		conn, err := net.DialTimeout("tcp", loopback.far+":"+ourPort, time.Second)
		if err != nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write(hello)
		n, _ := io.Copy(io.Discard, conn)
		a.answered.Add(n)
		_ = conn.Close()
	}
}

// captured opens a session of each kind, as its rightful owner, and keeps what opened it.
func (b *bench) captured(ctx context.Context) (hello, control []byte, err error) {
	name, err := b.keyFile()
	if err != nil {
		return nil, nil, err
	}
	secret, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the key: %w", err)
	}
	id, key, err := wire.SharedSession(secret, time.Now(), 64, 16)
	if err != nil {
		return nil, nil, err
	}
	first := wire.ClientHello(key, wire.KindTCP, id, wire.NewNonce())
	if err := opens(ctx, "tcp", first[:], wire.ReflectorHelloBytes); err != nil {
		return nil, nil, err
	}
	id, key, err = wire.SharedSession(secret, time.Now(), 112, 0)
	if err != nil {
		return nil, nil, err
	}
	control = make([]byte, stamp.ControlBytes)
	stamp.NewAuthenticator(key[:]).PutControl(control, stamp.Request{Sequence: 0xFFFFFF00, SSID: id.SSID(), Estimate: stamp.EstimateOf(nil)}, id)
	if err := opens(ctx, "udp", control, stamp.ControlBytes); err != nil {
		return nil, nil, err
	}
	return first[:], control, nil
}

// opens says whether a message that is new opens a session: else its replay would show nothing.
func opens(ctx context.Context, network string, message []byte, answer int) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, loopback.far+":"+ourPort)
	if err != nil {
		return fmt.Errorf("opening a session to capture: %w", err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := conn.Write(message); err != nil {
		return fmt.Errorf("opening a session to capture: %w", err)
	}
	if _, err := io.ReadFull(conn, make([]byte, answer)); err != nil {
		return fmt.Errorf("opening a session to capture over %s: %w", network, err)
	}
	return nil
}
