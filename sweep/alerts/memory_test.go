package alerts_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

// memory is the store in memory, with the faults of storetest; the conformance tests hold it to the real one.
type memory struct {
	environment string
	fault       func(call int, op string) storetest.Fault
	before      func(op string) // without the lock

	lock    sync.Mutex
	calls   []string
	etags   int
	levels  map[wire.Series]tables.SeriesLevels
	hours   map[string]tables.Hour
	headers []ledger.Header
	entries []ledger.Entry
	claims  map[string]tables.Claim
	alerts  map[string]tables.Alert
	config  []byte
}

func newMemory(environment string) *memory {
	return &memory{environment: environment, levels: map[wire.Series]tables.SeriesLevels{}, hours: map[string]tables.Hour{}, claims: map[string]tables.Claim{}, alerts: map[string]tables.Alert{}}
}

func (m *memory) call(op string, act func() error) error {
	if m.before != nil {
		m.before(op)
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	fault := storetest.None
	if m.fault != nil {
		fault = m.fault(len(m.calls), op)
	}
	m.calls = append(m.calls, op)
	if fault == storetest.NotStored || fault == storetest.Dead {
		return storetest.ErrInjected
	}
	if err := act(); err != nil {
		return err
	}
	if fault == storetest.StoredAnyway {
		return storetest.ErrInjected
	}
	return nil
}

// reads is whether a call changes nothing.
func reads(op string) bool {
	return slices.Contains([]string{"Config", "LevelsOf", "Hours", "Sweeps", "Entries", "Claims", "Alerts"}, op)
}

func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func (m *memory) Config(context.Context) (body []byte, found bool, err error) {
	err = m.call("Config", func() error { body, found = m.config, m.config != nil; return nil })
	return body, found, err
}

func copyOf(l tables.SeriesLevels) *tables.SeriesLevels {
	l.P50US, l.MinUS, l.Simulated = slices.Clone(l.P50US), slices.Clone(l.MinUS), slices.Clone(l.Simulated)
	return &l
}

func (m *memory) LevelsOf(_ context.Context, source string) iter.Seq2[*tables.SeriesLevels, error] {
	var out []*tables.SeriesLevels
	if err := m.call("LevelsOf", func() error {
		for is, l := range m.levels {
			if is.Source == source {
				out = append(out, copyOf(l))
			}
		}
		return nil
	}); err != nil {
		return failing[*tables.SeriesLevels](err)
	}
	return each(out)
}

func (m *memory) WriteLevels(_ context.Context, ls []*tables.SeriesLevels) error {
	return m.call("WriteLevels", func() error {
		for _, l := range ls {
			if m.levels[l.Series].ETag != l.ETag {
				return fmt.Errorf("%w: %s", tables.ErrChanged, l.Series)
			}
		}
		for _, l := range ls {
			m.etags++
			stored := copyOf(*l)
			stored.ETag = fmt.Sprint(m.etags)
			m.levels[l.Series] = *stored
		}
		return nil
	})
}

func hourKey(is wire.Series, at time.Time) string {
	return fmt.Sprintf("%s|%s|%s|%s|%010d", is.Source, is.Target, is.Path, is.Probe, 9_999_999_999-at.Unix())
}

func (m *memory) put(hs ...tables.Hour) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, h := range hs {
		m.hours[hourKey(h.Series, h.Begin)] = h
	}
}

func (m *memory) Hours(_ context.Context, q tables.HourQuery) iter.Seq2[tables.Hour, error] {
	var out []tables.Hour
	if err := m.call("Hours", func() error {
		for _, key := range slices.Sorted(maps.Keys(m.hours)) {
			h := m.hours[key]
			if is := h.Series; is.Source == q.Source && is.Target == q.Target && is.Path == q.Path && is.Probe == q.Probe && !h.Begin.Before(q.Since) && h.Begin.Before(q.Until) {
				out = append(out, h)
			}
		}
		return nil
	}); err != nil {
		return failing[tables.Hour](err)
	}
	return each(out)
}

