package tables

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// What is read by series is what looking through everything finds, in the same order, whatever the
// time and however names begin each other.
func TestReadingBySeriesFindsWhatLookingThroughDoes(t *testing.T) {
	s := newStore(t)
	ctx := background(t)
	newYear := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(7, 7))
	var rs []result.Result
	for _, source := range []string{"westeurope", "westeurope2"} {
		for _, target := range []string{"eastus", "eastus-vpn", "eastus2"} {
			for _, probe := range []string{"tcp", "tcp-64", "ext.tcp"} {
				series := wire.Series{Environment: s.environment, Source: source, Target: target, Path: "public", Probe: probe}
				for range 8 {
					rs = append(rs, expired(series, newYear.Add(time.Duration(random.IntN(4*24*60)-2*24*60)*time.Minute)))
				}
			}
		}
	}
	slices.SortFunc(rs, func(a, b result.Result) int {
		return strings.Compare(fmt.Sprint(a.Series, a.Slot), fmt.Sprint(b.Series, b.Slot))
	})
	rs = slices.CompactFunc(rs, func(a, b result.Result) bool { return a.Series == b.Series && a.Slot.Equal(b.Slot) })
	must(t, s.AddExpired(ctx, rs))
	spans := [][2]time.Time{
		{newYear.Add(-50 * time.Hour), newYear.Add(50 * time.Hour)}, {newYear.Add(-time.Hour), newYear.Add(24 * time.Hour)},
		{newYear, newYear.Add(10 * time.Hour)}, {newYear.Add(-3 * time.Hour), newYear}, {newYear.AddDate(1, 0, 0), newYear.AddDate(1, 0, 1)},
	}
	for i := range rs { // some begin or end exactly at a run
		if rs[i].Series.Source == "westeurope" && i%7 == 0 {
			spans = append(spans, [2]time.Time{rs[i].Slot, rs[i].Slot.Add(time.Hour)}, [2]time.Time{rs[i].Slot.Add(-time.Hour), rs[i].Slot})
		}
	}
	for _, span := range spans {
		name := func(r *Row) string { return fmt.Sprint(r.Series, r.Slot.UTC()) }
		var want, got []string
		for r, err := range s.Runs(ctx, RunQuery{Source: "westeurope", Since: span[0], Until: span[1]}) {
			must(t, err)
			want = append(want, name(&r))
		}
		for r, err := range s.HourRuns(ctx, "westeurope", span[0], span[1]) {
			must(t, err)
			got = append(got, name(&r))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("from %s to %s (-looking through +by series):\n%s", span[0], span[1], diff)
		}
	}
}

// A process that knows a series does not write it again; another one may.
func TestASeriesIsKeptOnceAProcess(t *testing.T) {
	a := newStore(t)
	ctx := background(t)
	series := seriesOf(a.environment, "westeurope", "eastus")
	first := ""
	for i := range 3 {
		must(t, a.AddExpired(ctx, []result.Result{expired(series, slot0.Add(time.Duration(i)*time.Minute))}))
		_, etag, err := a.get(ctx, a.name(seriesTable), series.Source, seriesRow(series))
		must(t, err)
		if i == 0 {
			first = string(etag)
		}
		if etag == "" || string(etag) != first {
			t.Errorf("ETag %q after the first row and %q after another", first, etag)
		}
		if got := a.known.unknown(slices.Values([]wire.Series{series})); len(got) != 0 {
			t.Error("it is not known")
		}
	}
	list, err := a.SeriesOf(ctx, "westeurope")
	must(t, err)
	if diff := cmp.Diff([]wire.Series{series}, list); diff != "" {
		t.Error(diff)
	}
	if list, err := a.SeriesOf(ctx, "eastus"); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// What is remembered does not grow without end.
func TestWhatIsKnownOfSeriesIsBounded(t *testing.T) {
	var k knownSeries
	for i := range mostKnown/1000 + 50 {
		var some []wire.Series
		for j := range 1000 {
			some = append(some, wire.Series{Source: "a", Target: fmt.Sprintf("t%d", i*1000+j)})
		}
		k.add(some)
		if len(k.set) > mostKnown {
			t.Fatalf("%d are remembered: want at most %d", len(k.set), mostKnown)
		}
	}
}

// until passes so many batches on, and cuts the connection from then on.
type until struct {
	left int
}

func (u *until) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/$batch") {
		if u.left--; u.left < 0 {
			return nil, errCut
		}
	}
	return http.DefaultClient.Do(r)
}

