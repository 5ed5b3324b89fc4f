package probe

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// impatient gives up opening a session after half a second.
func impatient() *Prober {
	p := stampProber()
	p.setup = 500 * time.Millisecond
	return p
}

// udpAnswering is a UDP socket whose every packet is answered with what answer returns, if it does.
func udpAnswering(t *testing.T, answer func(packet []byte) []byte) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		b := make([]byte, 2000)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := answer(b[:n]); reply != nil {
				_, _ = c.WriteTo(reply, from)
			}
		}
	})
	t.Cleanup(func() {
		_ = c.Close()
		done.Wait()
	})
	return c.LocalAddr().String()
}

// noUDPSocket is an address where no socket is.
func noUDPSocket(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	return c.LocalAddr().String()
}

func TestUDPASessionThatDoesNotOpenHasItsFailure(t *testing.T) {
	var asked atomic.Int64
	other := stamp.NewAuthenticator([]byte("another key"))
	for _, c := range []struct {
		name    string
		address string
		want    wire.Failure
		detail  string
	}{
		{"nobody there", noUDPSocket(t), wire.FailureRefused, "refused"},
		{"silent", udpAnswering(t, func([]byte) []byte { asked.Add(1); return nil }), wire.FailureTimeout, "firewall"},
		{"another key", udpAnswering(t, func(b []byte) []byte {
			q, _ := stamp.ParseRequest(b, stamp.Authenticated)
			reply := make([]byte, stamp.ControlBytes)
			other.PutControlReply(reply, stamp.ReplyTo(q, 64), testSession, stamp.Report{}, stamp.FollowUp{})
			return reply
		}), wire.FailureUnauthorized, "key"},
		{"an echo", udpAnswering(t, func(b []byte) []byte { return b }), wire.FailureUnauthorized, "key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := impatient().Make(t.Context(), udpRequest(c.address, 10))
			valid(t, run)
			if run.Failure != c.want || run.Counts.Sent != 0 || !strings.Contains(run.Detail, c.detail) {
				t.Errorf("failure %q (%s), %d sent; want %q, none", run.Failure, run.Detail, run.Counts.Sent, c.want)
			}
			sameCounts(t, run, wire.Counts{})
		})
	}
	if n := asked.Load(); n < 3 || n > 40 {
		t.Errorf("the silent target was asked %d times in half a second", n)
	}
}

// What is not from the target's key-holder neither opens the session nor keeps it from opening.
func TestUDPGarbageBeforeTheAnswerDoesNoHarm(t *testing.T) {
	key := stamp.NewAuthenticator(testKey[:])
	var unproved atomic.Int64
	address := udpAnswering(t, func(b []byte) []byte {
		q, _ := stamp.ParseRequest(b, stamp.Authenticated)
		reply := make([]byte, len(b))
		switch _, isControl := stamp.ParseControl(b); {
		case isControl && unproved.Load() < 2:
			unproved.Add(1)
		case isControl:
			key.PutControlReply(reply, stamp.ReplyTo(q, 64), testSession, stamp.Report{Received: 5, Replies: 5}, stamp.FollowUp{})
		default:
			stamp.PutReply(reply, stamp.Authenticated, stamp.ReplyTo(q, 64))
			key.Sign(reply)
		}
		return reply
	})
	run := stampProber().Make(t.Context(), udpRequest(address, 5))
	valid(t, run)
	if run.Failure != "" || run.Counts.Received != 5 || unproved.Load() != 2 {
		t.Errorf("failure %q (%s), %d received after %d answers without the key", run.Failure, run.Detail, run.Counts.Received, unproved.Load())
	}
}

// A target that begins to know the session later is asked until the latest start.
func TestUDPATargetIsAskedUntilTheLatestStart(t *testing.T) {
	r := startStampTarget(t, nil)
	time.AfterFunc(1500*time.Millisecond, func() {
		s := testStampSession(192, 203)
		s.NotBefore = time.Now()
		r.Admit([]wire.Session{s})
	})
	req := udpRequest(r.address, 10)
	req.LatestStart = time.Now().Add(20 * time.Second)
	run := impatient().Make(t.Context(), req)
	valid(t, run)
	if run.Failure != "" || run.Counts.Received != 10 || run.Start.Sub(req.PlannedStart) < time.Second {
		t.Errorf("failure %q (%s), %d received, begun after %s; want 10 after 1.5 s", run.Failure, run.Detail, run.Counts.Received, run.Start.Sub(req.PlannedStart))
	}
}

func TestUDPAReflectorThatEndsMidRunRefuses(t *testing.T) {
	bothWays(t, aReflectorThatEndsMidRunRefuses)
}

func aReflectorThatEndsMidRunRefuses(t *testing.T, p *Prober) {
	r := startStampTarget(t, nil, testStampSession(192, 203))
	req := udpRequest(r.address, 60)
	req.Spec.Timeout = 500 * time.Millisecond
	req.Observe = func(reply Reply) {
		if reply.Sequence == 20 {
			go r.stop()
		}
	}
	run := p.Make(t.Context(), req)
	valid(t, run)
	n := run.Counts
	if run.Failure != "" || n.Sent != 60 || n.Received < 21 || n.Received > 58 || n.LostForward != nil || n.LostReverse != nil {
		t.Errorf("failure %q (%s), counts %+v; want some received, and no directions", run.Failure, run.Detail, n)
	}
	if f := run.Samples.Failure[59]; f != wire.FailureRefused {
		t.Errorf("the last sample's failure is %q, want refused", f)
	}
}

func TestUDPThatIsStoppedSaysHowFarItCame(t *testing.T) {
	for _, c := range []struct {
		name string
		p    proxy
		// known says whether the directions are: only if nothing was in flight.
		known bool
	}{
		{"with all that was sent answered", proxy{}, true},
		{"with samples in flight", proxy{all: treatment{drop: true}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startStampTarget(t, nil, testStampSession(192, 2003))
			req := udpRequest(c.p.start(t, r.address), 2000)
			req.Spec.Timeout = 10 * time.Second
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(1200*time.Millisecond, cancel)
			began := time.Now()
			run := stampProber().Make(ctx, req)
			valid(t, run)
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("it took %s to stop", took)
			}
			n := run.Counts
			if n.Sent < 1 || n.Sent > 1000 || run.Samples.Failure[1999] != wire.FailureCanceled || (n.LostForward != nil) != c.known {
				t.Errorf("counts %+v, the last sample %q; want it canceled, directions known: %t", n, run.Samples.Failure[1999], c.known)
			}
			if c.known && (n.Received != n.Sent || *n.LostForward != 0) {
				t.Errorf("%d of %d received, %d lost forward; want all", n.Received, n.Sent, *n.LostForward)
			}
			if !c.known && run.Samples.Failure[0] != wire.FailureCanceled {
				t.Errorf("a sample that was in flight: failure %q, want canceled", run.Samples.Failure[0])
			}
		})
	}
}

func TestUDPThatIsStoppedWhileItOpensIsCanceled(t *testing.T) {
	silent := udpAnswering(t, func([]byte) []byte { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	began := time.Now()
	run := stampProber().Make(ctx, udpRequest(silent, 10))
	valid(t, run)
	if run.Failure != wire.FailureCanceled || time.Since(began) > 5*time.Second {
		t.Errorf("failure %q (%s) after %s; want canceled", run.Failure, run.Detail, time.Since(began))
	}
}
