package reflect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// stream is this end of a stream session: the sink that the messages run into, and its account.
type stream struct {
	spec    wire.Spec
	budget  *wire.Budget
	account *takings
}

func newStream(s *bulkSession) bulkServer {
	return &stream{spec: s.spec, budget: s.budget, account: newTakings(s.spec)}
}

// control answers the source's questions until it closes the connection.
func (s *stream) control(_ context.Context, c *bulkConn) error {
	for {
		var q wire.StreamAsk
		if err := c.receive(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		now := monotonic() // as soon as the question was here: the source takes it for the middle of its round trip
		answer, err := s.account.answer(q, now)
		if err != nil {
			return fmt.Errorf("answering a question: %w", err)
		}
		if err := c.send(answer); err != nil {
			return err
		}
	}
}

func monotonic() int64 { return socket.Monotonic(socket.Now()) }

// payload takes the messages.
func (s *stream) payload(ctx context.Context, c *bulkConn) error {
	if err := s.sink(ctx, c); err != nil {
		return err
	}
	return awaitEnd(c)
}

// sink takes messages, at most SinkRate a second, until there can be no more of them or the source closes the
// connection. What it does not take stays in the kernel's buffers, then in the source's. It allocates
// nothing for each.
func (s *stream) sink(ctx context.Context, from io.Reader) error {
	in := bufio.NewReaderSize(from, min(max(s.spec.RequestBytes, sinkBuffer), chunk))
	pace := newSinkPace(s.spec.Bulk.SinkRate)
	defer pace.stop()
	for n := range s.spec.Bulk.Messages {
		pace.ready(monotonic())
		header, err := in.Peek(wire.MinMessageBytes)
		if errors.Is(err, io.EOF) && len(header) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading message %d: %w", n, err)
		}
		if sequence, _ := wire.Message(header); sequence != uint64(n) {
			return fmt.Errorf("reading message %d: it says that it is %d", n, sequence)
		}
		if !s.budget.TakeWhole(int64(s.spec.RequestBytes)) {
			return nil
		}
		if _, err := in.Discard(s.spec.RequestBytes); err != nil {
			return fmt.Errorf("reading message %d: %w", n, err)
		}
		if !pace.wait(ctx, monotonic()) {
			return ctx.Err()
		}
		if err := s.account.take(n, monotonic()); err != nil {
			return err
		}
	}
	return nil
}

// sinkBuffer is how much is read ahead of what was taken, at least. It is small beside the kernel's
// buffers, so the backlog lies there.
const sinkBuffer = 16 << 10

// sinkPace is the schedule by which a sink takes messages. What the sink itself is late by, as its thread
// was woken late, it makes good; what it waited for messages it does not: it never had them to take.
type sinkPace struct {
	interval float64 // ns from one message to the next; 0: no schedule
	next     float64 // when the next one may be taken, by the monotonic clock
	idle     int64   // since when it waits for a message
	timer    *time.Timer
}

// maxCatchUp bounds what the sink makes good after a standstill of its machine.
const maxCatchUp = float64(time.Second)

func newSinkPace(rate int) *sinkPace {
	p := &sinkPace{timer: time.NewTimer(time.Hour)}
	if rate > 0 {
		p.interval = float64(time.Second) / float64(rate)
	}
	return p
}

func (p *sinkPace) stop() { p.timer.Stop() }

// ready says that the sink now waits for a message.
func (p *sinkPace) ready(now int64) { p.idle = now }

// due moves the schedule for a message that came now, and returns when it may be taken.
func (p *sinkPace) due(now int64) int64 {
	if p.interval == 0 {
		return now
	}
	if p.next == 0 { // the first message begins it
		p.next = float64(now)
	}
	// Only what was waited beyond the schedule was lost to it.
	if waited := float64(now) - max(p.next, float64(p.idle)); waited > 0 {
		p.next += waited
	}
	p.next = max(p.next, float64(now)-maxCatchUp)
	at := p.next
	p.next += p.interval
	return int64(at)
}

// wait waits until the message that came now may be taken. It reports false when ctx has ended.
func (p *sinkPace) wait(ctx context.Context, now int64) bool {
	left := time.Duration(p.due(now) - now)
	if left <= 0 {
		return ctx.Err() == nil
	}
	p.timer.Reset(left)
	select {
	case <-p.timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
