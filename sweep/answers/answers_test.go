package answers

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

const threeRegions = `version: 1
environment: dev
probers:
  - region: westeurope
    addresses: {public: [20.50.0.0/16], peering: [10.1.0.0/16]}
  - region: eastus
    addresses: {public: [20.60.0.0/16], peering: [10.2.0.0/16]}
  - region: southeastasia
    addresses: {public: [20.70.0.0/16]}
probes:
  - name: tcp-64
    kind: tcp
    schedule: "*/10 * * * *"
    paths: [public]
    count: 100
    interval: 20ms
    request: 64
  - name: handshake
    kind: connect
    schedule: "5 * * * *"
    paths: [public, peering]
    count: 20
    interval: 100ms
    warmup: 0
    from: [westeurope]
`

var (
	slot = time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)
	now  = slot.Add(3 * time.Minute)
)

func parse(t testing.TB, body string) *config.Config {
	t.Helper()
	c, err := config.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func number(v float64) *float64 { return &v }

// store is a fake of everything that answers ask. Its err is what every question gets.
type store struct {
	latest  []tables.Row
	runs    []tables.Row
	headers []ledger.Header
	entries map[time.Time][]ledger.Entry
	config  []byte
	pinned  map[string][]byte
	seen    []wire.Registration
	live    []archive.Registered
	err     error

	limits  []int           // of the run queries
	windows []time.Duration // of the sweeps queries
}

func (s *store) Latest(_ context.Context, path, probe string) (out []tables.Row, err error) {
	for _, r := range s.latest {
		if r.Series.Path == path && r.Series.Probe == probe {
			out = append(out, r)
		}
	}
	return out, s.err
}

func (s *store) Runs(_ context.Context, q tables.RunQuery) iter.Seq2[tables.Row, error] {
	s.limits = append(s.limits, q.Limit)
	return func(yield func(tables.Row, error) bool) {
		for _, r := range s.runs {
			if q.Path != "" && r.Series.Path != q.Path { // the tests of the store cover the rest
				continue
			}
			if !yield(r, nil) {
				return
			}
		}
		if s.err != nil {
			yield(tables.Row{}, s.err)
		}
	}
}

func (s *store) Sweeps(_ context.Context, since, until time.Time) (out []ledger.Header, err error) {
	s.windows = append(s.windows, now.Sub(since))
	for _, h := range s.headers {
		if !h.Slot.Before(since) && h.Slot.Before(until) {
			out = append(out, h)
		}
	}
	return out, s.err
}

func (s *store) Sweep(_ context.Context, slot time.Time) (ledger.Header, []ledger.Entry, bool, error) {
	for _, h := range s.headers {
		if h.Slot.Equal(slot) {
			return h, s.entries[slot], true, s.err
		}
	}
	return ledger.Header{}, nil, false, s.err
}

func (s *store) Entries(_ context.Context, source string, since, until time.Time) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		if s.err != nil {
			yield(ledger.Entry{}, s.err)
			return
		}
		for at, es := range s.entries {
			for _, e := range es {
				if e.Slot = at; !at.Before(since) && at.Before(until) && (source == "" || source == e.Key.Source) && !yield(e, nil) {
					return
				}
			}
		}
	}
}

func (s *store) Probers(context.Context) ([]wire.Registration, error) { return s.seen, s.err }

func (s *store) Registrations(context.Context) ([]archive.Registered, error) { return s.live, s.err }

func (s *store) Config(context.Context) ([]byte, bool, error) {
	return s.config, s.config != nil, s.err
}

func (s *store) PinnedConfig(_ context.Context, hash string) ([]byte, bool, error) {
	body, found := s.pinned[hash]
	return body, found, s.err
}

func TestReadConfigTellsAbsentForeignAndFaultyApart(t *testing.T) {
	ctx := t.Context()
	if _, err := ReadConfig(ctx, &store{}, "dev"); !errors.Is(err, ErrNoConfig) {
		t.Errorf("without a configuration: %v, want ErrNoConfig", err)
	}
	if _, err := ReadConfig(ctx, &store{config: []byte(threeRegions)}, "prod"); err == nil || errors.Is(err, ErrNoConfig) {
		t.Errorf("the configuration of dev was read for prod: %v", err)
	}
	var faults config.Faults
	if _, err := ReadConfig(ctx, &store{config: []byte("version: 7\n")}, "dev"); !errors.As(err, &faults) || len(faults) == 0 {
		t.Errorf("a faulty configuration: %v, want its faults", err)
	}
	broken := errors.New("storage is away")
	if _, err := ReadConfig(ctx, &store{err: broken}, "dev"); !errors.Is(err, broken) {
		t.Errorf("a failing store: %v, want its error", err)
	}
	c, err := ReadConfig(ctx, &store{config: []byte(threeRegions)}, "dev")
	if err != nil || len(c.Probers) != 3 {
		t.Errorf("a good configuration: %v, %v", c, err)
	}
}

// series is a row's, in the environment of the tests.
func series(source, target, path, probe string) wire.Series {
	return wire.Series{Environment: "dev", Source: source, Target: target, Path: path, Probe: probe}
}
