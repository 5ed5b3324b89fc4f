package tables

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"isochrone/prober/wire"
)

// LevelHours is how many hours of a series are kept together: four weeks, and a day in which hours may come
// late or be looked back at.
const LevelHours = 29 * 24

// SeriesLevels are what alerts need to know of the hours of a series: median and smallest round trip of each, in one
// row. To read four weeks of hours of every series each hour would be a thousand times as much.
//
// They say nothing that hours do not say, and may be deleted: they are made of hours once more.
type SeriesLevels struct {
	Series wire.Series
	Kind   wire.Kind
	Newest time.Time // the hour of the last place; zero without any
	// P50US and MinUS are LevelHours long, oldest first; NaN stands for an hour without round trips.
	P50US, MinUS []float32
	// Simulated says of each hour whether a model made some of it up.
	Simulated []bool
	// Read is when hours were read for it last; zero: never, so that older hours are not in it.
	Read time.Time
	// Searched is when it was last searched for changes; zero: never.
	Searched time.Time
	ETag     string // empty where there is no row
}

// Level is what one hour of a series says.
type Level struct {
	Series       wire.Series
	Kind         wire.Kind
	Begin        time.Time // a whole hour, UTC
	P50US, MinUS *float64  // nil where the hour has none, or is gone
	Simulated    bool
}

// NewSeriesLevels is a row without hours.
func NewSeriesLevels(series wire.Series, kind wire.Kind) *SeriesLevels {
	l := &SeriesLevels{Series: series, Kind: kind, P50US: make([]float32, LevelHours), MinUS: make([]float32, LevelHours), Simulated: make([]bool, LevelHours)}
	l.clear(0, LevelHours)
	return l
}

func (l *SeriesLevels) clear(from, to int) {
	for i := from; i < to; i++ {
		l.P50US[i], l.MinUS[i], l.Simulated[i] = float32(math.NaN()), float32(math.NaN()), false
	}
}

// Hour is the hour of a place.
func (l *SeriesLevels) Hour(place int) time.Time {
	return l.Newest.Add(-time.Duration(LevelHours-1-place) * time.Hour)
}

// Place is where an hour is kept; ok is false where it is older than all that are kept, or newer.
func (l *SeriesLevels) Place(hour time.Time) (place int, ok bool) {
	if l.Newest.IsZero() {
		return 0, false
	}
	place = LevelHours - 1 - int(l.Newest.Sub(hour)/time.Hour)
	return place, place >= 0 && place < LevelHours
}

// Put takes an hour in, in place of what was known of it. Hours older than all that are kept are left out. It says
// whether anything is another now.
func (l *SeriesLevels) Put(of Level) (changed bool) {
	if of.Begin.After(l.Newest) {
		if of.P50US == nil && of.MinUS == nil {
			return false // it would push out an hour that says something
		}
		l.advance(of.Begin)
	}
	at, ok := l.Place(of.Begin)
	if !ok {
		return false
	}
	p50, least := level(of.P50US), level(of.MinUS)
	changed = !same(l.P50US[at], p50) || !same(l.MinUS[at], least) || l.Simulated[at] != of.Simulated
	l.P50US[at], l.MinUS[at], l.Simulated[at] = p50, least, of.Simulated
	return changed
}

// advance makes an hour the last.
func (l *SeriesLevels) advance(hour time.Time) {
	by := LevelHours
	if !l.Newest.IsZero() {
		by = int(min(hour.Sub(l.Newest)/time.Hour, LevelHours))
	}
	copy(l.P50US, l.P50US[by:])
	copy(l.MinUS, l.MinUS[by:])
	copy(l.Simulated, l.Simulated[by:])
	l.clear(LevelHours-by, LevelHours)
	l.Newest = hour
}

func level(v *float64) float32 {
	if v == nil {
		return float32(math.NaN())
	}
	return float32(*v)
}

func same(a, b float32) bool { return a == b || a != a && b != b }

// levelBytes is the length of the column's bytes: the medians, the minima, and a bit an hour.
const levelBytes = LevelHours*8 + (LevelHours+7)/8

// pack is the hours as the column holds them: little-endian IEEE 754 binary32.
func (l *SeriesLevels) pack() string {
	b := make([]byte, levelBytes)
	for i := range LevelHours {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(l.P50US[i]))
		binary.LittleEndian.PutUint32(b[4*(LevelHours+i):], math.Float32bits(l.MinUS[i]))
		if l.Simulated[i] {
			b[8*LevelHours+i/8] |= 1 << (i % 8)
		}
	}
	return base64.StdEncoding.EncodeToString(b)
}

