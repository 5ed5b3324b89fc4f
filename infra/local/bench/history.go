package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/answers"
	"isochrone/sweep/catalog"
	"isochrone/sweep/config"
	"isochrone/sweep/reply"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

const (
	historyTrendBarMS  = 300
	historyMatrixBarMS = 150
	historyHours       = 365 * 24
	historyRunsAnHour  = 6 // of 100 samples
	historyProbers     = 60
)

// historyUntil is when the year ends.
var historyUntil = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// history fills the storage emulator with a year of hours of one pair and the newest runs of a mesh, and asks: what
// the trend and the matrix cost us, and how long the emulator was waited for beside it.
func (b *bench) history(ctx context.Context) error {
	return b.withEmulator(ctx, func(server *azurite.Server, _ string) error { return b.historyOn(ctx, server) })
}

func (b *bench) historyOn(ctx context.Context, server *azurite.Server) error {
	store, err := tables.Open(server.Account(), "bench")
	if err != nil {
		return err
	}
	if err := store.Ensure(ctx, historyUntil); err != nil {
		return err
	}
	c, err := matrixConfig(historyProbers)
	if err != nil {
		return err
	}
	q := answers.SeriesQuery{Source: c.Probers[0].ID, Target: c.Probers[1].ID, Path: "public", Probe: "tcp-64", Since: historyUntil.Add(-historyHours * time.Hour), Until: historyUntil}
	if err := fillYear(ctx, store, q); err != nil {
		return err
	}
	if err := fillLatest(ctx, store, c); err != nil {
		return err
	}
	size := 0
	err = b.cost("history_trend_pair_year", atMost(historyTrendBarMS), func() error {
		t, err := answers.ReadTrend(ctx, store, c, q, historyUntil)
		if err != nil {
			return err
		}
		if len(t.Hours) != historyHours || t.Quantiles.N != historyHours*historyRunsAnHour*100 || len(t.Changes) == 0 {
			return fmt.Errorf("the trend of a year: %d hours of %d round trips with %d changes", len(t.Hours), t.Quantiles.N, len(t.Changes))
		}
		size, err = jsonSize(reply.TrendOf("bench", t, historyUntil))
		return err
	})
	if err != nil {
		return err
	}
	b.say("the trend of %d hours: %d bytes of JSON", historyHours, size)
	err = b.cost("history_matrix_60", atMost(historyMatrixBarMS), func() error {
		m, err := answers.ReadMatrix(ctx, store, c, "public", "tcp-64", historyUntil)
		if err != nil {
			return err
		}
		if m.Measured != historyProbers*(historyProbers-1) {
			return fmt.Errorf("the matrix: %d pairs measured", m.Measured)
		}
		_, err = jsonSize(reply.MatrixAnswerOf(m, nil, historyUntil))
		return err
	})
	if err != nil {
		return err
	}
	return b.historyLake(ctx, server, store)
}

// cost prints the processor time of this process for a question, of which the emulator's is none, and how long
// the answer took beside that.
func (b *bench) cost(name string, want *bar, ask func() error) error {
	var cpu, wait []float64
	for range b.rounds + 1 { // the first connects, and counts for nothing
		before, err := processorTime()
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := ask(); err != nil {
			return err
		}
		took := time.Since(begin)
		after, err := processorTime()
		if err != nil {
			return err
		}
		cpu, wait = append(cpu, float64(after-before)/1e6), append(wait, float64(took)/1e6)
		b.say("%s: %.0f ms of ours, %.0f ms until the answer", name, cpu[len(cpu)-1], wait[len(wait)-1])
	}
	b.figure(name+"_cpu", median(cpu[1:]), "ms", want)
	b.figure(name+"_with_storage", median(wait[1:]), "ms", nil)
	return nil
}

// processorTime is that of this process so far.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("asking for the processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

