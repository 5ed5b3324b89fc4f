package alerts_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/alerts"
	"isochrone/sweep/answers"
	"isochrone/sweep/archive"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// source are the levels of the 354 series that one of 60 probers has (two paths, three latency kinds), and their news.
func source(b *testing.B, env string) (ls []*tables.SeriesLevels, news []tables.Level) {
	b.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 354 {
		series := wire.Series{Environment: env, Source: "westeurope", Target: fmt.Sprintf("target-%d", i/6), Path: []string{"public", "peering"}[i%2], Probe: fmt.Sprintf("probe-%d", i%3)}
		l := tables.NewSeriesLevels(series, wire.KindTCP)
		for h := tables.LevelHours; h > 0; h-- {
			at := hour0.Add(-time.Duration(h) * time.Hour)
			p50, least := 1000*(usual(at)+0.2*rnd.NormFloat64()), 79_000+20*rnd.NormFloat64()
			l.Put(tables.Level{Begin: at, P50US: &p50, MinUS: &least})
		}
		l.Read, l.Searched = hour0, hour0
		ls = append(ls, l)
		news = append(news, newsOf(hourOf(series, hour0, usual(hour0), 79)))
	}
	return ls, news
}

func watching(b *testing.B, rows alerts.Rows, from alerts.Configs, env string, news []tables.Level) {
	b.Helper()
	p := &person{rows: rows, from: from}
	hour := 0
	for b.Loop() {
		at := hour0.Add(time.Duration(hour) * time.Hour)
		p50 := 1000 * usual(at)
		for i := range news {
			news[i].Begin, news[i].P50US = at, &p50
		}
		e := p.at(at.Add(65 * time.Minute))
		e.Environment, e.ChangesIn = env, nil
		if err := e.Watch(b.Context(), "westeurope", news); err != nil {
			b.Fatal(err)
		}
		hour = (hour + 1) % 100
	}
}

// What an hour of a source costs beside storage, searches apart.
func BenchmarkAnHourOfASource(b *testing.B) {
	m := newMemory(environment)
	ls, news := source(b, environment)
	must(b, m.WriteLevels(b.Context(), ls))
	watching(b, m, m, environment, news)
}

// The same on the storage emulator.
func BenchmarkAnHourOfASourceOnStorage(b *testing.B) {
	a, env := azuritetest.Environment(b)
	rows, err := tables.Open(a, env)
	must(b, err)
	blobs, err := archive.Open(a, env)
	must(b, err)
	must(b, blobs.Ensure(b.Context()))
	ls, news := source(b, env)
	must(b, rows.WriteLevels(b.Context(), ls))
	watching(b, rows, blobs, env, news)
}

func BenchmarkSearch(b *testing.B) {
	ls, _ := source(b, environment)
	var p50, minima []trend.Point
	for place := range ls[0].P50US {
		p50 = append(p50, trend.Point{Time: ls[0].Hour(place), Value: float64(ls[0].P50US[place])})
		minima = append(minima, trend.Point{Time: ls[0].Hour(place), Value: float64(ls[0].MinUS[place])})
	}
	for b.Loop() {
		answers.ChangesIn(p50, minima)
	}
}
