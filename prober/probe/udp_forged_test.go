package probe

import (
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// Each sample of a run is answered otherwise; what is not the key-holder's reply to what was sent
// leaves no trace.
func TestUDPWhatDoesNotVerifyLeavesNoTrace(t *testing.T) {
	key, other := stamp.NewAuthenticator(testKey[:]), stamp.NewAuthenticator([]byte("another key"))
	proper := func(b []byte, by *stamp.Authenticator, change func(*stamp.Reply)) []byte {
		q, _ := stamp.ParseRequest(b, stamp.Authenticated)
		a, now := stamp.ReplyTo(q, 64), stamp.NTP(time.Now().UnixNano())
		a.T2, a.T3, a.Estimate = now, now, stamp.UnknownError
		change(&a)
		reply := append([]byte(nil), b...)
		stamp.PutReply(reply, stamp.Authenticated, a)
		by.Sign(reply)
		return reply
	}
	as := func(*stamp.Reply) {}
	var forged = []func(b []byte) []byte{
		func(b []byte) []byte { return b }, // an echo: its digest verifies
		func(b []byte) []byte { return proper(b, other, as) },
		func(b []byte) []byte { return proper(b, key, as)[:150] },
		func(b []byte) []byte { return append(proper(b, key, as), 0) },
		func(b []byte) []byte { return proper(b, key, as)[:50] },
		func(b []byte) []byte { return proper(b, key, func(a *stamp.Reply) { a.SenderSequence += 1 }) },
		func(b []byte) []byte { return proper(b, key, func(a *stamp.Reply) { a.SenderSequence = 5000 }) },
		func(b []byte) []byte {
			return proper(b, key, func(a *stamp.Reply) { a.SenderSequence = stamp.WarmupFrom + 3 })
		},
		func(b []byte) []byte {
			return proper(b, key, func(a *stamp.Reply) { a.SenderSequence = stamp.ControlFrom })
		},
		func(b []byte) []byte { return proper(b, key, func(a *stamp.Reply) { a.T1++ }) },
		func(b []byte) []byte { return proper(b, key, func(a *stamp.Reply) { a.SSID++ }) },
		func(b []byte) []byte { return nil },
	}
	address := udpAnswering(t, func(b []byte) []byte {
		q, _ := stamp.ParseRequest(b, stamp.Authenticated)
		if c, ok := stamp.ParseControl(b); ok {
			reply := make([]byte, stamp.ControlBytes)
			if q.Sequence >= stamp.ClosingFrom { // a report on another session
				c.Session[0]++
			}
			key.PutControlReply(reply, stamp.ReplyTo(q, 64), c.Session, stamp.Report{Received: 3}, stamp.FollowUp{})
			return reply
		}
		if int(q.Sequence) < len(forged) {
			return forged[q.Sequence](b)
		}
		return proper(b, key, as)
	})
	req := udpRequest(address, len(forged)+5)
	req.Spec.Timeout = 500 * time.Millisecond
	run := stampProber().Make(t.Context(), req)
	valid(t, run)
	sameCounts(t, run, wire.Counts{Warmup: 3, Sent: len(forged) + 5, Received: 5, Lost: len(forged)})
	for i := range forged {
		if run.Samples.RTTNS[i] != wire.Null || run.Samples.Failure[i] != wire.FailureTimeout {
			t.Errorf("sample %d: round trip %d, failure %q; want a timeout", i, run.Samples.RTTNS[i], run.Samples.Failure[i])
		}
	}
}

func TestUDPAReportThatContradictsTheSamplesSaysNothing(t *testing.T) {
	for _, c := range []struct {
		name             string
		received         uint32
		forward, reverse any
	}{
		{"as the samples say", 8, 2, 3},
		{"all lost on the way back", 10, 0, 5},
		{"all lost on the way there", 5, 5, 0},
		{"more than was sent", 11, "unknown", "unknown"},
		{"less than was answered", 4, "unknown", "unknown"},
	} {
		counts := wire.Counts{Sent: 10, Received: 4, Lost: 6, Late: 1, Duplicate: 1}
		a := newArrivals(10, stamp.Authenticated)
		a.reported(&counts, stamp.Report{Received: c.received, Duplicates: 7, Reordered: 2})
		if f, r := number(counts.LostForward), number(counts.LostReverse); f != c.forward || r != c.reverse {
			t.Errorf("%s: lost %v forward, %v back; want %v, %v", c.name, f, r, c.forward, c.reverse)
		}
		if known := counts.DuplicateForward != nil; known != (c.forward != "unknown") || known && *counts.DuplicateForward != 7 {
			t.Errorf("%s: %v duplicates forward", c.name, number(counts.DuplicateForward))
		}
	}
}

// A departure that is told of with another packet's number would make a round trip of nonsense.
func TestUDPOnlyStampsThatCanBeASamplesAreItsOwn(t *testing.T) {
	const user = int64(10 * time.Millisecond)
	for _, c := range []struct {
		name     string
		left, at int64
		belongs  bool
	}{
		{"within what the program saw", 1_000_000, 10_500_000, true},
		{"a clock that runs a little faster", 1_000_000, 11_050_000, true},
		{"longer than the program saw", 1_000_000, 11_200_000, false},
		{"after the reply", 2_000_000, 1_000_000, false},
		{"no departure", 0, 1_000_000, false},
		{"no arrival", 1_000_000, 0, false},
	} {
		f := flight{stampLink: &stampLink{}, left: []int64{c.left}}
		f.packet.At = c.at
		if got := f.isStamped(0, user, false); got != c.belongs {
			t.Errorf("%s: %t, want %t", c.name, got, c.belongs)
		}
	}
}
