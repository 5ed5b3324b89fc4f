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

func (w *world) filler(t testing.TB, text string, weeks int, seed uint64, names ...string) *simulate.Filler {
	t.Helper()
	d, err := simulate.Derive([]byte(strings.Replace(text, "ENVIRONMENT", w.environment, 1)), time.Hour, names)
	must(t, err)
	return &simulate.Filler{Model: modelOf(t, d, weeks, seed), Config: d, Archive: w.archive, Rows: w.tables, Ledger: w.tables}
}

// rollUp makes hours and profiles, and compact the lake, as the app's timers do.
func (w *world) rollUp(t testing.TB) rollup.Report {
	t.Helper()
	r := rollup.Roller{Hours: w.tables, Profiles: w.tables, Now: afterwards, Log: slog.New(slog.DiscardHandler)}
	report, err := r.Run(t.Context())
	must(t, err)
	return report
}

func (w *world) compact(t testing.TB, s compact.Scope) compact.Report {
	t.Helper()
	c := compact.Compactor{Lake: w.archive, Marks: w.tables, Now: afterwards, Log: slog.New(slog.DiscardHandler), Folder: t.TempDir()}
	report, err := c.Run(t.Context(), s)
	must(t, err)
	report.Told = nil
	return report
}

func afterwards() time.Time { return end.AddDate(0, 0, 1) }

func (w *world) runs(t testing.TB) (out []tables.Row) {
	t.Helper()
	for r, err := range w.tables.Runs(t.Context(), tables.RunQuery{}) {
		must(t, err)
		out = append(out, r)
	}
	return out
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
		report, err := w.filler(b, strings.Replace(string(text), "environment: dev", "environment: ENVIRONMENT", 1), 1, 1).Run(b.Context())
		must(b, err)
		lap("fill", report)
		lap("roll up", w.rollUp(b))
		lap("compact", w.compact(b, compact.Scope{Apply: true}))
	}
}
