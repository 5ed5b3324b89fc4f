package answers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// manySeries has eight series of which every second was rerouted on the 20th of November, and one with few hours.
func manySeries(t *testing.T) *hourStore {
	t.Helper()
	from := &hourStore{}
	for i := range 8 {
		is := pairSeries
		is.Source, is.Probe = []string{"eastus", "westeurope"}[i/4], fmt.Sprintf("tcp-%d", i%4)
		is.Target = []string{"westeurope", "eastus"}[i/4]
		from.add(is, made(t, monday, 28*24, func(k int, at time.Time) shape {
			s := shape{floor: 80_000, above: 500}
			if i%2 == 0 && k >= 18*24 {
				s.floor += 2000
			}
			if k < 24 { // before the time that is asked about
				s.floor -= 3000
			}
			return s
		}))
	}
	few := pairSeries
	few.Probe = "young"
	from.add(few, made(t, monday.Add(27*24*time.Hour), 24, func(int, time.Time) shape { return shape{floor: 50_000, above: 500} }))
	return from
}

func TestChangesOfAllSeriesSinceATimePageByPage(t *testing.T) {
	from := manySeries(t)
	q := ChangesQuery{Since: monday.AddDate(0, 0, 10), Until: monday.AddDate(0, 0, 28)}
	sources := []string{"westeurope", "eastus"}
	all, err := ReadChanges(t.Context(), from, sources, q, q.Until)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Changes) != 4 || all.Series != 9 || all.Short != 1 || all.Next != "" || all.Rests.Hours != 8*28*24+24 {
		t.Fatalf("%d changes of %d series, %d too short, next %q, of %d hours", len(all.Changes), all.Series, all.Short, all.Next, all.Rests.Hours)
	}
	for i, c := range all.Changes {
		if want := []string{"eastus tcp-0", "eastus tcp-2", "westeurope tcp-0", "westeurope tcp-2"}[i]; c.Series.Source+" "+c.Series.Probe != want || c.Kind != Rerouted {
			t.Errorf("change %d: %s %s, want %s rerouted", i, c.Series, c.Kind, want)
		}
	}
	for _, asked := range from.asked {
		if asked.Columns != tables.Levels || !asked.Since.Equal(q.Since.AddDate(0, 0, -28)) {
			t.Fatalf("asked for %+v: want levels, and the 28 days before too", asked)
		}
	}
	q.MostSeries = 2
	var paged []SeriesChange
	pages := 0
	for {
		p, err := ReadChanges(t.Context(), from, sources, q, q.Until)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, p.Changes...)
		if pages++; p.Next == "" || pages > 10 {
			break
		}
		q.After = p.Next
	}
	if pages != 5 || !slices.Equal(paged, all.Changes) {
		t.Errorf("in %d pages %d changes; want the same ones in 5", pages, len(paged))
	}
	q = ChangesQuery{Since: q.Since, Until: q.Until, Source: "westeurope", Probe: "tcp-2"}
	if one, err := ReadChanges(t.Context(), from, sources, q, q.Until); err != nil || one.Series != 1 || len(one.Changes) != 1 {
		t.Errorf("of one series: %+v, %v", one, err)
	}
	from.err = fmt.Errorf("the storage is gone")
	if _, err := ReadChanges(t.Context(), from, sources, q, q.Until); err == nil {
		t.Error("the fault of the storage is lost")
	}
}

func TestADistributionHasEveryRoundTripOnceAndNoGaps(t *testing.T) {
	from := &hourStore{}
	hours := made(t, monday, 48, func(i int, at time.Time) shape { return shape{floor: 80_000, above: 1000} })
	hours[5] = hourOfValues(t, hours[5].Begin, []float64{80_000, 900_000}) // far out
	from.add(pairSeries, hours)
	d, err := ReadDistribution(t.Context(), from, askPair(monday, 48), monday)
	if err != nil {
		t.Fatal(err)
	}
	n, within := int64(0), int64(0)
	for i, b := range d.Bins {
		if n += b.Count; b.FromUS >= b.ToUS || i > 0 && b.FromUS != d.Bins[i-1].ToUS {
			t.Errorf("bin %d from %f to %f, after %+v", i, b.FromUS, b.ToUS, d.Bins[max(i-1, 0)])
		}
		if b.ToUS <= 81_000 {
			within += b.Count
		}
	}
	last := d.Bins[len(d.Bins)-1]
	if n != 47*600+2 || d.Quantiles.N != int(n) || len(d.Bins) < 40 || len(d.Bins) > mostBins || last.ToUS < 900_000 || last.Count != 1 {
		t.Errorf("%d round trips in %d bins to %f; want %d", n, len(d.Bins), last.ToUS, 47*600+2)
	}
	if part := float64(within) / float64(n); part < 0.44 || part > 0.54 { // evenly from 80 to 82 ms
		t.Errorf("%f of them are below 81 ms, want a half", part)
	}
	if empty, err := ReadDistribution(t.Context(), from, askPair(monday.AddDate(1, 0, 0), 48), monday); err != nil || len(empty.Bins) != 0 || empty.Quantiles.N != 0 {
		t.Errorf("without hours: %+v, %v", empty, err)
	}
	var sum wire.HistogramSum
	if bins := binsOf(&sum); bins != nil {
		t.Errorf("bins of nothing: %v", bins)
	}
}
