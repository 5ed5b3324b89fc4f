package probe

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// icmpRequest is a run of count echo requests of 56 octets, 5 ms apart, with a timeout of 5 s.
func icmpRequest(address string, count int) Request {
	r := tcpRequest(address, count)
	r.Spec.Kind, r.Spec.RequestBytes, r.Spec.ResponseBytes = wire.KindICMP, 56, 0
	return r
}

func TestAnEchoRequestIsWhatALibraryMakes(t *testing.T) {
	for _, payload := range []int{16, 17, 56, 1452} {
		m := newEchoMessage(payload, false, 0xBEEF)
		for _, i := range []int{0, 1, 65535, 65536, 109_999} {
			got := m.request(i)
			data := make([]byte, payload)
			copy(data, m.mark[:])
			binary.BigEndian.PutUint64(data[8:], uint64(i))
			want, err := (&icmp.Message{Type: ipv4.ICMPTypeEcho, Body: &icmp.Echo{ID: 0xBEEF, Seq: i & 0xFFFF, Data: data}}).Marshal(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("payload %d, sample %d:\n got %x\nwant %x", payload, i, got[:24], want[:24])
			}
		}
	}
}

func TestOnlyTheRunsOwnRepliesAreTaken(t *testing.T) {
	m := newEchoMessage(56, false, 7)
	reply := func(i int, change func(b []byte) []byte) []byte {
		b := slices.Clone(m.request(i))
		b[0] = echoReply4
		return change(b)
	}
	same := func(b []byte) []byte { return b }
	for _, i := range []int{0, 65536 + 3} {
		if got, ok := m.reply(reply(i, same)); !ok || got != uint64(i) {
			t.Errorf("reply to sample %d reads as %d, %v", i, got, ok)
		}
	}
	for name, change := range map[string]func(b []byte) []byte{
		"a request":                 func(b []byte) []byte { b[0] = echoRequest4; return b },
		"another code":              func(b []byte) []byte { b[1] = 1; return b },
		"another program's id":      func(b []byte) []byte { b[5]++; return b },
		"another run's mark":        func(b []byte) []byte { b[echoHeader]++; return b },
		"sequences that disagree":   func(b []byte) []byte { b[7]++; return b },
		"too short":                 func(b []byte) []byte { return b[:len(b)-1] },
		"too long":                  func(b []byte) []byte { return append(b, 0) },
		"nothing":                   func([]byte) []byte { return nil },
		"the header and no payload": func(b []byte) []byte { return b[:echoHeader] },
	} {
		if got, ok := m.reply(reply(5, change)); ok {
			t.Errorf("%s reads as a reply to sample %d", name, got)
		}
	}
}

func TestAQuotedRequestIsFoundByWhatIsQuotedOfIt(t *testing.T) {
	m := newEchoMessage(56, true, 7)
	latest := func(sequence uint16) int { return 65536 + int(sequence) }
	whole := slices.Clone(m.request(65536 + 9))
	for _, n := range []int{8, 15, 16, 24, 64} {
		if got, ok := m.quoted(whole[:n], latest); !ok || got != 65536+9 {
			t.Errorf("%d octets quoted: sample %d, %v", n, got, ok)
		}
	}
	first := slices.Clone(m.request(9))
	if got, ok := m.quoted(first, latest); !ok || got != 9 {
		t.Errorf("an early sample that is quoted whole: %d, %v; want 9", got, ok)
	}
	other := slices.Clone(whole)
	other[echoHeader]++
	never := slices.Clone(whole)
	binary.BigEndian.PutUint64(never[16:], 1<<40|65536+9)
	for name, b := range map[string][]byte{"too little": whole[:7], "another's mark": other, "a sample beyond all": never, "nothing": nil} {
		if got, ok := m.quoted(b, latest); ok {
			t.Errorf("%s reads as sample %d", name, got)
		}
	}
	if got, ok := m.quoted(whole[:8], func(uint16) int { return -1 }); ok {
		t.Errorf("a sequence that was not sent reads as sample %d", got)
	}
}

func TestTheLatestSampleWithASequenceNumberIsFound(t *testing.T) {
	req := icmpRequest("127.0.0.1", 100_000)
	req.Spec.Warmup = 10_000
	e := newEchoes(req, &echoConn{}, newEchoMessage(56, false, 0), time.Now())
	for i := range 70_000 {
		e.rec.samples[i].sent.Store(1)
	}
	for sequence, want := range map[uint16]int{0: 65536, 4463: 69_999, 4464: 4464, 65535: 65535, 50_000: 50_000} {
		if got := e.highestSent(sequence); got != want {
			t.Errorf("sequence %d: sample %d, want %d", sequence, got, want)
		}
	}
}

func TestTheHeaderOfARawPacketIsLeftOut(t *testing.T) {
	packet := append([]byte{0x46}, make([]byte, 30)...) // 6 words of header, 7 octets more
	if got := withoutIPv4Header(packet); len(got) != 7 {
		t.Errorf("%d octets of payload, want 7", len(got))
	}
	for name, b := range map[string][]byte{
		"empty": nil, "short": packet[:19], "a header longer than the packet": append([]byte{0x4F}, make([]byte, 30)...),
		"a header shorter than one": append([]byte{0x44}, make([]byte, 30)...), "version 6": append([]byte{0x66}, make([]byte, 50)...),
	} {
		if got := withoutIPv4Header(b); got != nil {
			t.Errorf("%s: payload %x, want none", name, got)
		}
	}
}

