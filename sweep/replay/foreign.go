package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
	"isochrone/sweep/result"
)

// errTaken says that another document's row is stored where this one's would be.
var errTaken = errors.New("another document has one of its rows")

// foreign replays a foreign document.
func (u *replay) foreign(ctx context.Context, d inbox.Archived) error {
	body, found, err := u.body(ctx, d)
	if err != nil || !found {
		return err
	}
	if len(u.scope.Formats) > 0 && !u.scope.takes(ingest.FormatOf(body)) {
		return nil
	}
	parameters, err := u.Archive.ReadParameters(ctx, d.Name)
	switch {
	case u.refused(d, err):
		return nil
	case err != nil:
		return err
	}
	c, leave, err := u.Converter.Foreign(ctx, d, body, parameters)
	if u.refused(d, err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer leave()
	w := &work{results: c.Results}
	if c.JSON != nil || parameters["xml"] == ingest.XMLToJSON { // which there is none of, when somebody knows the format by now
		w.files = []file{{what: "XML as JSON", rebuild: func(ctx context.Context, write bool) (string, result.Change, error) {
			return u.Archive.RebuildJSON(ctx, d.Name, c.JSON, write)
		}}}
	}
	var stored []result.Difference
	compare := func() (err error) {
		stored, err = u.compareForeign(ctx, d, parameters, w)
		return err
	}
	err = compare()
	switch {
	case errors.Is(err, errTaken):
		if u.scope.holdsForeign(d, w.results, stored) {
			u.taken()
		}
		return nil
	case err != nil && u.refused(d, err):
		return nil
	case err != nil:
		return err
	case !u.scope.holdsForeign(d, w.results, stored):
		return nil
	}
	u.tell(d.Name, w)
	if !u.apply || !w.differs() {
		return nil
	}
	return u.settle(ctx, w, compare)
}

// compareForeign is compare, and finds the rows that the document does not come to any more. It
// returns all its rows that are stored.
func (u *replay) compareForeign(ctx context.Context, d inbox.Archived, parameters map[string]string, w *work) (stored []result.Difference, err error) {
	if err := u.compare(ctx, w); err != nil {
		return nil, err
	}
	if stored, err = u.storedOf(ctx, d, parameters, w.results); err != nil {
		return nil, err
	}
	for i := range w.rows {
		if r := &w.rows[i]; r.Change != result.Added && r.Document != d.Name {
			return stored, errTaken
		}
	}
	type key struct {
		series wire.Series
		second int64
	}
	made := map[key]bool{}
	for i := range w.results {
		made[key{w.results[i].Series, w.results[i].Slot.Unix()}] = true
	}
	w.gone, w.whole = nil, len(stored) == 0
	for _, s := range stored {
		if !made[key{s.Series, s.Slot.Unix()}] {
			w.gone = append(w.gone, s)
		}
	}
	return stored, nil
}

// end is where rows of a document may lie: from a source, to a target over a path, or to wherever.
type end struct{ source, target, path string }

// mostEnds is up to how many pairs of probers a document's rows are looked for pair by pair.
const mostEnds = 64

// storedOf finds the stored rows of a document. Their names are those of the parameters, or the
// document's own; so they lie under few keys, whatever an earlier converter made of the rest.
func (u *replay) storedOf(ctx context.Context, d inbox.Archived, parameters map[string]string, rs []result.Result) (out []result.Difference, err error) {
	ends := map[end]bool{}
	for i := range rs {
		s := &rs[i].Series
		ends[end{s.Source, s.Target, s.Path}] = true
	}
	if p := ingest.ParametersOf(parameters); p.Path != "" {
		for _, source := range names(p.Source) {
			for _, target := range names(p.Target) {
				ends[end{source, target, p.Path}] = true
			}
		}
	}
	if len(ends) > mostEnds {
		sources := map[end]bool{}
		for e := range ends {
			sources[end{source: e.source}] = true
		}
		ends = sources
	}
	for e := range ends {
		ds, err := u.Rows.ForeignRuns(ctx, d.Name, e.source, e.target, e.path)
		if err != nil {
			return nil, fmt.Errorf("finding its rows: %w", err)
		}
		out = append(out, ds...)
	}
	return out, nil
}

// names are those of a parameter: NAME, or HOST=NAME with commas between.
func names(parameter string) (out []string) {
	for part := range strings.SplitSeq(parameter, ",") {
		if i := strings.LastIndex(part, "="); i >= 0 {
			part = part[i+1:]
		}
		if part != "" {
			out = append(out, part)
		}
	}
	return out
}
