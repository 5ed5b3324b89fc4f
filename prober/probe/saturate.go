package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// saturate raises the number of requests under way, 1, 2, 4 … Outstanding, until the 99th percentile of the
// response time has doubled from one level to the next. Each outstanding request has a connection to itself,
// so that none waits behind another's payload in the same stream: what a level shows is the network's and
// the target's queues. Connections are opened between two levels, and stay open; a new one begins with TCP's
// slow start, which is within its first level.
func (p *Prober) saturate(ctx context.Context, req Request, address netip.AddrPort) wire.Run {
	began := time.Now()
	link, err := p.openBulk(ctx, req, address)
	if err != nil {
		return setupFailed(req, began, err)
	}
	defer link.close()
	s := newSaturation(req, link)
	s.awaitFirst(ctx)
	s.begin = socket.Now()
	told := make(chan struct{})
	stopTelling := make(chan struct{})
	go func() {
		defer close(told)
		s.tell(stopTelling)
	}()
	s.climb(ctx)
	close(stopTelling)
	<-told
	return s.result(ctx)
}

// saturation is a saturate run while it is made.
type saturation struct {
	req   Request
	link  *bulkLink
	begin time.Time // with a monotonic reading
	lanes []*transferLane

	issued atomic.Int64 // requests; the number of the next one
	// Answered requests, whether counted in a level or not. Who reads both while they rise has each as it was at a
	// moment of its own, and their sum is what was answered.
	reads, writes atomic.Int64
	level         atomic.Pointer[level]

	levels []wire.Level

	mu  sync.Mutex
	err error // the first of any lane

	reached atomic.Bool // the budget did not hold another request
}

func newSaturation(req Request, link *bulkLink) *saturation {
	return &saturation{req: req, link: link}
}

// awaitFirst waits until the run is due.
func (s *saturation) awaitFirst(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	if approach(ctx, timer, s.req.First) {
		waitCoarse(s.req.First)
	}
}

// climb makes the levels.
func (s *saturation) climb(ctx context.Context) {
	most := s.req.Spec.Bulk.Outstanding
	for n := 1; ; n = wire.NextLevel(n, most) {
		if err := s.widen(ctx, n); err != nil {
			s.fail(err)
			return
		}
		s.hold(ctx, n)
		if _, bent := wire.Knee(s.levels); n == most || bent || s.reached.Load() || s.failure() != nil || ctx.Err() != nil {
			return
		}
	}
}