func TestKernelStampsAreSetAsideWhenTheyCannotBe(t *testing.T) {
	const at, us = int64(1_800_000_000_000_000_000), int64(time.Microsecond)
	user := 500 * us
	for _, c := range []struct {
		name            string
		left, arrived   int64
		now             int64
		wantRTT, client int64
		stamped, set    bool
	}{
		{"both stamps", at + 50*us, at + 350*us, at + user, 300 * us, 200 * us, true, false},
		{"no departure", 0, at + 350*us, at + user, user, notYet, false, false},
		{"no arrival", at + 50*us, 0, at + user, user, notYet, false, false},
		{"the clock was set forward after the arrival", at + 50*us, at + 350*us, at + user + ms, user, notYet, true, true},
		{"the clock was set back before the arrival", at + 50*us, at - ms, at + user - ms, user, notYet, true, true},
		{"the clock was set forward and back within", at + 50*us, at + 900*us, at + user, user, notYet, true, true},
		{"the reply came before the request left", at + 350*us, at + 50*us, at + user, user, notYet, true, true},
	} {
		d := &departure{user: socket.Clocks{Realtime: at, Monotonic: 7}, kernel: c.left}
		got := reckonEcho(d, c.arrived, socket.Clocks{Realtime: c.now, Monotonic: 7 + user})
		if want := (echoTrip{rtt: c.wantRTT, user: user, client: c.client, stamped: c.stamped, set: c.set}); got != want {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}

func TestAnAddressThatIsNoHostIsUnsupported(t *testing.T) {
	for _, address := range []string{"", "localhost", "127.0.0.1:7"} {
		run := newTestProber().Make(t.Context(), icmpRequest(address, 3))
		valid(t, run)
		if run.Failure != wire.FailureUnsupported {
			t.Errorf("address %q: failure %q (%s), want unsupported", address, run.Failure, run.Detail)
		}
	}
}

// scriptedEcho is a socket whose target does what a script says.
type scriptedEcho struct {
	refuse map[uint16]error // by sequence
	answer func(b []byte) [][]byte
	queue  chan []byte
	ended  chan struct{}
}

func (s *scriptedEcho) Send(b []byte) (uint32, error) {
	if err := s.refuse[binary.BigEndian.Uint16(b[6:])]; err != nil {
		return 0, err
	}
	for _, a := range s.answer(b) {
		a[0] = echoReply4
		s.queue <- a
	}
	return 0, nil
}

func (s *scriptedEcho) Receive(b []byte, p *socket.Packet, n *socket.Notice) (bool, error) {
	select {
	case a := <-s.queue:
		*p, *n = socket.Packet{Bytes: copy(b, a)}, socket.Notice{}
		return false, nil
	case <-s.ended:
		return false, errDeadline
	}
}

func (*scriptedEcho) Notice([]byte, *socket.Notice) error { return socket.ErrWait }
func (*scriptedEcho) SetReadDeadline(time.Time) error     { return nil }
func (*scriptedEcho) SetWriteDeadline(time.Time) error    { return nil }
func (*scriptedEcho) Close() error                        { return nil }

// Replies that are lost, doubled and overtaken are counted by the record.
func TestEchoRepliesAreCountedAsTheyCome(t *testing.T) {
	var held []byte
	s := &scriptedEcho{queue: make(chan []byte, 100), ended: make(chan struct{})}
	s.answer = func(b []byte) [][]byte {
		b = slices.Clone(b)
		switch binary.BigEndian.Uint16(b[6:]) {
		case 2: // lost
			return nil
		case 4: // doubled
			return [][]byte{b, slices.Clone(b)}
		case 5: // overtaken by 6
			held = b
			return nil
		case 6:
			return [][]byte{b, held}
		}
		return [][]byte{b}
	}
	req := icmpRequest("127.0.0.1", 10)
	var told []Reply
	req.Observe = func(r Reply) { told = append(told, r) }
	e := newEchoes(req, &echoConn{echoSocket: s}, newEchoMessage(56, false, 0), time.Now())
	received := make(chan struct{})
	go func() {
		defer close(received)
		e.receive()
	}()
	e.sentAll(e.sendAll(t.Context(), NewPacer(1)))
	select {
	case <-e.complete:
		t.Error("all is said to be settled, and one reply was lost")
	case <-time.After(200 * time.Millisecond):
	}
	close(s.ended)
	<-received
	run := e.run(req, ending{at: time.Now()})
	valid(t, run)
	if want := (wire.Counts{Sent: 10, Received: 9, Lost: 1, Duplicate: 1, Reordered: 1, PacingViolations: run.Counts.PacingViolations}); run.Counts != want {
		t.Errorf("counts %+v, want %+v", run.Counts, want)
	}
	if run.Timestamps != wire.TimestampsUser || run.ClockSteps != nil || len(run.Samples.ClientNS) != 0 {
		t.Errorf("time stamps %q, %v set aside, %d shares of the client: without kernel stamps there are none", run.Timestamps, run.ClockSteps, len(run.Samples.ClientNS))
	}
	if run.Samples.Failure[2] != wire.FailureTimeout || len(told) != 10 || !told[4].Duplicate || told[6].Sequence != 5 {
		t.Errorf("failures %q; told %+v", run.Samples.Failure, told)
	}
}
