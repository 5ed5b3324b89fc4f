package answers

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// exported reads an export to its end, each row by the names of its columns.
func exported(t *testing.T, e *Export) (out []map[string]any) {
	t.Helper()
	for values, err := range e.Rows {
		if err != nil {
			t.Fatal(err)
		}
		if len(values) != len(e.Columns) {
			t.Fatalf("%d values for %d columns", len(values), len(e.Columns))
		}
		row := map[string]any{}
		for i, v := range values {
			row[e.Columns[i].Name] = v
		}
		out = append(out, row)
	}
	return out
}

func TestADayComesFromTheSamplesOfItsHours(t *testing.T) {
	var all []float64
	var hours []tables.Hour
	for i := range 30 {
		values := make([]float64, 100+50*i) // hours that weigh differently
		for k := range values {
			values[k] = 80_000 + 100*float64(i) + float64(k)
		}
		hours = append(hours, hourOfValues(t, monday.Add(time.Duration(i)*time.Hour), values))
		if i < 24 {
			all = append(all, values...)
		}
	}
	hours[3].Failed, hours[4].Failed = map[wire.Failure]int{wire.FailureTimeout: 1}, map[wire.Failure]int{wire.FailureTimeout: 2}
	up := func(n int, v float64) tables.Rates { return tables.Rates{N: &n, Min: &v, Median: &v, Max: &v} }
	hours[1].Up, hours[2].Up, hours[5].Up = up(1, 3e9), up(1, 1e9), up(1, 2e9)
	hours[6].Down, hours[7].Down = up(1, 3e9), up(2, 1e9)
	hours[28].Histogram = ""
	from := &hourStore{}
	from.add(pairSeries, hours)
	e := ReadExport(t.Context(), from, []string{"eastus", "westeurope"}, ExportQuery{Grain: GrainDay, Since: monday, Until: monday.AddDate(0, 0, 2)})
	rows := exported(t, e)
	if len(rows) != 2 || e.Columns[0].Name != "day" || !rows[0]["day"].(time.Time).Equal(monday.AddDate(0, 0, 1)) {
		t.Fatalf("%d days, the first %v; want two, newest first", len(rows), rows[0]["day"])
	}
	day := rows[1]
	slices.Sort(all)
	for name, p := range map[string]float64{"rtt_p50_us": 0.5, "rtt_p90_us": 0.9, "rtt_p95_us": 0.95, "rtt_p99_us": 0.99, "rtt_p999_us": 0.999} {
		exact := all[int(math.Ceil(p*float64(len(all))))-1]
		if got, ok := day[name].(float64); !ok || math.Abs(got-exact) > exact/1000 {
			t.Errorf("%s: %v, exactly %f", name, day[name], exact)
		}
	}
	mean := 0.0
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for name, want := range map[string]any{"hour_count": 24, "run_count": 24 * 6, "received_count": len(all), "loss_sent_count": len(all), "runs_timeout_count": 3,
		"rtt_min_us": all[0], "rtt_max_us": all[len(all)-1], "throughput_up_count": 3, "throughput_up_median_bps": 2e9, "throughput_up_max_bps": 3e9,
		"throughput_down_count": 3, "throughput_down_median_bps": nil, "throughput_down_min_bps": 1e9, "kind": "tcp", "source": "westeurope"} {
		if day[name] != want {
			t.Errorf("%s: %v, want %v", name, day[name], want)
		}
	}
	if got := day["rtt_mean_us"].(float64); math.Abs(got-mean) > 0.01 {
		t.Errorf("mean %f, want %f", got, mean)
	}
	if rows[0]["rtt_p50_us"] != nil || rows[0]["rtt_min_us"] == nil || rows[0]["hour_count"] != 6 {
		t.Errorf("a day of which an hour has no histogram: p50 %v", rows[0]["rtt_p50_us"])
	}
	if e.Rests.Hours != 30 || e.Rests.Runs != 180 {
		t.Errorf("resting on %+v", e.Rests)
	}
	for _, c := range e.Columns {
		if strings.Contains(c.Name, "histogram") || c.Name == "inputs_sha256" {
			t.Errorf("column %s is exported", c.Name)
		}
	}
	whole := exported(t, ReadExport(t.Context(), from, []string{"westeurope"}, ExportQuery{Grain: GrainDay, Since: monday, Until: monday.AddDate(0, 0, 1), Histograms: true}))
	var sum wire.HistogramSum
	if err := sum.Add(whole[0]["rtt_histogram"].(string)); err != nil || sum.Total() != int64(len(all)) {
		t.Errorf("the day's histogram has %d round trips, %v; want %d", sum.Total(), err, len(all))
	}
}

func TestAnExportEndsWithAFaultAndCanBeLeft(t *testing.T) {
	from := &hourStore{}
	from.add(pairSeries, made(t, monday, 50, func(int, time.Time) shape { return shape{floor: 80_000, above: 100} }))
	lost := errors.New("the storage is gone")
	for _, grain := range Grains() {
		from.err, from.store.err = lost, lost
		var err error
		for _, e := range ReadExport(t.Context(), from, []string{"westeurope"}, ExportQuery{Grain: grain, Since: monday, Until: monday.AddDate(0, 0, 9)}).Rows {
			err = e
		}
		if !errors.Is(err, lost) {
			t.Errorf("%s: ended with %v", grain, err)
		}
		from.err, from.store.err = nil, nil
		for range ReadExport(t.Context(), from, []string{"westeurope"}, ExportQuery{Grain: grain, Since: monday, Until: monday.AddDate(0, 0, 9)}).Rows {
			break
		}
	}
}

func TestAnExportHoldsNoMoreForAYear(t *testing.T) {
	hour := made(t, monday, 1, func(int, time.Time) shape { return shape{floor: 80_000, above: 1000} })[0]
	hour.Series = pairSeries
	most := func(hours int) uint64 {
		var peak uint64
		n := 0
		rows := daysOf(func(yield func(tables.Hour, error) bool) {
			for i := range hours {
				h := hour
				h.Begin, h.Histogram = monday.Add(-time.Duration(i)*time.Hour), strings.Clone(hour.Histogram)
				if !yield(h, nil) {
					return
				}
				if i%2000 == 1999 {
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapAlloc)
				}
			}
		})
		for _, err := range rows {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n < hours/24 {
			t.Fatalf("%d days of %d hours", n, hours)
		}
		return peak
	}
	short, long := most(2000), most(40_000)
	if long > short+1<<20 {
		t.Errorf("%d bytes are held for 2,000 hours and %d for 40,000", short, long)
	}
}
