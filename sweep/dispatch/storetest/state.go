package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"isochrone/sweep/inbox"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

// State is all that is kept, a line each, in order: what a sweep comes to. Attempts and the times
// of handling are not in it; nothing else may depend on what went wrong on the way.
func (s *Store) State() (lines []string) {
	s.set(func() {
		line := func(what, key string, value any) {
			b, err := json.Marshal(value)
			if err != nil {
				panic(err) // everything kept has been made from JSON
			}
			lines = append(lines, fmt.Sprintf("%s %s %s", what, key, b))
		}
		for key := range s.open {
			line("open", key, nil)
		}
		for key, v := range s.rows {
			line("row", key, v)
		}
		for key, v := range s.latest {
			line("latest", key, v)
		}
		for key := range s.dirty {
			line("dirty", key, nil)
		}
		for key, v := range s.headers {
			line("header", key, v)
		}
		for key, es := range s.entries {
			line("entries", key, sorted(es))
		}
		for key, v := range s.documents {
			line("document", key, hashOf(v))
		}
		for key, v := range s.samples {
			line("samples", key, v)
		}
		for key, v := range s.foreign {
			line("foreign", key, hashOf(v))
		}
		for key, v := range s.quarantine {
			v.reason.Attempts, v.reason.When = 0, time.Time{}
			line("quarantine", key, []any{hashOf(v.body), v.reason})
		}
		for key, v := range s.items {
			line("inbox", key, hashOf(v.body))
		}
	})
	slices.Sort(lines)
	return lines
}

func sorted(es map[ledger.Key]ledger.Entry) []ledger.Entry {
	return slices.SortedFunc(maps.Values(es), func(a, b ledger.Entry) int {
		return cmp.Or(cmp.Compare(a.Key.Source, b.Key.Source), cmp.Compare(a.Key.Probe, b.Key.Probe), cmp.Compare(a.Key.Part, b.Key.Part))
	})
}

// Rows are the rows, newest runs (Latest), header and entries of a slot, and the reasons of
// everything in quarantine, for tests that look at them.
func (s *Store) Rows() (out []result.Result) {
	s.set(func() {
		for _, key := range slices.Sorted(maps.Keys(s.rows)) {
			out = append(out, s.rows[key])
		}
	})
	return out
}

// Latest is the newest run of every series.
func (s *Store) Latest() (out []result.Result) {
	s.set(func() {
		for _, key := range slices.Sorted(maps.Keys(s.latest)) {
			out = append(out, s.latest[key])
		}
	})
	return out
}

// Book is the ledger of a slot, by the slot's name.
func (s *Store) Book(slot string) (h ledger.Header, es []ledger.Entry) {
	s.set(func() { h, es = s.headers[slot], sorted(s.entries[slot]) })
	return h, es
}

// Reasons are those of everything in quarantine, in the order of the bodies' names.
func (s *Store) Reasons() (out []inbox.Reason) {
	s.set(func() {
		for _, key := range slices.Sorted(maps.Keys(s.quarantine)) {
			out = append(out, s.quarantine[key].reason)
		}
	})
	return out
}

// Waiting are the names in the inbox.
func (s *Store) Waiting() (out []string) {
	s.set(func() { out = slices.Sorted(maps.Keys(s.items)) })
	return out
}

// Documents are the names of the stored documents.
func (s *Store) Documents() (out []string) {
	s.set(func() { out = slices.Sorted(maps.Keys(s.documents)) })
	return out
}

// Samples are the names of the stored Parquet files.
func (s *Store) Samples() (out []string) {
	s.set(func() { out = slices.Sorted(maps.Keys(s.samples)) })
	return out
}

// Foreign are the names of the stored foreign documents.
func (s *Store) Foreign() (out []string) {
	s.set(func() { out = slices.Sorted(maps.Keys(s.foreign)) })
	return out
}

// Quarantined are the names of the bodies in quarantine.
func (s *Store) Quarantined() (out []string) {
	s.set(func() { out = slices.Sorted(maps.Keys(s.quarantine)) })
	return out
}

// Plan is the stored plan of a slot, by the slot's name; nil if there is none.
func (s *Store) Plan(slot string) (body []byte) {
	s.set(func() { body = s.plans[slot] })
	return body
}

// Open are the names of the slots that are marked open.
func (s *Store) Open() (out []string) {
	s.set(func() { out = slices.Sorted(maps.Keys(s.open)) })
	return out
}
