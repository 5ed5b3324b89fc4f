package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
	"isochrone/sweep/result"
)

// SetConfig is what sweep config push does.
func (s *Store) SetConfig(body []byte) { s.set(func() { s.config = body }) }

// Register is what a prober does at start and as a heartbeat.
func (s *Store) Register(prober string, body []byte) {
	s.set(func() { s.registrations[prober] = body })
}

// Deliver is what a prober does with a document. created is when.
func (s *Store) Deliver(name string, body []byte, created time.Time) {
	s.set(func() {
		if _, ok := s.items[name]; !ok {
			s.items[name] = item{inbox.Item{Name: name, ETag: s.newETag(), Size: int64(len(body)), Created: created}, body}
		}
	})
}

// Current is what a prober is told, nil if nothing yet.
func (s *Store) Current(prober string) (body []byte) {
	s.set(func() { body = s.currents[prober].body })
	return body
}

// Attempts is the count of an item in the inbox, −1 if it is not there.
func (s *Store) Attempts(name string) (n int) {
	s.set(func() {
		n = -1
		if it, ok := s.items[name]; ok {
			n = it.Attempts
		}
	})
	return n
}

// set runs act with the lock held. It is no call: it is not counted, and does not fail.
func (s *Store) set(act func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	act()
}

// Config implements dispatch.Mailbox.
func (s *Store) Config(_ context.Context) (body []byte, found bool, err error) {
	err = s.call("Config", func() { body, found = s.config, s.config != nil })
	return body, found, err
}

// PinConfig implements dispatch.Mailbox.
func (s *Store) PinConfig(_ context.Context, body []byte) (hash string, err error) {
	err = s.call("PinConfig", func() {
		hash = hashOf(body)
		s.pinned[hash] = body
	})
	return hash, err
}

// PinnedConfig implements dispatch.Mailbox.
func (s *Store) PinnedConfig(_ context.Context, hash string) (body []byte, found bool, err error) {
	err = s.call("PinnedConfig", func() { body, found = s.pinned[hash] })
	return body, found, err
}

// CreatePlan implements dispatch.Mailbox.
func (s *Store) CreatePlan(_ context.Context, slot time.Time, body []byte) (created bool, err error) {
	err = s.call("CreatePlan", func() {
		name := wire.SlotName(slot)
		if stored, ok := s.plans[name]; ok {
			created = bytes.Equal(stored, body)
			return
		}
		s.plans[name], created = body, true
	})
	return created, err
}

// ReadPlan implements dispatch.Mailbox.
func (s *Store) ReadPlan(_ context.Context, slot time.Time) (body []byte, found bool, err error) {
	err = s.call("ReadPlan", func() { body, found = s.plans[wire.SlotName(slot)] })
	return body, found, err
}

// ReadCurrent implements dispatch.Mailbox.
func (s *Store) ReadCurrent(_ context.Context, prober string) (body []byte, etag string, err error) {
	err = s.call("ReadCurrent", func() { body, etag = s.currents[prober].body, s.currents[prober].etag })
	return body, etag, err
}

// WriteCurrent implements dispatch.Mailbox.
func (s *Store) WriteCurrent(_ context.Context, prober string, body []byte, etag string) (written bool, err error) {
	err = s.call("WriteCurrent", func() {
		stored := s.currents[prober]
		if stored.etag != etag {
			written = bytes.Equal(stored.body, body)
			return
		}
		s.currents[prober], written = versioned{body, s.newETag()}, true
	})
	return written, err
}

// Registrations implements dispatch.Mailbox.
func (s *Store) Registrations(_ context.Context) (out []inbox.Registered, err error) {
	err = s.call("Registrations", func() {
		for _, prober := range slices.Sorted(maps.Keys(s.registrations)) {
			out = append(out, inbox.Registered{Prober: prober, Body: s.registrations[prober]})
		}
	})
	return out, err
}

// Inbox implements ingest.Inbox.
func (s *Store) Inbox(_ context.Context, most int) iter.Seq2[inbox.Item, error] {
	return func(yield func(inbox.Item, error) bool) {
		var listed []inbox.Item
		err := s.call("Inbox", func() {
			seen := map[string]int{}
			for _, name := range slices.Sorted(maps.Keys(s.items)) {
				folder, _, _ := strings.Cut(name, "/")
				if seen[folder]++; seen[folder] <= most {
					listed = append(listed, s.items[name].Item)
				}
			}
		})
		if err != nil {
			yield(inbox.Item{}, err)
			return
		}
		for _, it := range listed {
			if !yield(it, nil) {
				return
			}
		}
	}
}

// Take implements ingest.Inbox.
func (s *Store) Take(_ context.Context, it inbox.Item) (taken inbox.Item, body []byte, ok bool, err error) {
	var large bool
	err = s.call("Take", func() {
		stored, found := s.items[it.Name]
		if !found || stored.ETag != it.ETag {
			return
		}
		stored.Attempts++
		stored.ETag = s.newETag()
		s.items[it.Name] = stored
		taken, body, ok = stored.Item, stored.body, true
		if large = len(body) > wire.MaxDocumentBytes; large {
			body = body[:wire.MaxDocumentBytes]
		}
	})
	if err != nil {
		return it, nil, false, err
	}
	if large {
		return taken, body, true, fmt.Errorf("reading %q: %w", it.Name, inbox.ErrTooLarge)
	}
	return taken, body, ok, nil
}