// Rows of a series come only after it: cut off after any write, no row is without its series, and a
// series that could not be stored does not count as known.
func TestASeriesIsKeptBeforeItsRows(t *testing.T) {
	a, env := azuritetest.Environment(t)
	good, err := Open(a, env)
	must(t, err)
	ctx := background(t)
	must(t, good.Ensure(ctx, slot0)) // or a batch more finds that there is no table
	series := seriesOf(env, "westeurope", "eastus")
	for n := range 3 {
		cut, err := open(a, env, settings{transport: &until{left: n}, patience: patience{try: 10 * time.Second, first: time.Millisecond, most: time.Millisecond, budget: 20 * time.Millisecond}})
		must(t, err)
		if err := cut.PutResults(ctx, []result.Result{measured(t, series, slot0, 1_000_000)}); (err == nil) != (n == 2) {
			t.Fatalf("after %d batches: %v", n, err)
		}
		list, err := good.SeriesOf(ctx, series.Source)
		must(t, err)
		rows := allRuns(t, good, RunQuery{})
		if len(rows) > 0 && len(list) == 0 || len(rows) != n/2 || (len(list) > 0) != (n > 0) {
			t.Errorf("after %d batches there are %d rows and %d series", n, len(rows), len(list))
		}
		if known := len(cut.known.unknown(slices.Values([]wire.Series{series}))) == 0; known != (n > 0) {
			t.Errorf("after %d batches the series is known: %v", n, known)
		}
	}
}

// Whatever stores runs keeps their series: foreign documents, and a replay that finds runs of a series that
// never had one.
func TestEveryWayToStoreRunsKeepsTheirSeries(t *testing.T) {
	s := newStore(t)
	ctx := background(t)
	foreign := foreignOf(t, s.environment, "raw-x/foreign/a", slot0, 2)
	must(t, s.AddForeign(ctx, foreign))
	mended := measured(t, seriesOf(s.environment, "uksouth", "eastus"), slot0, 1_000_000)
	ds, err := s.CompareRuns(ctx, []result.Result{mended})
	must(t, err)
	must(t, s.MendRuns(ctx, []result.Result{mended}, ds))
	for _, want := range []wire.Series{foreign[0].Series, mended.Series} {
		list, err := s.SeriesOf(ctx, want.Source)
		must(t, err)
		if !slices.Contains(list, want) {
			t.Errorf("%s is not among %v", want, list)
		}
	}
}

// Runs of a version that kept no series are found by going from one to the next.
func TestSeriesOfAnOlderVersionAreFound(t *testing.T) {
	a, env := azuritetest.Environment(t)
	s, err := Open(a, env)
	must(t, err)
	ctx := background(t)
	var want []wire.Series
	var rs []result.Result
	for i, probe := range []string{"tcp-64", "tcp", "ext.tcp"} {
		for _, target := range []string{"eastus", "eastus2"} {
			series := wire.Series{Environment: env, Source: "westeurope", Target: target, Path: "public", Probe: probe}
			want = append(want, series)
			rs = append(rs, expired(series, slot0.AddDate(0, -i, 0)), expired(series, slot0.AddDate(0, -i, 0).Add(time.Hour)))
		}
	}
	must(t, s.AddExpired(ctx, append(rs, expired(seriesOf(env, "uksouth", "eastus"), slot0))))
	for _, is := range want {
		_, etag, err := s.get(ctx, s.name(seriesTable), is.Source, seriesRow(is))
		must(t, err)
		must(t, s.delete(ctx, s.name(seriesTable), is.Source, seriesRow(is), etag))
	}
	old, err := Open(a, env) // which knows none
	must(t, err)
	must(t, old.FindSeries(ctx, "westeurope", slot0.AddDate(0, -2, 0), slot0.Add(time.Hour)))
	got, err := old.SeriesOf(ctx, "westeurope")
	must(t, err)
	order := func(a, b wire.Series) int { return strings.Compare(seriesRow(a), seriesRow(b)) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
