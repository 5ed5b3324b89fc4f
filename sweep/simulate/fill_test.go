package simulate_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire/account"
	"isochrone/sweep/archive"
	"isochrone/sweep/compact"
	"isochrone/sweep/rollup"
	"isochrone/sweep/simulate"
	"isochrone/sweep/tables"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

// world is an environment on the emulator, with its stores.
type world struct {
	environment string
	account     account.Account
	archive     *archive.Store
	tables      *tables.Store
}

func newWorld(t testing.TB) *world {
	t.Helper()
	a, env := azuritetest.Environment(t)
	w := &world{environment: env, account: a}
	var err error
	w.archive, err = archive.Open(a, env)
	must(t, err)
	w.tables, err = tables.Open(a, env)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, w.archive.Ensure(ctx))
	must(t, w.tables.Ensure(ctx, end))
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var end = time.Date(2026, 11, 9, 0, 0, 0, 0, time.UTC) // after the days on which the clocks of Europe and America change

func (w *world) filler(t testing.TB, text string, weeks int, seed uint64) *simulate.Filler {
	t.Helper()
	c, err := simulate.Derive([]byte(text), time.Hour, nil)
	must(t, err)
	m, err := simulate.New(c, end.AddDate(0, 0, -7*weeks), end, seed)
	must(t, err)
	return &simulate.Filler{Model: m, Config: c, Archive: w.archive, Rows: w.tables, Ledger: w.tables}
}

// BenchmarkFill fills a week, and makes hours, profiles and the lake of it.
func BenchmarkFill(b *testing.B) {
	for b.Loop() {
		w := newWorld(b)
		text, err := os.ReadFile("../../infra/local/sweep.yaml")
		must(b, err)
		begun := time.Now()
		lap := func(what string, v any) {
			b.Logf("%s %s: %+v", what, time.Since(begun).Round(time.Millisecond), v)
			begun = time.Now()
		}
		report, err := w.filler(b, strings.Replace(string(text), "environment: dev", "environment: "+w.environment, 1), 1, 1).Run(b.Context())
		must(b, err)
		lap("fill", report)
		now := func() time.Time { return end.AddDate(0, 0, 1) }
		roller := rollup.Roller{Hours: w.tables, Profiles: w.tables, Now: now, Log: slog.New(slog.DiscardHandler)}
		rolled, err := roller.Run(b.Context())
		must(b, err)
		lap("roll up", rolled)
		compactor := compact.Compactor{Lake: w.archive, Marks: w.tables, Now: now, Log: slog.New(slog.DiscardHandler)}
		compacted, err := compactor.Run(b.Context(), compact.Scope{Apply: true})
		must(b, err)
		compacted.Told = nil
		lap("compact", compacted)
	}
}