// Release implements ingest.Inbox.
func (s *Store) Release(_ context.Context, it inbox.Item) error {
	return s.call("Release", func() {
		if stored, ok := s.items[it.Name]; ok && stored.ETag == it.ETag {
			stored.Attempts--
			stored.ETag = s.newETag()
			s.items[it.Name] = stored
		}
	})
}

// Remove implements ingest.Inbox.
func (s *Store) Remove(_ context.Context, it inbox.Item) error {
	return s.call("Remove", func() {
		if s.items[it.Name].ETag == it.ETag {
			delete(s.items, it.Name)
		}
	})
}

// DropForeign implements ingest.Inbox.
func (s *Store) DropForeign(_ context.Context, body []byte, meta map[string]string) (out inbox.Item, taken bool, err error) {
	err = s.call("DropForeign", func() {
		name := wire.InboxForeignFolder + "/" + inbox.ForeignSum(body, meta)
		stored, ok := s.items[name]
		if !ok {
			stored = item{inbox.Item{Name: name, ETag: s.newETag(), Attempts: 1, Size: int64(len(body)), Created: created, Meta: maps.Clone(meta)}, body}
			s.items[name] = stored
		}
		out, taken = stored.Item, !ok
	})
	return out, taken, err
}

// created is the creation of foreign items.
var created = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// PutDocument implements ingest.Archive.
func (s *Store) PutDocument(_ context.Context, source string, slot time.Time, assignment string, body []byte) (name string, o inbox.Outcome, err error) {
	err = s.call("PutDocument", func() {
		name = fmt.Sprintf("raw-%s/documents/v=1/src=%s/date=%s/%s_%s.json.gz", s.Environment, source, slot.Format(time.DateOnly), slot.Format("1504"), assignment)
		stored, ok := s.documents[name]
		switch {
		case !ok:
			s.documents[name], o = body, inbox.Stored
		case bytes.Equal(stored, body):
			o = inbox.Same
		default:
			o = inbox.Conflict
		}
	})
	return name, o, err
}

// PutSamples implements ingest.Archive.
func (s *Store) PutSamples(_ context.Context, source string, slot time.Time, assignment string, rs []result.Result) (name string, rows int, err error) {
	err = s.call("PutSamples", func() {
		name = fmt.Sprintf("raw-%s/samples/v=1/src=%s/date=%s/%s_%s.parquet", s.Environment, source, slot.Format(time.DateOnly), slot.Format("1504"), assignment)
		if _, ok := s.samples[name]; !ok {
			s.samples[name] = rs
		}
		for i := range rs {
			rows += rs[i].Run.Samples.Len()
		}
	})
	return name, rows, err
}

// PutIntervals implements ingest.Archive.
func (s *Store) PutIntervals(_ context.Context, source string, slot time.Time, assignment string, rs []result.Result) (name string, rows int, err error) {
	for i := range rs {
		if b := rs[i].Run.Bulk; b != nil {
			rows += len(b.Levels)
			for j := range b.Flows {
				rows += len(b.Flows[j].Intervals.AtNS)
			}
			if b.Stream != nil {
				rows += len(b.Stream.Intervals.AtNS)
			}
		}
	}
	err = s.call("PutIntervals", func() {
		if rows == 0 {
			return
		}
		name = fmt.Sprintf("raw-%s/intervals/v=1/src=%s/date=%s/%s_%s.parquet", s.Environment, source, slot.Format(time.DateOnly), slot.Format("1504"), assignment)
		if _, ok := s.samples[name]; !ok {
			s.samples[name] = rs
		}
	})
	return name, rows, err
}

// PutForeign implements ingest.Archive.
func (s *Store) PutForeign(_ context.Context, when time.Time, sum string, ext string, body []byte, meta []byte) (name string, err error) {
	err = s.call("PutForeign", func() {
		name = fmt.Sprintf("raw-%s/foreign/date=%s/%s.%s", s.Environment, when.UTC().Format(time.DateOnly), sum, ext)
		s.foreign[name] = append(append([]byte(nil), body...), meta...)
	})
	return name, err
}

// Quarantine implements ingest.Archive.
func (s *Store) Quarantine(_ context.Context, when time.Time, _ string, body []byte, ext string, reason inbox.Reason) (name string, err error) {
	err = s.call("Quarantine", func() {
		name = fmt.Sprintf("quarantine-%s/date=%s/%s.%s", s.Environment, when.UTC().Format(time.DateOnly), hashOf(body), ext)
		if _, ok := s.quarantine[name]; !ok {
			s.quarantine[name] = quarantined{body, reason}
		}
	})
	return name, err
}

func hashOf(body []byte) string {
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:])
}
