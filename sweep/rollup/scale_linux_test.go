package rollup_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/sweep/result"
	"isochrone/sweep/rollup"
	"isochrone/sweep/tables"
)

// sixty is an hour of 60 probers: 3,540 pairs, two paths, three probes, six slots, a hundred samples a run.
func sixty(b *testing.B, s *tables.Store, environment string, sources int) (runs int) {
	b.Helper()
	rnd := rand.New(rand.NewPCG(60, 1))
	shapes := make([]result.Result, 50)
	for i := range shapes {
		shapes[i] = measured(b, seriesOf(environment, "p00", "p01"), hour0, drawn(rnd, 100)...)
	}
	var g errgroup.Group
	g.SetLimit(2)
	for i := range sources {
		var rs []result.Result
		for j := range 60 {
			if i == j {
				continue
			}
			for _, path := range []string{"public", "peering"} {
				for _, probe := range []string{"tcp-64", "udp-200", "connect"} {
					for slot := range 6 {
						r := shapes[rnd.IntN(len(shapes))]
						r.Series.Source, r.Series.Target, r.Series.Path, r.Series.Probe = fmt.Sprintf("p%02d", i), fmt.Sprintf("p%02d", j), path, probe
						r.Slot = hour0.Add(time.Duration(slot) * 10 * time.Minute)
						rs = append(rs, r)
					}
				}
			}
		}
		runs += len(rs)
		g.Go(func() error {
			for part := range slices.Chunk(rs, 400) {
				if err := s.PutResults(b.Context(), part); err != nil {
					return err
				}
			}
			return s.MarkDirty(b.Context(), rs[:1])
		})
	}
	must(b, g.Wait())
	return runs
}

// BenchmarkAnHourOfSixtyProbers rolls an hour up on Azurite: all of it, and again when nothing has changed, of
// some of 60 probers and of all. Its seconds are mostly Azurite's, which shares the machine; to store the
// runs takes it minutes before that.
func BenchmarkAnHourOfSixtyProbers(b *testing.B) {
	for _, sources := range []int{5, 60} {
		b.Run(fmt.Sprintf("sources=%d", sources), func(b *testing.B) { rollHour(b, sources) })
	}
}

func rollHour(b *testing.B, sources int) {
	a, environment := azuritetest.Environment(b)
	s, err := tables.Open(a, environment)
	must(b, err)
	begun := time.Now()
	runs := sixty(b, s, environment, sources)
	b.Logf("%d runs were stored in %s", runs, time.Since(begun))
	stop, peak := watchHeap()
	for b.Loop() {
		for _, what := range []string{"new", "unchanged"} {
			begun, used := time.Now(), cpu(b)
			report, err := roller(s).Run(b.Context())
			must(b, err)
			if report.Runs != runs || report.Written+report.Same != runs/6 {
				b.Fatalf("report %+v", report)
			}
			b.ReportMetric(time.Since(begun).Seconds(), what+"-s")
			b.ReportMetric((cpu(b) - used).Seconds(), what+"-own-cpu-s")
			for i := range sources {
				must(b, s.MarkHours(b.Context(), fmt.Sprintf("p%02d", i), []time.Time{hour0}))
			}
		}
	}
	stop()
	b.ReportMetric(float64(runs), "runs")
	b.ReportMetric(float64(peak.Load())/1e6, "peak-MB")
}

// cpu is the processor time that this process has used, Azurite's not included.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchHeap follows the size of the heap until stop is called.
func watchHeap() (stop func(), peak *atomic.Uint64) {
	peak = &atomic.Uint64{}
	done := make(chan struct{})
	runtime.GC()
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapAlloc))
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) }), peak
}

// BenchmarkHourOf is what is ours of that: the six runs of a series' hour to its row.
func BenchmarkHourOf(b *testing.B) {
	rnd := rand.New(rand.NewPCG(60, 2))
	s := seriesOf(environment, "westeurope", "eastus")
	var rs []result.Result
	for i := range 6 {
		rs = append(rs, measured(b, s, hour0.Add(time.Duration(i)*10*time.Minute), drawn(rnd, 100)...))
	}
	rows := rowsOf(rs...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rollup.HourOf(rows, hour0); err != nil {
			b.Fatal(err)
		}
	}
}
