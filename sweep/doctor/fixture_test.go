package doctor_test

import (
	"context"
	"errors"
	"iter"
	"net/netip"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/answers"
	"isochrone/sweep/archive"
	"isochrone/sweep/doctor"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

var now = time.Date(2026, 11, 30, 10, 23, 30, 0, time.UTC)

const body = `version: 1
environment: test
probers:
  - {region: westeurope, addresses: {public: [20.50.0.0/16], vpn: [10.1.0.0/16]}}
  - {region: eastus, addresses: {public: [20.60.0.0/16, eus.example.com], vpn: [10.2.0.0/16]}}
probes:
  - {name: tcp-64, kind: tcp, schedule: "*/10 * * * *", paths: [public, vpn], count: 100, interval: 20ms, request: 64}
  - {name: udp-64, kind: udp, schedule: "*/10 * * * *", paths: [public], count: 100, interval: 20ms, request: 152}
`

// world is an environment in good order, for a test to make sick.
type world struct {
	config        string
	registrations []wire.Registration
	headers       []ledger.Header
	entries       func(slot time.Time) []ledger.Entry
	open          []time.Time
	marks         []tables.HourMark
	days          []tables.DayMark
	claims        []tables.Claim
	items         []inbox.Item
	held          []inbox.Held
	places        []account.Access
	service       time.Time
	err           error // of everything but the listing of places
}

func registration(id string, addresses ...wire.PathAddress) wire.Registration {
	clock := int64(250_000)
	return wire.Registration{Version: wire.RegistrationVersion, Environment: "test", Prober: id, Region: id, Started: now.Add(-time.Hour),
		Heartbeat: now.Add(-12 * time.Second), HeartbeatInterval: 30 * time.Second, Addresses: addresses, ReadsAssignments: []int{wire.AssignmentsVersion},
		Provenance: wire.Provenance{ProberVersion: "1.2.3", ClockErrorNS: &clock}}
}

func at(path, host string) wire.PathAddress {
	return wire.PathAddress{Path: path, Host: host, TCPPort: 7700, UDPPort: 7700}
}

func healthy() *world {
	w := &world{config: body, service: now,
		registrations: []wire.Registration{
			registration("westeurope", at("public", "20.50.0.4"), at("vpn", "10.1.0.4")),
			registration("eastus", at("public", "eus.example.com"), at("vpn", "10.2.0.4")),
		},
		places: []account.Access{{Place: "config-test"}, {Place: "latesttest"}},
		marks:  []tables.HourMark{{Source: "eastus", Begin: now.Truncate(time.Hour)}},
		days:   []tables.DayMark{{Source: "eastus", Begin: now.Truncate(24 * time.Hour)}},
		items:  []inbox.Item{{Name: "eastus/x", Created: now.Add(-time.Minute)}},
		open:   []time.Time{now.Truncate(10 * time.Minute)},
	}
	hash := answers.Hash([]byte(body))
	for slot := now.Truncate(10 * time.Minute); now.Sub(slot) < 20*time.Hour; slot = slot.Add(-10 * time.Minute) {
		w.headers = append(w.headers, ledger.Header{Slot: slot, State: ledger.Complete, ConfigHash: hash})
	}
	w.entries = func(slot time.Time) (out []ledger.Entry) {
		for _, source := range []string{"westeurope", "eastus"} {
			out = append(out, ledger.Entry{Slot: slot, Key: ledger.Key{Source: source, Probe: "tcp-64"}, State: ledger.Received, Runs: 2},
				ledger.Entry{Slot: slot, Key: ledger.Key{Source: source, Probe: "udp-64"}, State: ledger.Received, Runs: 1})
		}
		return out
	}
	return w
}

func (w *world) examine(ctx context.Context) []doctor.Finding {
	d := doctor.Doctor{Environment: "test", Blobs: blobs{w}, Rows: rows{w}, Resolver: w, Now: func() time.Time { return now }}
	return d.Examine(ctx)
}

// LookupNetIP implements doctor.Resolver.
func (w *world) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "eus.example.com" {
		return []netip.Addr{netip.MustParseAddr("20.99.0.1")}, nil
	}
	return nil, errors.New("no such host")
}

type blobs struct{ *world }

func (w blobs) Access(context.Context) []account.Access { return w.places[:1] }

func (w blobs) Config(context.Context) ([]byte, bool, error) {
	return []byte(w.config), w.config != "", w.err
}

func (w blobs) PinnedConfig(context.Context, string) ([]byte, bool, error) {
	return []byte(body), true, w.err
}

func (w blobs) Registrations(context.Context) ([]archive.Registered, error) { return nil, w.err }

func (w blobs) Inbox(context.Context, int) iter.Seq2[inbox.Item, error] { return all(w.items, w.err) }

func (w blobs) Quarantined(context.Context, time.Time, string) iter.Seq2[inbox.Held, error] {
	return all(w.held, w.err)
}

func all[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err != nil {
			yield(none, err)
			return
		}
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

type rows struct{ *world }

func (w rows) Access(context.Context, time.Time) []account.Access { return w.places[1:] }

func (w rows) ServiceTime(context.Context) (time.Time, error) { return w.service, w.err }

func (w rows) Probers(context.Context) ([]wire.Registration, error) { return w.registrations, w.err }

func (w rows) Sweeps(_ context.Context, since, until time.Time) (out []ledger.Header, err error) {
	for _, h := range w.headers {
		if !h.Slot.Before(since) && h.Slot.Before(until) {
			out = append(out, h)
		}
	}
	return out, w.err
}

func (w rows) Sweep(_ context.Context, slot time.Time) (ledger.Header, []ledger.Entry, bool, error) {
	i := slices.IndexFunc(w.headers, func(h ledger.Header) bool { return h.Slot.Equal(slot) })
	if i < 0 {
		return ledger.Header{}, nil, false, w.err
	}
	return w.headers[i], w.entries(slot), true, w.err
}

func (w rows) OpenSweeps(context.Context) ([]time.Time, error) { return w.open, w.err }

func (w rows) HourMarks(context.Context) ([]tables.HourMark, error) { return w.marks, w.err }

func (w rows) Claims(context.Context) ([]tables.Claim, error) { return w.claims, w.err }

func (w rows) DayMarks(context.Context) ([]tables.DayMark, error) { return w.days, w.err }