func (m *memory) Sweeps(_ context.Context, since, until time.Time) (out []ledger.Header, err error) {
	err = m.call("Sweeps", func() error {
		for _, h := range m.headers {
			if !h.Slot.Before(since) && h.Slot.Before(until) {
				out = append(out, h)
			}
		}
		return nil
	})
	return out, err
}

func (m *memory) Entries(_ context.Context, _ string, since, until time.Time) iter.Seq2[ledger.Entry, error] {
	var out []ledger.Entry
	if err := m.call("Entries", func() error {
		for _, e := range m.entries {
			if !e.Slot.Before(since) && e.Slot.Before(until) {
				out = append(out, e)
			}
		}
		return nil
	}); err != nil {
		return failing[ledger.Entry](err)
	}
	return each(out)
}

func (m *memory) Claims(context.Context) (out []tables.Claim, err error) {
	err = m.call("Claims", func() error {
		for _, key := range slices.Sorted(maps.Keys(m.claims)) {
			out = append(out, m.claims[key])
		}
		return nil
	})
	return out, err
}

func claimKey(a *tables.Alert) string { return string(a.Kind) + "|" + a.Subject }

func sameClaim(a, b *tables.Claim) bool {
	return a.State == b.State && a.Owner == b.Owner && a.Since.Equal(b.Since) && a.At.Equal(b.At)
}

func (m *memory) Claim(_ context.Context, was *tables.Claim, is tables.Claim) (mine bool, err error) {
	err = m.call("Claim", func() error {
		there, ok := m.claims[claimKey(&is.Alert)]
		switch {
		case !ok:
			mine = was == nil
		case sameClaim(&there, &is):
			mine = true
			return nil
		default:
			mine = was != nil && sameClaim(&there, was)
		}
		if mine {
			m.claims[claimKey(&is.Alert)] = is
		}
		return nil
	})
	return mine, err
}

func (m *memory) ReleaseClaim(_ context.Context, c tables.Claim) error {
	return m.call("ReleaseClaim", func() error {
		if there := m.claims[claimKey(&c.Alert)]; sameClaim(&there, &c) {
			delete(m.claims, claimKey(&c.Alert))
		}
		return nil
	})
}

func alertKey(a *tables.Alert) string {
	return fmt.Sprintf("%s|%010d|%s", a.Kind, 9_999_999_999-a.Since.Unix(), a.Subject)
}

func (m *memory) PutAlert(_ context.Context, a tables.Alert) (over bool, err error) {
	err = m.call("PutAlert", func() error {
		there, ok := m.alerts[alertKey(&a)]
		if over = !there.Ended.IsZero(); !ok {
			m.alerts[alertKey(&a)] = a
		}
		return nil
	})
	return over, err
}

func (m *memory) EndAlert(_ context.Context, a tables.Alert) error {
	return m.call("EndAlert", func() error {
		there, ok := m.alerts[alertKey(&a)]
		if !ok {
			m.alerts[alertKey(&a)] = a
		} else if there.Ended.IsZero() {
			there.Ended, there.EndMessage = a.Ended, a.EndMessage
			m.alerts[alertKey(&a)] = there
		}
		return nil
	})
}

func (m *memory) Alerts(_ context.Context, q tables.AlertQuery) iter.Seq2[tables.Alert, error] {
	var out []tables.Alert
	if err := m.call("Alerts", func() error {
		for _, kind := range tables.AlertKinds() {
			for _, key := range slices.Sorted(maps.Keys(m.alerts)) {
				if a := m.alerts[key]; a.Kind == kind && strings.Contains(string(cmp.Or(q.Kind, kind)), string(kind)) && !a.Since.Before(q.Since) && (q.Until.IsZero() || a.Since.Before(q.Until)) {
					out = append(out, a)
				}
			}
		}
		return nil
	}); err != nil {
		return failing[tables.Alert](err)
	}
	return each(out)
}

// injected says whether an error is one that a test made up, or what it led to.
func injected(err error) bool { return errors.Is(err, storetest.ErrInjected) }

type fault = storetest.Fault

const (
	none      = storetest.None
	notStored = storetest.NotStored
)
