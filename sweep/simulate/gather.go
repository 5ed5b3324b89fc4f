package simulate

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

// gathered is what ingest comes to for a batch of documents: its rows are written together, many in a
// transaction. It is safe to lose: a batch that was not written is made again.
type gathered struct {
	rows   Rows
	ledger Ledger

	lock    sync.Mutex
	results []result.Result
	entries []ledger.Entry
}

// PutResults implements ingest.Rows.
func (g *gathered) PutResults(_ context.Context, rs []result.Result) error {
	g.lock.Lock()
	defer g.lock.Unlock()
	for _, r := range rs {
		r.Run.Samples = wire.Samples{} // they are stored; rows are made of the summary
		g.results = append(g.results, r)
	}
	return nil
}

// AddForeign implements ingest.Rows: nothing foreign is made up.
func (g *gathered) AddForeign(context.Context, []result.Result) error { return nil }

// PutLatest implements ingest.Rows: it follows from the results.
func (g *gathered) PutLatest(context.Context, []result.Result) error { return nil }

// MarkDirty implements ingest.Rows: it follows from the results.
func (g *gathered) MarkDirty(context.Context, []result.Result) error { return nil }

// AdvanceEntries implements ingest.Ledger.
func (g *gathered) AdvanceEntries(_ context.Context, es []ledger.Entry) error {
	g.lock.Lock()
	defer g.lock.Unlock()
	for _, e := range es {
		e.Simulated = true
		g.entries = append(g.entries, e)
	}
	return nil
}

// atOnce is how many requests of a batch wait for storage together.
const atOnce = 8

// write writes all of it in ingest's order: the rows, the newest runs, the marks and last the ledger.
func (g *gathered) write(ctx context.Context) error {
	slices.SortFunc(g.results, func(a, b result.Result) int {
		if c := comparePairs(keyOf(&a), keyOf(&b)); c != 0 {
			return c
		}
		return a.Slot.Compare(b.Slot)
	})
	var work errgroup.Group
	work.SetLimit(atOnce)
	for source := range slices.Values(bySource(g.results)) {
		work.Go(func() error { return g.rows.AddSimulated(ctx, source) })
	}
	if err := work.Wait(); err != nil {
		return err
	}
	if err := g.latest(ctx); err != nil {
		return err
	}
	if err := g.rows.MarkDirty(ctx, g.results); err != nil {
		return err
	}
	slices.SortStableFunc(g.entries, func(a, b ledger.Entry) int { return a.Slot.Compare(b.Slot) })
	for slot := range slices.Values(bySlot(g.entries)) {
		work.Go(func() error { return g.ledger.AdvanceEntries(ctx, slot) })
	}
	return work.Wait()
}

// latest brings the newest runs forward, but for series whose newest run was measured.
func (g *gathered) latest(ctx context.Context) error {
	type table struct{ path, probe string }
	newest := map[wire.Series]*result.Result{}
	of := map[table]bool{}
	for i := range g.results {
		r := &g.results[i]
		of[table{r.Series.Path, r.Series.Probe}] = true
		if was := newest[r.Series]; was == nil || r.Slot.After(was.Slot) {
			newest[r.Series] = r
		}
	}
	for t := range of {
		rows, err := g.rows.Latest(ctx, t.path, t.probe)
		if err != nil {
			return err
		}
		for i := range rows {
			if !rows[i].Simulated {
				delete(newest, rows[i].Series)
			}
		}
	}
	out := make([]result.Result, 0, len(newest))
	for _, r := range newest {
		out = append(out, *r)
	}
	return g.rows.PutLatest(ctx, out)
}

func bySource(rs []result.Result) (out [][]result.Result) {
	return runsOf(rs, func(a, b *result.Result) bool { return a.Series.Source == b.Series.Source })
}

func bySlot(es []ledger.Entry) (out [][]ledger.Entry) {
	return runsOf(es, func(a, b *ledger.Entry) bool { return a.Slot.Equal(b.Slot) })
}

// runsOf cuts a sorted list where neighbours differ.
func runsOf[T any](list []T, same func(a, b *T) bool) (out [][]T) {
	for from, i := 0, 1; i <= len(list); i++ {
		if i == len(list) || !same(&list[i-1], &list[i]) {
			out, from = append(out, list[from:i]), i
		}
	}
	return out
}

func keyOf(r *result.Result) config.Pair {
	return config.Pair{Source: r.Series.Source, Target: r.Series.Target, Path: r.Series.Path + " " + r.Series.Probe}
}
