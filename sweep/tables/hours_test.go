package tables

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

var hour0 = slot0.Truncate(time.Hour)

// fillColumns gives every column a value of its own.
func fillColumns[T any](fields []field[T], v *T) {
	for i := range fields {
		f, n := fields[i], i+1
		switch f.Type {
		case String:
			if strings.Contains(f.Name, "histogram_") {
				continue // goes on from the one before
			}
			f.set(v, fmt.Sprintf("t%d", n))
		case Int32:
			f.set(v, n)
		case Double:
			f.set(v, float64(n)+0.5)
		case DateTime:
			f.set(v, slot0.Add(time.Duration(n)*time.Hour).Truncate(time.Hour))
		}
	}
}

// absent are the columns that an entity does not have.
func absent(t *testing.T, e entity, columns []Column) (out []string) {
	t.Helper()
	var properties map[string]json.RawMessage
	must(t, json.Unmarshal(e.body, &properties))
	for _, c := range columns {
		if _, ok := properties[c.Name]; !ok {
			out = append(out, c.Name)
		}
		if _, ok := properties[c.Name+"@odata.type"]; ok != (c.Type == Double || c.Type == DateTime) && !slices.Contains(out, c.Name) {
			t.Errorf("%s: the annotation is wrong", c.Name)
		}
	}
	return out
}

// Every column is written from its own value and read back into it; a row without anything has no more
// than its counts.
func TestEveryColumnOfHoursAndProfilesIsReadBack(t *testing.T) {
	var h, gotHour Hour
	fillColumns(hourFields, &h)
	e, err := encode("p", "r", hourFields, &h)
	must(t, err)
	must(t, decode(e.body, hourFields, &gotHour))
	if diff := cmp.Diff(h, gotHour); diff != "" {
		t.Errorf("hour (-written +read):\n%s", diff)
	}
	if a := absent(t, e, HourColumns()); !slices.Equal(a, []string{"rtt_histogram_2", "rtt_histogram_3", "rtt_histogram_4"}) {
		t.Errorf("columns %q are absent", a)
	}
	if n := len(HourColumns()); n > maxProperties/2 {
		t.Errorf("%d columns", n)
	}
	var p, gotProfile Profile
	fillColumns(profileFields, &p)
	e, err = encode("p", "r", profileFields, &p)
	must(t, err)
	must(t, decode(e.body, profileFields, &gotProfile))
	if diff := cmp.Diff(p, gotProfile); diff != "" {
		t.Errorf("profile (-written +read):\n%s", diff)
	}
	if a := absent(t, e, ProfileColumns()); len(a) != 0 {
		t.Errorf("columns %q are absent", a)
	}
	e, err = encode("p", "r", hourFields, &Hour{Begin: hour0, First: hour0, Last: hour0})
	must(t, err)
	for _, c := range HourColumns() {
		if strings.Contains(string(e.body), `"`+c.Name+`":`) && !slices.Contains([]string{"hour", "run_count", "first_slot", "last_slot", "runs_degraded_count"}, c.Name) {
			t.Errorf("an empty hour has %s", c.Name)
		}
	}
}

func TestKeysOfHoursAndProfilesAreThoseOfFormats(t *testing.T) {
	s := seriesOf("test", "westeurope", "eastus")
	row, err := HourRow(s, hour0)
	if want := fmt.Sprintf("eastus|public|tcp-64|%d", 9_999_999_999-hour0.Unix()); err != nil || row != want {
		t.Errorf("%q, %v; want %q", row, err, want)
	}
	if back, err := HourOfRow(row); err != nil || !back.Equal(hour0) {
		t.Errorf("read back as %s, %v", back, err)
	}
	if row, err := ProfileRow(s, 7); err != nil || row != "eastus|public|tcp-64|07" {
		t.Errorf("%q, %v", row, err)
	}
	if _, err := HourRow(s, hour0.Add(time.Minute)); err == nil {
		t.Error("an hour that is not whole has a key")
	}
	if _, err := ProfileRow(s, 24); err == nil {
		t.Error("hour 24 of the day has a key")
	}
	for _, bad := range []string{"", "a|b|c|12345", "a|b|c|12345678x0", "eastus|public|tcp-64|-000000001"} {
		if at, err := HourOfRow(bad); err == nil {
			t.Errorf("%q is of %s", bad, at)
		}
	}
}

func hourAt(s wire.Series, begin time.Time) *Hour {
	return &Hour{Series: s, Begin: begin, Kind: wire.KindTCP, Inputs: begin.Format(time.RFC3339), Runs: 1, First: begin, Last: begin}
}