func jsonSize(v any) (int, error) {
	var n counter
	err := json.NewEncoder(&n).Encode(v)
	return int(n), err
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

var _ io.Writer = (*counter)(nil)

// fillYear stores hours with a rhythm of 3 ms, a tail, and another way since July.
func fillYear(ctx context.Context, store *tables.Store, q answers.SeriesQuery) error {
	is := wire.Series{Environment: "bench", Source: q.Source, Target: q.Target, Path: q.Path, Probe: q.Probe}
	rnd := rand.New(rand.NewPCG(1, 2))
	samples := make([]int64, historyRunsAnHour*100)
	var changes []tables.HourChange
	for at := q.Since; at.Before(q.Until); at = at.Add(time.Hour) {
		base := 80e6 + 1.5e6*(1-math.Cos(2*math.Pi*float64(at.Hour())/24))
		if at.Month() >= time.July && at.Year() == q.Until.Year() {
			base += 6e6
		}
		low, high := math.Inf(1), 0.0
		for i := range samples {
			v := base + 0.4e6*rnd.ExpFloat64()
			if rnd.IntN(100) == 0 {
				v += 5e6 * rnd.ExpFloat64()
			}
			samples[i], low, high = int64(v), min(low, v/1000), max(high, v/1000)
		}
		text, _, err := wire.EncodeHistogram(samples)
		if err != nil {
			return err
		}
		var sum wire.HistogramSum
		if err := sum.Add(text); err != nil {
			return err
		}
		us := func(p float64) *float64 {
			v := *sum.Quantile(p) / 1000
			return &v
		}
		n, none, ratio, lossHigh := len(samples), 0, 0.0, 0.006
		mean := base / 1000
		changes = append(changes, tables.HourChange{Put: &tables.Hour{Series: is, Begin: at, Kind: wire.KindTCP, Inputs: strings.Repeat("0a", 32),
			Runs: historyRunsAnHour, First: at, Last: at.Add(50 * time.Minute), Counts: tables.HourCounts{Sent: &n, Received: &n, Lost: &none, Late: &none, Duplicate: &none, Reordered: &none},
			RTT: tables.RTTs{MinUS: &low, MeanUS: &mean, P50US: us(0.5), P90US: us(0.9), P95US: us(0.95), MaxUS: &high}, Histogram: text,
			Loss: tables.Loss{Sent: &n, Ratio: &ratio, Low: &ratio, High: &lossHigh}}})
	}
	return store.WriteHours(ctx, changes)
}

// fillLatest stores a run of every pair.
func fillLatest(ctx context.Context, store *tables.Store, c *config.Config) error {
	slot := historyUntil.Add(-10 * time.Minute)
	for _, source := range c.Probers {
		var rs []result.Result
		for i, target := range c.Probers {
			if source.ID == target.ID {
				continue
			}
			run := benchRun(target.ID, slot, time.Duration(20+i)*time.Millisecond)
			var err error
			if run.RTTHistogram, run.ExcessHistogram, err = wire.Histograms(run.Samples.RTTNS); err != nil {
				return err
			}
			rs = append(rs, result.Result{Series: wire.Series{Environment: "bench", Source: source.ID, Target: target.ID, Path: "public", Probe: "tcp-64"}, Slot: slot,
				Assignment: wire.AssignmentID("bench", slot, source.ID, "tcp-64", 0), Attempt: "0a1b2c3d", Document: "raw-bench/documents/x.json.gz",
				Provenance: wire.Provenance{ProberVersion: "1.0.0", VMSize: "Standard_D2s_v5"}, Run: run, Summary: summary.Of(&run, &wire.Provenance{})})
		}
		if err := store.PutLatest(ctx, rs); err != nil {
			return err
		}
	}
	return nil
}

func benchRun(target string, at time.Time, base time.Duration) wire.Run {
	r := wire.Run{Target: target, Path: "public", Kind: wire.KindTCP, Address: "20.50.0.4:7700", PlannedStart: at, Start: &at, End: &at, Counts: wire.Counts{Sent: 100, Received: 100}}
	for i := range int64(100) {
		s := &r.Samples
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, i), append(s.DueNS, i*20e6), append(s.SentNS, i*20e6)
		s.RTTNS, s.Failure = append(s.RTTNS, int64(base)+i*int64(base)/1000), append(s.Failure, "")
	}
	return r
}

// matrixConfig has so many probers in the catalog's regions.
func matrixConfig(n int) (*config.Config, error) {
	var b strings.Builder
	b.WriteString("version: 1\nenvironment: bench\nprobers:\n")
	var regions []string
	for _, r := range catalog.Regions() {
		if r.OffersCustomers {
			regions = append(regions, r.Name)
		}
	}
	for i := range n { // where the regions are too few the first have two
		region := regions[i%len(regions)]
		fmt.Fprintf(&b, "  - id: %s-%d\n    region: %s\n    addresses: {public: [20.%d.0.0/16]}\n", region, i/len(regions), region, i)
	}
	b.WriteString("probes:\n  - name: tcp-64\n    kind: tcp\n    schedule: \"*/10 * * * *\"\n    paths: [public]\n    count: 100\n    interval: 20ms\n    request: 64\n")
	return config.Parse([]byte(b.String()))
}
