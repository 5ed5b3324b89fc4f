package replay

import (
	"slices"
	"time"

	"isochrone/sweep/inbox"
	"isochrone/sweep/result"
)

func (s *Scope) takes(format string) bool {
	return len(s.Formats) == 0 || slices.Contains(s.Formats, format)
}

func (s *Scope) holds(slot time.Time) bool { return !slot.Before(s.From) && slot.Before(s.To) }

// holdsForeign says whether a foreign document is to be replayed, by what it comes to and by the rows
// that are stored of it.
func (s *Scope) holdsForeign(d inbox.Archived, rs []result.Result, stored []result.Difference) bool {
	within := !d.Day.Before(s.From) && !d.Day.AddDate(0, 0, 1).After(s.To)
	from := s.Source == ""
	for i := range rs {
		within = within || s.holds(rs[i].Slot)
		from = from || rs[i].Series.Source == s.Source
	}
	for i := range stored {
		within = within || s.holds(stored[i].Slot)
		from = from || stored[i].Series.Source == s.Source
	}
	if len(rs)+len(stored) == 0 { // XML that nobody can read has neither times nor names
		return s.Source == ""
	}
	return within && from
}
