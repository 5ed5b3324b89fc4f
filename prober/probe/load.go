package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// load lets users ask, one request after the other, each over a connection of its own, and many at
// a time. User i of n begins i/n of the ramp after the first. Every request is a sample, in the
// order in which they left, whoever sent them; it is due when it leaves, as a closed loop has no
// schedule.
//
// A request that is not answered within its timeout is lost, and costs its user the connection: its
// answer could not be told from the next one's. The user goes on with another.
//
// A URL is asked for as the http kind does it with keep-alive: who opens a connection does so in a
// request, and the phases are in its round trip. To a prober the connections stand before the
// first request on them leaves.
func (p *Prober) load(ctx context.Context, req Request, address netip.AddrPort) wire.Run {
	if req.Spec.AsksURL() {
		return p.loadURL(ctx, req)
	}
	return p.loadProber(ctx, req, address)
}

// errBudget ends what a run's byte budget does not allow any more.
var errBudget = errors.New("the byte budget is used up")

// asker is one user's way to the target. One goroutine uses it.
type asker interface {
	// ready opens the connection, where that is no part of a request and it does not stand. With
	// errBudget the run is over, and nothing was sent.
	ready() error
	// ask makes a request and reads the answer. With an error the answer has its failure code.
	// What was left of the connection then is not used again.
	ask() (answer, error)
	// close says what the kernel knew of the connection, nil if nothing, and gives it up.
	close() *wire.TCPInfo
}

// load is a run of the kind.
type load struct {
	spec   wire.Spec
	begin  time.Time // with monotonic reading
	last   time.Time // no request begins after it
	budget *wire.Budget
	// stop lets no other request begin, giveUp also ends those that are under way.
	stop, giveUp context.CancelFunc

	// For who watches: requests, and octets.
	answered, failed, under, up, down atomic.Int64

	mu         sync.Mutex // of what follows, but for the samples that were taken
	rec        *record
	taken      int  // samples; each is its user's alone
	full       bool // a request found none left
	cut        bool // a user stopped before its loops or time were over
	reopened   int  // connections beside the users' first
	info       *wire.TCPInfo
	least      int64 // connect phase, ns; 0: none is known
	address    string
	firstError string
}

// newLoad allocates all samples: what a run may have, where its time bounds it.
func newLoad(req Request, budget *wire.Budget) *load {
	b := req.Spec.Bulk
	n := wire.MaxSamples
	if b.Loops > 0 {
		n = min(b.Users*b.Loops, n)
	}
	recorded := req
	recorded.Observe = nil // many at a time report a sum instead
	// A sample of a closed loop is due when it leaves.
	recorded.Spec = wire.Spec{Kind: wire.KindTCP, Count: n, Timeout: req.Spec.Timeout}
	begin := firstDue(time.Now(), req.First, 0)
	l := &load{
		spec: req.Spec, begin: begin, budget: budget,
		rec: newRecord(recorded, begin, columnSet{server: true, client: true, phases: req.Spec.AsksURL()}),
	}
	l.last = begin.Add(req.Spec.Span())
	if b.Duration > 0 {
		l.last = begin.Add(b.Ramp + b.Duration)
	}
	return l
}

// make makes the run. connect makes user i's asker, whose requests end when the context does.
func (l *load) make(ctx context.Context, req Request, connect func(context.Context, int) asker) wire.Run {
	// Requests outlive ctx by the grace, so that what is in flight is not thrown away.
	asking, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	sending, stop := context.WithCancel(ctx)
	defer stop()
	l.stop, l.giveUp = stop, func() { stop(); giveUp() }

	told := l.tell(req)
	users, done := sync.WaitGroup{}, make(chan struct{})
	paceCoarse(sending, l.begin, l.spec.Bulk.Ramp/time.Duration(l.spec.Bulk.Users), l.spec.Bulk.Users, func(i int) bool {
		users.Go(func() { l.user(sending, connect(asking, i)) })
		return true
	})
	go func() {
		users.Wait()
		close(done)
	}()
	// Requests time out by themselves; the second is for their goroutines to notice.
	finished := drain(ctx, l.last.Add(l.spec.Timeout+time.Second), req.Deadline, done)
	end := ending{at: time.Now()}
	giveUp()
	<-done
	told()
	return l.result(req, l.conclude(end, finished && ctx.Err() == nil))
}

// conclude says how the run ended, once nobody asks any more.
func (l *load) conclude(end ending, finished bool) ending {
	switch {
	case l.budget.Short(): // one that the last request used up ended nothing
		end.cut, end.detail = wire.FailureCanceled, fmt.Sprintf("ended early: the byte budget of %d bytes is used up", l.spec.Bulk.MaxBytes)
	case l.cut || !finished:
		end.cut, end.detail = wire.FailureCanceled, "stopped before every request was sent and answered"
	case l.full:
		end.detail = fmt.Sprintf("ended before its time: %d requests are the most of a run", wire.MaxSamples)
	case l.firstError != "" && l.reopened > 0:
		end.detail = fmt.Sprintf("connections opened again: %d; the first failure: %s", l.reopened, l.firstError)
	default:
		end.detail = l.firstError
	}
	return end
}

// take gives a request that leaves now its sample, in their order.
func (l *load) take() (i int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i = l.taken; i == len(l.rec.samples) {
		l.full = true
		return 0, false
	}
	l.taken++
	l.rec.samples[i].sent.Store(l.rec.since(socket.Now()))
	return i, true
}
