package tables

import (
	"errors"
	"math"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestLevelsKeepTheNewestHours(t *testing.T) {
	is := seriesOf("test", "westeurope", "eastus")
	l := NewSeriesLevels(is, wire.KindTCP)
	hour := slot0.Truncate(time.Hour)
	if l.Put(Level{Begin: hour}) || !l.Newest.IsZero() {
		t.Error("an hour without round trips was taken in")
	}
	for i := range 3 {
		if !l.Put(Level{Begin: hour.Add(time.Duration(i) * time.Hour), P50US: new(80_000.25 + float64(i)), MinUS: new(79_000.0)}) {
			t.Errorf("hour %d changed nothing", i)
		}
	}
	if l.Put(Level{Begin: hour, P50US: new(80_000.25), MinUS: new(79_000.0)}) {
		t.Error("the same again is a change")
	}
	if at, ok := l.Place(hour); !ok || at != LevelHours-3 || l.P50US[at] != 80_000.25 || !l.Hour(at).Equal(hour) {
		t.Errorf("the first is at %d, %t", at, ok)
	}
	// Later by all but one of the hours that are kept: only the newest of the three stays.
	last := hour.Add(2 * time.Hour).Add((LevelHours - 1) * time.Hour)
	l.Put(Level{Begin: last, P50US: new(1.0), Simulated: true})
	if l.P50US[0] != 80_002.25 || !math.IsNaN(float64(l.P50US[1])) || l.P50US[LevelHours-1] != 1 || !math.IsNaN(float64(l.MinUS[LevelHours-1])) || !l.Simulated[LevelHours-1] {
		t.Errorf("then they are %v … %v", l.P50US[:2], l.P50US[LevelHours-1])
	}
	if l.Put(Level{Begin: hour, P50US: new(5.0)}) {
		t.Error("an hour older than all changed something")
	}
	if !l.Put(Level{Begin: last}) || !math.IsNaN(float64(l.P50US[LevelHours-1])) { // its runs are gone
		t.Error("an hour that is gone is still there")
	}
}

func TestLevelsComeBackAsTheyWereStored(t *testing.T) {
	s, ctx := newStore(t), background(t)
	hour := slot0.Truncate(time.Hour)
	var all []*SeriesLevels
	for i, target := range []string{"eastus", "uksouth"} {
		l := NewSeriesLevels(seriesOf(s.environment, "westeurope", target), wire.KindTCP)
		for h := range 700 {
			if h%7 != 3 {
				l.Put(Level{Begin: hour.Add(time.Duration(h) * time.Hour), P50US: new(80_000.125 * float64(h+i+1)), MinUS: new(float64(h)), Simulated: h%5 == 0})
			}
		}
		l.Read, l.Searched = slot0, slot0.Add(time.Hour)
		all = append(all, l)
	}
	if err := s.WriteLevels(ctx, all); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteLevels(ctx, all[:1]); !errors.Is(err, ErrChanged) {
		t.Errorf("writing over what was not read: %v", err)
	}
	got, err := collect(s.LevelsOf(ctx, "westeurope"))
	if err != nil || len(got) != 2 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	for i, l := range got {
		want := all[i]
		if l.Series != want.Series || l.Kind != want.Kind || !l.Newest.Equal(want.Newest) || !l.Read.Equal(want.Read) || !l.Searched.Equal(want.Searched) || l.pack() != want.pack() || l.ETag == "" {
			t.Errorf("row %d is %s up to %s, etag %q", i, l.Series, l.Newest, l.ETag)
		}
	}
	got[0].Put(Level{Begin: hour.Add(701 * time.Hour), P50US: new(7.0)})
	if err := s.WriteLevels(ctx, got[:1]); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Millisecond) // an ETag of Azurite is a time
	if err := s.WriteLevels(ctx, got[:1]); !errors.Is(err, ErrChanged) {
		t.Errorf("writing over what somebody wrote: %v", err)
	}
	if none, err := collect(s.LevelsOf(ctx, "eastus")); err != nil || len(none) != 0 {
		t.Errorf("eastus has %d rows, %v", len(none), err)
	}
}

// What cannot be read is made of hours once more.
func TestLevelsThatAreDamagedAreEmpty(t *testing.T) {
	l := NewSeriesLevels(seriesOf("test", "westeurope", "eastus"), wire.KindTCP)
	l.Put(Level{Begin: slot0.Truncate(time.Hour), P50US: new(1.0)})
	l.Read, l.ETag = slot0, "x"
	l.unpack(l.pack()[4:])
	if !l.Newest.IsZero() || !l.Read.IsZero() || l.ETag != "x" || l.Series.Target != "eastus" {
		t.Errorf("they are %+v", l)
	}
}
