package probe

import (
	"context"
	"errors"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// maxFailedPause is how long a user whose request failed leaves the target alone: one that
// refuses connections at once is not to be asked for a hundred thousand. The timeout, if that is
// shorter, so that failing takes no longer than waiting.
const maxFailedPause = 100 * time.Millisecond

// user makes one user's requests, until its loops or its time are over, or ctx ends.
func (l *load) user(ctx context.Context, a asker) {
	u := userState{load: l}
	for u.loops = 0; l.spec.Bulk.Loops == 0 || u.loops < l.spec.Bulk.Loops; u.loops++ {
		if ctx.Err() != nil || l.budget.Short() {
			u.cut = true
			break
		}
		// One request of each there is, also where this machine was too busy to start its users in time.
		if u.loops > 0 && !socket.Now().Before(l.last) {
			u.cut = l.spec.Bulk.Loops > 0
			break
		}
		f, ok := u.once(a)
		if !ok {
			break
		}
		// A status is an answer: the connection stands, and the target is not overrun.
		if f != "" && f != wire.FailureHTTPStatus && f != wire.FailureTimeout {
			pause(ctx, min(maxFailedPause, l.spec.Timeout))
		}
	}
	u.leave(a.close())
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// userState is what a user knows without asking the others.
type userState struct {
	load    *load
	loops   int
	address string
	least   int64 // connect phase, ns; 0: none is known
	opened  int   // connections
	cut     bool
}

// once makes one request. It allocates nothing. ok is false when no sample is left for it.
func (u *userState) once(a asker) (f wire.Failure, ok bool) {
	l := u.load
	unready := a.ready()
	if errors.Is(unready, errBudget) {
		l.stop() // what others have under way is within the budget
		return "", false
	}
	i, ok := l.take()
	if !ok {
		return "", false
	}
	s := &l.rec.samples[i]
	if unready != nil {
		f = failureOf(unready)
		u.failure(s, f, unready)
		return f, true
	}
	l.under.Add(1)
	got, err := a.ask()
	l.under.Add(-1)
	u.learn(got)
	if err != nil {
		u.failure(s, got.failure, err)
		return got.failure, true
	}
	rtt := max(l.rec.since(got.ended)-s.sent.Load(), 1)
	if rtt > int64(l.spec.Timeout) {
		s.late = true
		l.failed.Add(1)
		return "", true
	}
	// The server's word is kept even where it cannot be: that the network's part is below the path's
	// round trip is for the reader to see.
	s.rtt, s.server, s.client = rtt, got.server, got.client
	s.dns, s.connect, s.tls, s.firstByte = got.dns, got.connect, got.tls, got.firstByte
	l.answered.Add(1)
	return "", true
}

// ownShare is how long an answer of which the last arrived at that time, in Unix nanoseconds, had been in
// this machine when it was read. The kernel's stamp is the wall clock's, so it is only good if nobody has
// set that since the request left.
func ownShare(began, ended time.Time, arrived int64) int64 {
	clocks := func(t time.Time) socket.Clocks {
		return socket.Clocks{Realtime: t.UnixNano(), Monotonic: socket.Monotonic(t)}
	}
	own := ended.UnixNano() - arrived
	if arrived == 0 || own < 0 || own > int64(ended.Sub(began)) || socket.Stepped(clocks(began), clocks(ended)) {
		return notYet
	}
	return own
}

// learn notes what a request says of the connection.
func (u *userState) learn(got answer) {
	if got.connect != notYet {
		u.opened++
		if u.least == 0 || got.connect < u.least {
			u.least = max(got.connect, 1)
		}
	}
	if u.address == "" && got.address != "" {
		u.address = got.address
		u.load.mu.Lock()
		defer u.load.mu.Unlock()
		if u.load.address == "" {
			u.load.address = got.address
		}
	}
}

func (u *userState) failure(s *sample, f wire.Failure, err error) {
	s.failure = f
	u.load.failed.Add(1)
	u.load.mu.Lock()
	defer u.load.mu.Unlock()
	if u.load.firstError == "" && f != wire.FailureCanceled {
		u.load.firstError = err.Error()
	}
}

// leave adds what the user knows to what the run does.
func (u *userState) leave(info *wire.TCPInfo) {
	l := u.load
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = l.cut || u.cut
	l.reopened += max(u.opened-1, 0)
	if u.least > 0 && (l.least == 0 || u.least < l.least) {
		l.least = u.least
	}
	// Of many connections the one that saw the path at its best tells how long it is.
	if info != nil && (l.info == nil || info.MinRTTUS < l.info.MinRTTUS) {
		l.info = info
	}
}
