package replay

import (
	"context"
	"errors"

	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
	"isochrone/sweep/result"
)

// planned replays a prober's document. It comes to the runs of its assignment, no others and no
// fewer, or is refused; so no row of it can be left over.
func (u *replay) planned(ctx context.Context, d inbox.Archived) error {
	if d.Assignment == "" {
		u.refuse(Refusal{d.Name, "name", "its name is not that of a document"})
		return nil
	}
	body, found, err := u.body(ctx, d)
	if err != nil || !found {
		return err
	}
	c, leave, err := u.Converter.Planned(ctx, d, body)
	if u.refused(d, err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer leave()
	rs := c.Results
	w := &work{results: rs, newest: u.mayBeNewest(rs)}
	w.files = append(w.files, file{what: "samples", rebuild: func(ctx context.Context, write bool) (string, result.Change, error) {
		return u.Archive.RebuildSamples(ctx, d.Source, d.Slot, d.Assignment, rs, write)
	}})
	if c.Bulk {
		w.files = append(w.files, file{what: "intervals", rebuild: func(ctx context.Context, write bool) (string, result.Change, error) {
			return u.Archive.RebuildIntervals(ctx, d.Source, d.Slot, d.Assignment, rs, write)
		}})
	}
	compare := func() error { return u.compare(ctx, w) }
	if err := compare(); err != nil {
		if u.refused(d, err) {
			return nil
		}
		return err
	}
	u.tell(d.Name, w)
	if !u.apply || !w.differs() {
		return nil
	}
	return u.settle(ctx, w, compare)
}

// mayBeNewest are the results that are not older than the newest run of their series was when the
// replay began. It only becomes newer.
func (u *replay) mayBeNewest(rs []result.Result) (out []result.Result) {
	for i := range rs {
		if newest, ok := u.newest[rs[i].Series]; !ok || !rs[i].Slot.Before(newest) {
			out = append(out, rs[i])
		}
	}
	return out
}

// body reads a document. Without one it is gone since it was listed, or too large to be one, which
// is told.
func (u *replay) body(ctx context.Context, d inbox.Archived) (body []byte, found bool, err error) {
	body, found, err = u.Archive.ReadDocument(ctx, d.Name)
	if errors.Is(err, inbox.ErrTooLarge) {
		u.refuse(Refusal{d.Name, "size", err.Error()})
		return nil, false, nil
	}
	return body, found, err
}

// refused says whether an error is the document's fault, and tells it.
func (u *replay) refused(d inbox.Archived, err error) bool {
	if r, ok := errors.AsType[*ingest.Refused](err); ok {
		u.refuse(Refusal{d.Name, r.Stage, r.Reason})
		return true
	}
	if errors.Is(err, result.ErrRefused) { // storage cannot hold what it says
		u.refuse(Refusal{d.Name, "store", err.Error()})
		return true
	}
	return false
}
