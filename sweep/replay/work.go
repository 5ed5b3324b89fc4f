package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"isochrone/sweep/result"
)

// tries is how often a document is compared and mended when others write its rows at the same time.
const tries = 4

// markTime is how long the marks may take after a replay was cut off.
const markTime = 5 * time.Second

// file is one that follows from a document. rebuild compares it, and with write puts it right.
type file struct {
	what    string
	rebuild func(ctx context.Context, write bool) (name string, c result.Change, err error)
	name    string
	change  result.Change
}

// work is what a document comes to, and how that differs from what is stored.
type work struct {
	results []result.Result
	rows    []result.Difference // one a result
	newest  []result.Result     // those that may be the newest of their series
	latest  []result.Difference // one of each of those
	gone    []result.Difference // rows that the document does not come to any more
	whole   bool                // nothing is stored of a foreign document: all of its rows are added, or none
	files   []file
}

func (w *work) differs() bool {
	return w.marks() || changed(w.latest)
}

// marks says whether something differs from which other things are computed.
func (w *work) marks() bool {
	return changed(w.rows) || len(w.gone) > 0 || w.filesDiffer()
}

func (w *work) filesDiffer() bool {
	return slices.ContainsFunc(w.files, func(f file) bool { return f.change != result.Same })
}

func changed(ds []result.Difference) bool {
	return slices.ContainsFunc(ds, func(d result.Difference) bool { return d.Change != result.Same })
}

// compare reads what is stored.
func (u *replay) compare(ctx context.Context, w *work) (err error) {
	for i := range w.files {
		f := &w.files[i]
		if f.name, f.change, err = f.rebuild(ctx, false); err != nil {
			return fmt.Errorf("comparing the %s: %w", f.what, err)
		}
	}
	if w.rows, err = u.Rows.CompareRuns(ctx, w.results); err != nil {
		return fmt.Errorf("comparing the rows: %w", err)
	}
	if w.latest, err = u.Rows.CompareLatest(ctx, w.newest); err != nil {
		return fmt.Errorf("comparing the newest runs: %w", err)
	}
	return nil
}

// mend writes what differs, in the order in which ingest writes it: files, rows, the newest runs, and
// the marks for what is computed from them.
//
// The marks are set before the first of these, too. A replay that ends between the rows and the marks
// finds the rows in order when it is made again, and would not set them then. For the same reason they
// are set after a fault, or when the replay is cut off: what was read before the rows were written may
// have cleared the first ones.
func (u *replay) mend(ctx context.Context, w *work) (err error) {
	if w.marks() {
		if err := u.mark(ctx, w); err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
			defer cancel()
			if fault := u.mark(ctx, w); err == nil {
				err = fault
			}
		}()
	}
	for i := range w.files {
		if f := &w.files[i]; f.change != result.Same {
			if _, _, err := f.rebuild(ctx, true); err != nil {
				return fmt.Errorf("writing the %s: %w", f.what, err)
			}
		}
	}
	if changed(w.rows) {
		write := func() error { return u.Rows.MendRuns(ctx, w.results, w.rows) }
		if w.whole {
			write = func() error { return u.Rows.AddForeign(ctx, w.results) }
		}
		err := write()
		if errors.Is(err, result.ErrTaken) { // by another document, since it was compared
			return nil
		}
		if err != nil {
			return fmt.Errorf("writing the rows: %w", err)
		}
	}
	if len(w.gone) > 0 {
		if err := u.Rows.RemoveRuns(ctx, w.gone); err != nil {
			return fmt.Errorf("deleting rows: %w", err)
		}
	}
	if changed(w.latest) {
		if err := u.Rows.MendLatest(ctx, w.newest, w.latest); err != nil {
			return fmt.Errorf("writing the newest runs: %w", err)
		}
	}
	return nil
}

// mark marks the hours and days of the rows that differ; of all rows, where a file does.
func (u *replay) mark(ctx context.Context, w *work) error {
	var rs []result.Result
	for i := range w.results {
		if w.filesDiffer() || w.rows[i].Change != result.Same {
			rs = append(rs, w.results[i])
		}
	}
	for _, d := range w.gone {
		rs = append(rs, result.Result{Series: d.Series, Slot: d.Slot})
	}
	if err := u.Rows.MarkDirty(ctx, rs); err != nil {
		return fmt.Errorf("marking what is to be recomputed: %w", err)
	}
	return nil
}

// settle mends, and when somebody else writes the same rows compares once more.
func (u *replay) settle(ctx context.Context, w *work, compare func() error) error {
	for try := 1; ; try++ {
		err := u.mend(ctx, w)
		if !errors.Is(err, result.ErrChanged) || try == tries {
			return err
		}
		if err := compare(); err != nil {
			return err
		}
	}
}
