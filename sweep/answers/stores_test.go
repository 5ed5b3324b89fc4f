package answers

import (
	"context"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/archive"
	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// The stores satisfy what the answers ask for.
var (
	_ Configs    = (*archive.Store)(nil)
	_ LatestRows = (*tables.Store)(nil)
	_ RunRows    = (*tables.Store)(nil)
	_ Ledger     = (*tables.Store)(nil)

	_ StatusBlobs = (*archive.Store)(nil)
)

// real is the stores of one environment on Azurite, with its configuration pushed.
type real struct {
	environment string
	archive     *archive.Store
	tables      *tables.Store
	body        []byte
	config      *config.Config
}

func onAzurite(t *testing.T, ctx context.Context) *real {
	t.Helper()
	acc, environment := azuritetest.Environment(t)
	body := []byte(strings.Replace(threeRegions, "environment: dev", "environment: "+environment, 1))
	r := &real{environment: environment, body: body}
	var err error
	if r.archive, err = archive.Open(acc, environment); err != nil {
		t.Fatal(err)
	}
	if r.tables, err = tables.Open(acc, environment); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return r.archive.Ensure(ctx) },
		func() error { return r.tables.Ensure(ctx, slot) },
		func() error { return r.archive.PutConfig(ctx, body) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if r.config, err = ReadConfig(ctx, r.archive, environment); err != nil {
		t.Fatal(err)
	}
	return r
}

// put stores the run of a pair, of 100 samples from 1 to 1.099 times the first one.
func (r *real) put(t *testing.T, ctx context.Context, source, target string, at time.Time, first time.Duration) {
	t.Helper()
	run := wire.Run{Target: target, Path: "public", Kind: wire.KindTCP, PlannedStart: at, Start: &at, End: &at, Counts: wire.Counts{Sent: 100, Received: 100}}
	for i := range int64(100) {
		s := &run.Samples
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, i), append(s.DueNS, i), append(s.SentNS, i)
		s.RTTNS, s.Failure = append(s.RTTNS, int64(first)+i*int64(first)/1000), append(s.Failure, "")
	}
	rs := []result.Result{{Series: wire.Series{Environment: r.environment, Source: source, Target: target, Path: "public", Probe: "tcp-64"}, Slot: at,
		Assignment: wire.AssignmentID(r.environment, at, source, "tcp-64", 0), Run: run, Summary: summary.Of(&run, &wire.Provenance{})}}
	if err := r.tables.PutResults(ctx, rs); err != nil {
		t.Fatal(err)
	}
	if err := r.tables.PutLatest(ctx, rs); err != nil {
		t.Fatal(err)
	}
}

func TestAnswersFromAzurite(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := onAzurite(t, ctx)
	for i := range 3 {
		r.put(t, ctx, "westeurope", "eastus", slot.Add(time.Duration(i-2)*10*time.Minute), time.Duration(80+i)*time.Millisecond)
	}
	r.put(t, ctx, "eastus", "westeurope", slot, 90*time.Millisecond)

	m, err := ReadMatrix(ctx, r.tables, r.config, "public", "tcp-64", now)
	if err != nil {
		t.Fatal(err)
	}
	if m.Measured != 2 || m.Missing != 4 || !m.Newest.Equal(slot) {
		t.Errorf("%d measured, %d missing, newest %s; want 2, 4, %s", m.Measured, m.Missing, m.Newest, slot)
	}
	// Nearest rank: the 50th of 100 samples that rise by 82 µs from 82 ms on.
	if c, _ := m.Cell("westeurope", "eastus"); c.P50US == nil || *c.P50US != 82_000+49*82 || *c.P90US != 82_000+89*82 || c.P99US != nil || *c.LossRatio != 0 || c.N != 100 {
		t.Errorf("westeurope to eastus: %+v", c)
	}

	runs, err := ReadRuns(ctx, r.tables, tables.RunQuery{Since: slot.Add(-time.Hour), Until: now, Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range runs.Rows {
		got = append(got, wire.SlotName(row.Slot)+" "+row.Series.Source)
	}
	if want := "20261130T1020 eastus, 20261130T1020 westeurope, 20261130T1010 westeurope"; strings.Join(got, ", ") != want || runs.Total != 4 {
		t.Errorf("runs %q of %d, want %s of 4", got, runs.Total, want)
	}
}

func TestStatusFromAzurite(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := onAzurite(t, ctx)
	if s, err := ReadStatus(ctx, r.tables, r.archive, r.environment, 5, now); err != nil || len(s.Sweeps) != 0 {
		t.Fatalf("before the first sweep: %+v, %v", s, err)
	}
	hash, err := r.archive.PinConfig(ctx, r.body)
	if err != nil {
		t.Fatal(err)
	}
	if hash != Hash(r.body) {
		t.Errorf("pinned as %s, and its hash is %s", hash, Hash(r.body))
	}
	if err := r.tables.AdvanceHeader(ctx, ledger.Header{Slot: slot, State: ledger.Dispatched, ConfigHash: hash}); err != nil {
		t.Fatal(err)
	}
	var entries []ledger.Entry
	for source, state := range map[string]ledger.State{"westeurope": ledger.Received, "eastus": ledger.Expired} {
		entries = append(entries, ledger.Entry{Slot: slot, Key: ledger.Key{Source: source, Probe: "tcp-64"},
			Assignment: wire.AssignmentID(r.environment, slot, source, "tcp-64", 0), State: state, Runs: 2})
	}
	if err := r.tables.AdvanceEntries(ctx, entries); err != nil {
		t.Fatal(err)
	}
	// A sweep before midnight of the last month is found as well.
	old := time.Date(2026, 10, 31, 23, 50, 0, 0, time.UTC)
	if err := r.tables.AdvanceHeader(ctx, ledger.Header{Slot: old, State: ledger.Missed, Reason: "late"}); err != nil {
		t.Fatal(err)
	}
	s, err := ReadStatus(ctx, r.tables, r.archive, r.environment, 5, now)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Sweeps) != 2 || !s.Sweeps[1].Slot.Equal(old) || s.Sweeps[1].Runs != nil {
		t.Fatalf("sweeps %+v, want the newest and the missed one of October", s.Sweeps)
	}
	if got := s.Sweeps[0]; *got.Runs != (Tally{Planned: 6, Received: 2, Missing: 4}) || len(got.Gaps) != 2 || got.Note != "" {
		t.Errorf("%+v with %+v, want 2 of 6 received and two gaps", got, got.Runs)
	}
}