// unpack reads what pack wrote; anything else leaves the row without hours, to be made once more.
func (l *SeriesLevels) unpack(text string) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != levelBytes {
		series, kind, etag := l.Series, l.Kind, l.ETag
		*l = *NewSeriesLevels(series, kind)
		l.ETag = etag
		return
	}
	for i := range LevelHours {
		l.P50US[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		l.MinUS[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*(LevelHours+i):]))
		l.Simulated[i] = b[8*LevelHours+i/8]&(1<<(i%8)) != 0
	}
}

// storedLevels is the row.
type storedLevels struct {
	SeriesLevels
	packed string
}

var keptLevelFields = slices.Concat(seriesFields(func(l *storedLevels) *wire.Series { return &l.Series }, func(l *storedLevels) *wire.Kind { return &l.Kind }), []field[storedLevels]{
	instant("newest", "the last hour that is in levels", func(l *storedLevels) *time.Time { return &l.Newest }),
	instant("read", "when hours were read for it last", func(l *storedLevels) *time.Time { return &l.Read }),
	instant("searched", "when it was last searched for changes", func(l *storedLevels) *time.Time { return &l.Searched }),
	text("levels", "base64: rtt_p50_us and then rtt_min_us of the 696 hours up to newest, oldest first, as little-endian binary32 (NaN: none), and a bit an hour for simulated ones",
		func(l *storedLevels) *string { return &l.packed }),
})

// LevelsOf reads the levels of a source's series.
func (s *Store) LevelsOf(ctx context.Context, source string) iter.Seq2[*SeriesLevels, error] {
	if err := wire.ValidateName("source", source); err != nil {
		return failed[*SeriesLevels](fmt.Errorf("reading the levels of a source: %w: %w", ErrRefused, err))
	}
	return func(yield func(*SeriesLevels, error) bool) {
		for row, err := range s.pages(ctx, s.name(levelsTable), keyRange{partition: source}.filter(), levelColumnIndex) {
			if err != nil {
				yield(nil, fmt.Errorf("reading the levels of %q: %w", source, err))
				return
			}
			l, err := s.levelsOfRow(row)
			if err != nil {
				err = fmt.Errorf("reading the levels of %q: %w", source, err)
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

const etagProperty = "odata.etag"

// levelColumnIndex is where each column of levels is in what pages yields, the ETag behind them.
var levelColumnIndex = func() map[string]int {
	out := map[string]int{}
	for i, f := range keptLevelFields {
		out[f.Name] = i
	}
	out[etagProperty] = len(keptLevelFields)
	return out
}()

func (s *Store) levelsOfRow(raw [][]byte) (*SeriesLevels, error) {
	l := storedLevels{SeriesLevels: *NewSeriesLevels(wire.Series{}, "")}
	for i, f := range keptLevelFields {
		if raw[i] == nil || string(raw[i]) == "null" {
			continue
		}
		v, err := f.parseFlat(raw[i])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		f.set(&l, v)
	}
	if err := json.Unmarshal(raw[len(keptLevelFields)], &l.ETag); err != nil || l.ETag == "" { // an update without it would be an upsert
		return nil, fmt.Errorf("the row of %s came without its ETag", l.Series)
	}
	l.Series.Environment = s.environment
	l.unpack(l.packed)
	return &l.SeriesLevels, nil
}

// WriteLevels puts rows in the place of those that were read, or of none; the error has ErrChanged in its chain
// where one is another by now, and others may have been written.
func (s *Store) WriteLevels(ctx context.Context, ls []*SeriesLevels) error {
	ops := make([]operation, len(ls))
	for i, l := range ls {
		if err := s.own(l.Series.Environment); err != nil {
			return fmt.Errorf("storing the levels of %s: %w", l.Series, err)
		}
		err := l.Series.Validate()
		if err == nil && (len(l.P50US) != LevelHours || len(l.MinUS) != LevelHours || len(l.Simulated) != LevelHours) {
			err = fmt.Errorf("the levels of %s are not of %d hours", l.Series, LevelHours)
		}
		if err != nil {
			return fmt.Errorf("storing levels: %w: %w", ErrRefused, err)
		}
		partition, row, err := checked(l.Series.Source, seriesRow(l.Series))
		if err != nil {
			return fmt.Errorf("storing levels: %w: %w", ErrRefused, err)
		}
		e, err := encode(partition, row, keptLevelFields, &storedLevels{*l, l.pack()})
		if err != nil {
			return fmt.Errorf("storing levels: %w", err)
		}
		ops[i] = change(e, Stamp{ETag: l.ETag})
	}
	if err := s.replace(ctx, s.name(levelsTable), ops); err != nil {
		return fmt.Errorf("storing levels: %w", err)
	}
	return nil
}
