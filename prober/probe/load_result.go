package probe

import (
	"cmp"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// tellEvery is how often who watches a load run is told.
const tellEvery = 250 * time.Millisecond

// tell tells who watches the run how far it is, until the function that it returns is called.
func (l *load) tell(req Request) (stop func()) {
	if req.Progress == nil {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(tellEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				req.Progress(l.progress())
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		req.Progress(l.progress())
	}
}

func (l *load) progress() Progress {
	b := l.spec.Bulk
	out := Progress{
		Elapsed: max(time.Since(l.begin), 0), UpBytes: l.up.Load(), DownBytes: l.down.Load(),
		Requests: int(l.answered.Load()), Outstanding: int(l.under.Load()),
	}
	if b.Duration > 0 {
		out.Of = b.Ramp + b.Duration
	}
	return out
}

// result is the run's result. Only requests that were sent are samples.
func (l *load) result(req Request, end ending) wire.Run {
	l.rec.samples, l.rec.spec.Count = l.rec.samples[:l.taken], l.taken
	run := l.rec.run(req, end)
	run.Timestamps = wire.TimestampsUser
	if l.address != "" {
		run.Address = l.address
	}
	short := l.budget.Short()
	switch {
	case l.taken == 0 && short: // it does not hold one request
		run.Failure = wire.FailureBudget
	case l.taken == 0:
		run.Failure = cmp.Or(end.cut, wire.FailureCanceled)
	}
	if run.TCPInfo = l.info; l.info == nil && l.least > 0 {
		run.LeastConnectNS = &l.least
	}
	// What moved, and not what was taken from the budget for it: much of that may have been cut.
	if moved := l.up.Load() + l.down.Load(); moved > 0 || short {
		run.Bulk = &wire.BulkResult{Bytes: moved, BudgetReached: short, Load: loadResult(run.Samples, l.spec.Bulk.Users)}
	}
	return run
}

// loadResult are the figures of a run's requests.
func loadResult(s wire.Samples, users int) *wire.LoadResult {
	out := &wire.LoadResult{Users: users}
	var network, server []int64
	first, last, answered := int64(-1), int64(0), 0
	for i, rtt := range s.RTTNS {
		if first < 0 && s.SentNS[i] != wire.Null {
			first = s.SentNS[i]
		}
		if rtt == wire.Null {
			continue
		}
		answered++
		last = max(last, s.SentNS[i]+rtt)
		if held := s.ServerNS[i]; held != wire.Null {
			network, server = append(network, rtt-held), append(server, held)
		}
	}
	if took := last - first; answered > 0 && took > 0 {
		out.RequestsPerS = float64(answered) / (float64(took) / float64(time.Second))
	}
	slices.Sort(network)
	slices.Sort(server)
	out.NetworkP50NS, out.NetworkP99NS = rank(network, 0.5), rank(network, 0.99)
	out.ServerP50NS = rank(server, 0.5)
	return out
}

// rank is the nearest-rank quantile p, null where the values are too few for it.
func rank(sorted []int64, p float64) *int64 {
	v := summary.NearestRank(sorted, p)
	if v == nil {
		return nil
	}
	ns := int64(*v)
	return &ns
}
