package reflect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func sinkSpec(messages, sink int) wire.Spec {
	return wire.Spec{
		Kind: wire.KindStream, RequestBytes: 100, Timeout: time.Second,
		Bulk: wire.Bulk{MaxBytes: 5000, Messages: messages, MessageRate: 1000, Batch: 1, SinkRate: sink},
	}
}

func newSink(spec wire.Spec) *stream {
	return &stream{spec: spec, budget: wire.NewBudget(spec.Bulk.MaxBytes), account: newTakings(spec)}
}

func messageBytes(size int, sequences ...uint64) []byte {
	var out []byte
	for _, n := range sequences {
		b := make([]byte, size)
		wire.PutMessage(b, n, wire.MessageDue(int(n), 1000))
		out = append(out, b...)
	}
	return out
}

func TestASinkTakesWholeMessagesInOrder(t *testing.T) {
	for _, c := range []struct {
		name  string
		in    []byte
		taken int
		fails string
	}{
		{"three", messageBytes(100, 0, 1, 2), 3, ""},
		{"none", nil, 0, ""},
		{"more than were agreed on", messageBytes(100, 0, 1, 2, 3, 4, 5), 4, ""},
		{"cut", messageBytes(100, 0, 1)[:199], 1, "message 1"},
		{"one left out", messageBytes(100, 0, 2), 1, "it says that it is 2"},
	} {
		s := newSink(sinkSpec(4, 0))
		s.account.begin = monotonic()
		err := s.sink(t.Context(), bytes.NewReader(c.in))
		if s.account.taken != c.taken || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %d taken, want %d; %v", c.name, s.account.taken, c.taken, err)
		}
	}
	s := newSink(sinkSpec(4, 0))
	if err := s.sink(t.Context(), bytes.NewReader(messageBytes(100, 0))); err == nil || s.account.taken != 0 {
		t.Errorf("a message before the stream's beginning was taken: %v", err)
	}
	s = newSink(sinkSpec(100, 0)) // the budget holds 50
	s.account.begin = monotonic()
	var sequences []uint64
	for i := range uint64(60) {
		sequences = append(sequences, i)
	}
	if err := s.sink(t.Context(), bytes.NewReader(messageBytes(100, sequences...))); err != nil || s.account.taken != 50 || !s.budget.Reached() {
		t.Errorf("%d taken of a budget of 50: %v", s.account.taken, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s = newSink(sinkSpec(4, 1))
	s.account.begin = monotonic()
	if err := s.sink(ctx, bytes.NewReader(messageBytes(100, 0, 1))); !errors.Is(err, context.Canceled) {
		t.Errorf("a sink that is stopped: %v", err)
	}
}

func TestASinksScheduleCatchesUpOnItsOwnLatenessAlone(t *testing.T) {
	const ms = int64(time.Millisecond)
	p := newSinkPace(100) // one every 10 ms
	defer p.stop()
	at := func(waiting, came, want int64) {
		t.Helper()
		p.ready(waiting * ms)
		if got := p.due(came * ms); got != want*ms {
			t.Errorf("a message that came at %d ms is due at %.1f, want %d", came, float64(got)/float64(ms), want)
		}
	}
	at(1000, 1000, 1000)
	at(1000, 1000, 1010)
	at(1013, 1013, 1020) // taken 3 ms late: the next is due as if it had not been
	at(1045, 1045, 1030) // it slept for 25 ms too long, with messages waiting: that is made good
	at(1045, 1045, 1040)
	at(1045, 1045, 1050)
	at(1050, 1200, 1200) // nothing to take for 140 ms beyond the schedule: that is lost
	at(1200, 1200, 1210)
	at(1225, 1235, 1230) // 5 ms late by itself, then 10 ms of waiting, which move the schedule
	at(9000, 9000, 8000) // a standstill of the machine is made good in part
}

func TestASinksAccountKeepsWhatItsMemoryHolds(t *testing.T) {
	spec := sinkSpec(300_000, 0)
	spec.Bulk.MessageRate = 100_000 // one every 10 µs
	a := newTakings(spec)
	if a.step != 8 || cap(a.at) > maxTakings+1 {
		t.Fatalf("every message of number %d is kept, %d in all", a.step, cap(a.at))
	}
	a.begin = 5_000_000_000
	for i := range 300_000 { // each is taken twice as late as the one before, and a millisecond
		due := int64(wire.MessageDue(i, 100_000))
		if err := a.take(i, a.begin+2*due+1_000_000); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := a.answer(wire.StreamAsk{Ask: wire.StreamEnd, Made: 300_000}, 20_000_000_000)
	if err != nil || answer.Validate(300_000) != nil {
		t.Fatalf("%v, %v", err, answer.Validate(300_000))
	}
	got := answer.Taking
	for _, c := range []struct {
		what            string
		got, want, give int64
	}{
		{"p50", got.DelayP50NS, 1_501_000_000, 1_000_000},
		{"p99", got.DelayP99NS, 2_971_000_000, 1_000_000},
		{"last", got.DelayLastNS, 3_000_990_000, 0},
		{"backlog", int64(got.MaxBacklog), 150_050, 10},
		{"first", got.FirstNS, a.begin + 1_000_000, 0},
	} {
		if c.got < c.want-c.give || c.got > c.want+c.give {
			t.Errorf("%s is %d, want %d", c.what, c.got, c.want)
		}
	}
	// A clock that has run ahead by 100 ms in the end makes the last delay smaller by as much.
	answer, err = a.answer(wire.StreamAsk{Ask: wire.StreamEnd, Made: 300_000, Drift: wire.Drift{FromNS: a.begin, ToNS: a.last, MovedNS: 1e8}}, 20_000_000_000)
	if err != nil || answer.Taking.DelayLastNS != 3_000_990_000-1e8 {
		t.Errorf("with the drift: %+v, %v", answer.Taking, err)
	}
}

func questionSeeds() []string {
	return []string{
		`{"ask":"clock"}`, `{"ask":"count"}`, `{"ask":"begin","begin_ns":1000}`, `{"ask":"begin"}`, `{"ask":"begin","begin_ns":9000000000000000000}`,
		`{"ask":"end","made":3}`, `{"ask":"end","made":2}`, `{"ask":"end","made":100000}`, `{"ask":"end","made":3,"drift":{"from_ns":1,"to_ns":2,"moved_ns":60000000000}}`,
		`{"ask":"end","made":3,"drift":{"from_ns":2,"to_ns":1}}`, `{"ask":"end","made":3,"drift":{"to_ns":1,"moved_ns":-9223372036854775808}}`, `{"ask":"what"}`, `{}`, `[]`,
	}
}

func FuzzStreamQuestions(f *testing.F) {
	for _, s := range questionSeeds() {
		f.Add([]byte(s), int64(1000))
	}
	f.Fuzz(func(t *testing.T, b []byte, begin int64) {
		var q wire.StreamAsk
		if json.Unmarshal(b, &q) != nil {
			return
		}
		s := newSink(sinkSpec(4, 0))
		const now = int64(time.Minute)
		if _, err := s.account.answer(wire.StreamAsk{Ask: wire.StreamBegin, BeginNS: begin}, now); err != nil {
			return
		}
		for i := range 3 {
			if err := s.account.take(i, now+int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		a, err := s.account.answer(q, now+10)
		if err != nil {
			return
		}
		if err := a.Validate(4); err != nil {
			t.Errorf("%s is answered with what no source believes: %v", b, err)
		}
	})
}

func messageSeeds() [][]byte {
	return [][]byte{
		nil, {0}, messageBytes(100, 0), messageBytes(100, 0, 1, 2, 3), messageBytes(100, 0, 1)[:150], messageBytes(100, 1), bytes.Repeat([]byte{0xff}, 300), make([]byte, 400),
	}
}

func FuzzStreamMessages(f *testing.F) {
	for _, b := range messageSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := newSink(sinkSpec(40, 0))
		s.account.begin = monotonic()
		_ = s.sink(t.Context(), bytes.NewReader(in))
		if n := s.account.taken; n > 40 || n > len(in)/100 || s.budget.Used() < int64(n)*100 || s.budget.Used() > int64(len(in))+100 {
			t.Errorf("%d messages of %d bytes, %d of the budget", n, len(in), s.budget.Used())
		}
	})
}

func TestTheFuzzTargetsOfSaturateAndStreamHaveTheirSeeds(t *testing.T) {
	if a, b, c := len(transferSeeds()), len(questionSeeds()), len(messageSeeds()); a != 9 || b != 14 || c != 8 {
		t.Errorf("%d, %d and %d seeds, want 9, 14 and 8", a, b, c)
	}
	known := 0
	for _, s := range questionSeeds() {
		var q wire.StreamAsk
		if json.Unmarshal([]byte(s), &q) == nil && q.Ask != "" {
			known++
		}
	}
	if known != 12 {
		t.Errorf("%d of the seeds are questions, want 12", known)
	}
}