// widen opens connections until there are n.
func (s *saturation) widen(ctx context.Context, n int) error {
	have := len(s.lanes)
	conns := make([]*net.TCPConn, n-have)
	group, dialing := errgroup.WithContext(ctx)
	group.SetLimit(maxDialing)
	for i := range conns {
		group.Go(func() (err error) {
			conns[i], err = s.link.connect(dialing, wire.RoleRequest, have+i)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err // the link closes those that are open
	}
	for _, c := range conns {
		s.lanes = append(s.lanes, newTransferLane(c, s.req.Spec.RequestBytes, n))
	}
	return nil
}

// hold keeps n requests under way for the level's time.
func (s *saturation) hold(ctx context.Context, n int) {
	duration := s.req.Spec.Bulk.Duration
	l := newLevel(n, s.now(), duration)
	s.level.Store(l)
	// An answer is waited for beyond the level's end, so that its connection is free for the next one.
	give := s.begin.Add(time.Duration(l.begin) + duration + s.req.Spec.Timeout)
	if s.req.Deadline.Before(give) {
		give = s.req.Deadline
	}
	defer context.AfterFunc(ctx, func() { l.endBy(s.now()) })()
	var all sync.WaitGroup
	for _, lane := range s.lanes {
		all.Go(func() {
			if err := s.work(ctx, lane, l, give); err != nil {
				l.endBy(s.now())
				s.fail(err)
			}
		})
	}
	all.Wait()
	if counted := l.summary(s.req.Spec.RequestBytes); counted.Requests > 0 {
		s.levels = append(s.levels, counted)
	}
}

// work makes one request after the other on a connection until the level ends. It allocates nothing for
// each.
func (s *saturation) work(ctx context.Context, lane *transferLane, l *level, give time.Time) error {
	if err := lane.conn.SetDeadline(give); err != nil {
		return err
	}
	if ctx.Err() != nil { // the link may have cut the connection, and we have undone that
		return nil
	}
	// The link cuts a connection once; what was set above may have come after that.
	defer context.AfterFunc(ctx, func() { _ = lane.conn.SetDeadline(time.Unix(1, 0)) })()
	size := int64(s.req.Spec.RequestBytes)
	for {
		sent := s.now()
		if sent >= l.end.Load() {
			return nil
		}
		if !s.link.budget.TakeWhole(size) {
			s.reached.Store(true)
			l.endBy(sent)
			return nil
		}
		i := s.issued.Add(1) - 1
		read := wire.IsRead(i, s.req.Spec.Bulk.ReadPercent)
		if err := lane.transfer(uint64(i), read); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		done := s.now()
		if read {
			s.reads.Add(1)
		} else {
			s.writes.Add(1)
		}
		l.count(done, done-sent)
	}
}

// answered is how many requests were answered.
func (s *saturation) answered() int64 { return s.reads.Load() + s.writes.Load() }

// now is the time since the run's beginning, in nanoseconds.
func (s *saturation) now() int64 { return int64(socket.Now().Sub(s.begin)) }

func (s *saturation) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *saturation) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// tell tells who watches how far the run is, until stop is closed.
func (s *saturation) tell(stop <-chan struct{}) {
	if s.req.Progress == nil {
		return
	}
	b := s.req.Spec.Bulk
	of := time.Duration(len(saturateLevels(b.Outstanding))) * b.Duration
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
		reads, writes, size := s.reads.Load(), s.writes.Load(), int64(s.req.Spec.RequestBytes)
		told := Progress{Elapsed: time.Duration(s.now()), Of: of, Requests: int(reads + writes), DownBytes: reads * size, UpBytes: writes * size}
		if l := s.level.Load(); l != nil {
			told.Outstanding = l.outstanding
		}
		s.req.Progress(told)
	}
}

// progressEvery is how often a run tells how far it is.
const progressEvery = 200 * time.Millisecond

// saturateLevels are the levels of a run that never bends.
func saturateLevels(most int) (out []int) {
	for n := 1; ; n = wire.NextLevel(n, most) {
		if out = append(out, n); n == most {
			return out
		}
	}
}

// result is the run's, once nobody works any more.
func (s *saturation) result(ctx context.Context) wire.Run {
	answered := int(s.answered())
	bulk := &wire.BulkResult{
		Bytes: int64(answered) * int64(s.req.Spec.RequestBytes), BudgetReached: s.reached.Load(), Levels: slices.Clone(s.levels),
	}
	counts := wire.Counts{Sent: int(s.issued.Load()), Received: answered}
	counts.Lost = counts.Sent - counts.Received
	failure, detail := wire.Failure(""), ""
	switch err := s.failure(); {
	case ctx.Err() != nil: // before the error, which is the cut of the connections
		failure, detail = wire.FailureCanceled, "stopped before the last level was over"
	case err != nil:
		failure, detail = failureOf(err), fmt.Sprintf("the session broke at level %d: %s", len(s.levels)+1, err)
	case bulk.BudgetReached:
		failure, detail = wire.FailureBudget, "the byte budget does not hold another request"
	case answered == 0: // the very first answer took longer than the level and the timeout
		failure, detail = wire.FailureTimeout, "nothing was answered"
	}
	return summed(s.req, s.begin, failure, detail, counts, bulk)
}

// summed is the result of a run that has no samples. The failure is the run's if it moved nothing; else
// the detail says how it ended.
func summed(req Request, begin time.Time, f wire.Failure, detail string, counts wire.Counts, bulk *wire.BulkResult) wire.Run {
	if bulk.Bytes > 0 {
		f = ""
	}
	run := result(req, f, detail)
	start := begin.Round(0).UTC()
	end := start.Add(max(time.Since(begin), 0))
	run.Start, run.End, run.Counts, run.Bulk = &start, &end, counts, bulk
	run.Samples = columns(0, columnSet{})
	run.Timestamps = wire.TimestampsUser
	return run
}

var errNotTheAnswer = errors.New("the answer is another request's")