// Hours of two years, more than a batch takes, in the order of their keys.
func TestHoursAreReadAcrossYearsAndByName(t *testing.T) {
	s := newStore(t)
	ctx := background(t)
	newYear := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	var cs []HourChange
	for i := range 130 {
		for _, target := range []string{"eastus", "uksouth"} {
			begin := newYear.Add(time.Duration(i-65) * time.Hour)
			cs = append(cs, HourChange{Put: hourAt(seriesOf(s.environment, "westeurope", target), begin), Begin: begin})
		}
	}
	must(t, s.WriteHours(ctx, cs))
	q := HourQuery{Source: "westeurope", Since: newYear.Add(-65 * time.Hour), Until: newYear.Add(65 * time.Hour)}
	for _, c := range []struct {
		change func(*HourQuery)
		want   int
	}{
		{func(*HourQuery) {}, 260}, {func(q *HourQuery) { q.Target = "eastus" }, 130}, {func(q *HourQuery) { q.Probe = "udp" }, 0}, {func(q *HourQuery) { q.Path = "public" }, 260},
		{func(q *HourQuery) { q.Since, q.Until = newYear, newYear.Add(time.Hour) }, 2}, {func(q *HourQuery) { q.Until = newYear }, 130}, {func(q *HourQuery) { q.Source = "eastus" }, 0},
	} {
		q := q
		c.change(&q)
		hours, err := collect(s.Hours(ctx, q))
		must(t, err)
		if len(hours) != c.want {
			t.Errorf("%+v: %d hours, want %d", q, len(hours), c.want)
		}
		if !slices.IsSortedFunc(hours, func(a, b Hour) int {
			if a.Series.Target != b.Series.Target {
				return strings.Compare(a.Series.Target, b.Series.Target)
			}
			return b.Begin.Compare(a.Begin)
		}) {
			t.Errorf("%+v: not in the order of the keys", q)
		}
	}
	stamps, err := s.HourStamps(ctx, "westeurope", newYear.Add(-time.Hour), newYear.Add(time.Hour))
	if err != nil || len(stamps) != 4 || stamps[1].Inputs != "2026-12-31T23:00:00Z" || stamps[1].ETag == "" {
		t.Errorf("stamps %+v, %v", stamps, err)
	}
}

func TestHoursOfAnotherEnvironmentAreRefused(t *testing.T) {
	s := newStore(t)
	ctx := background(t)
	for what, err := range map[string]error{
		"an hour":             s.WriteHours(ctx, []HourChange{{Put: hourAt(seriesOf("prod", "westeurope", "eastus"), hour0), Begin: hour0}}),
		"a profile":           s.WriteProfiles(ctx, []ProfileChange{{Put: &Profile{Series: seriesOf("prod", "westeurope", "eastus"), Since: hour0, Until: hour0}}}),
		"a source's name":     s.MarkHours(ctx, "o'hare", []time.Time{hour0}),
		"an hour in part":     s.MarkHours(ctx, "westeurope", []time.Time{slot0}),
		"an unread mark":      second(s.ClearHour(ctx, HourMark{Source: "westeurope", Begin: hour0})),
		"an unread deletion":  s.WriteHours(ctx, []HourChange{{Source: "westeurope", Begin: hour0, Was: Stamp{Row: "a|b|c|1"}}}),
		"a source to follow":  s.KeepProfiles(ctx, "A"),
		"stamps of a source":  second(s.HourStamps(ctx, "x' or 1 eq 1", hour0, hour0)),
		"hours of a source":   second(collect(s.Hours(ctx, HourQuery{Source: "x'", Since: hour0, Until: hour0}))),
		"hours without times": second(collect(s.Hours(ctx, HourQuery{Source: "westeurope"}))),
	} {
		if err == nil || !errors.Is(err, ErrRefused) && !strings.Contains(err.Error(), "want a lower-case letter") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestTheSourcesAndMonthsOfRunsAreFound(t *testing.T) {
	s := newStore(t)
	ctx := background(t)
	if since, until, err := s.RunMonths(ctx); err != nil || !since.IsZero() || !until.IsZero() {
		t.Errorf("without runs: %s to %s, %v", since, until, err)
	}
	for i, source := range []string{"westeurope", "eastus", "uksouth", "eastus"} {
		must(t, s.AddExpired(ctx, []result.Result{expired(seriesOf(s.environment, source, "norwayeast"), slot0.AddDate(0, i, 0)), expired(seriesOf(s.environment, source, "norwaywest"), slot0)}))
	}
	since, until, err := s.RunMonths(ctx)
	if err != nil || !since.Equal(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)) || !until.Equal(time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC)) {
		// slot0 and three months is the 2nd of March
		t.Errorf("%s to %s, %v", since, until, err)
	}
	for _, c := range []struct {
		until time.Time
		want  string
	}{{until, "eastus uksouth westeurope"}, {time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), "eastus uksouth westeurope"}} {
		got, err := s.RunSources(ctx, since, c.until)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("sources until %s are %q, %v", c.until, got, err)
		}
	}
	if got, err := s.RunSources(ctx, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil || strings.Join(got, " ") != "eastus" {
		t.Errorf("sources of December are %q, %v", got, err)
	}
}

// An answer that was lost on a bad connection may show as a change by somebody else; what is stored is
// right all the same.
func TestHoursOverABadConnection(t *testing.T) {
	bad, good, _ := newFlaky(t, 5)
	ctx := background(t)
	series := seriesOf(good.environment, "westeurope", "eastus")
	for round := range 8 {
		begin := hour0.Add(time.Duration(round) * time.Hour)
		must(t, bad.MarkHours(ctx, "westeurope", []time.Time{begin}))
		must(t, bad.KeepProfiles(ctx, "westeurope"))
		if err := bad.WriteHours(ctx, []HourChange{{Put: hourAt(series, begin), Begin: begin}}); err != nil && !errors.Is(err, ErrChanged) {
			t.Fatal(err)
		}
	}
	marks, err := bad.HourMarks(ctx)
	must(t, err)
	for _, m := range marks {
		_, err := bad.ClearHour(ctx, m)
		must(t, err)
	}
	hours, err := collect(good.Hours(ctx, HourQuery{Source: "westeurope", Since: hour0, Until: hour0.Add(8 * time.Hour)}))
	must(t, err)
	left, err := good.HourMarks(ctx)
	must(t, err)
	if len(hours) != 8 || len(marks) != 8 || len(left) != 0 {
		t.Errorf("%d hours, %d marks, of which %d are left", len(hours), len(marks), len(left))
	}
}
