package ncrontab

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func at(t testing.TB, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.DateTime, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func parsed(t testing.TB, spec string) Schedule {
	t.Helper()
	s, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNextIsTheFirstOccurrenceAfter(t *testing.T) {
	for _, c := range []struct{ spec, after, want string }{
		{"0 */5 * * * *", "2026-11-30 10:04:59", "2026-11-30 10:05:00"},
		{"0 */5 * * * *", "2026-11-30 10:05:00", "2026-11-30 10:10:00"}, // not the base itself
		{"*/10 * * * * *", "2026-11-30 23:59:50", "2026-12-01 00:00:00"},
		{"0 0 0 1 1 *", "2026-01-01 00:00:00", "2027-01-01 00:00:00"},
		{"30 30 22 * * *", "2026-11-30 23:30:10", "2026-12-01 22:30:30"},
		{"0 30 9 * * 1-5", "2026-12-04 09:30:00", "2026-12-07 09:30:00"}, // Friday to Monday
		{"0 0 0 31 * *", "2026-01-31 00:00:00", "2026-03-31 00:00:00"},
		{"0 0 0 29 2 *", "2024-02-29 00:00:00", "2028-02-29 00:00:00"},
		{"0 0 0 29 2 *", "2096-02-29 00:00:00", "2104-02-29 00:00:00"}, // 2100 is no leap year
		{"0 0 0 29 2 0", "2088-02-29 00:00:00", "2128-02-29 00:00:00"}, // Sundays: forty years apart
		// Both day fields must hold: Friday the 13th, not every Friday and every 13th.
		{"0 0 0 13 * 5", "2026-01-01 00:00:00", "2026-02-13 00:00:00"},
		{"0 0 0 13 * FRI", "2026-03-13 00:00:00", "2026-11-13 00:00:00"},
		{"0 0 12 1-7 Ju MON", "2026-01-01 00:00:00", "2026-06-01 12:00:00"}, // Ju is June
		{"5/20 0 0 * * *", "2026-05-05 00:00:05", "2026-05-05 00:00:25"},
		{"0 10-40/15 3 * * *", "2026-05-05 03:10:00", "2026-05-05 03:25:00"},
		{"0 0 0 * jan,DeC sunday", "2026-01-25 00:00:00", "2026-12-06 00:00:00"},
	} {
		s := parsed(t, c.spec)
		if got := s.Next(at(t, c.after)).Format(time.DateTime); got != c.want {
			t.Errorf("%s after %s: got %s, want %s", c.spec, c.after, got, c.want)
		}
	}
}

func TestPrevIsTheLastOccurrenceBefore(t *testing.T) {
	for _, c := range []struct{ spec, before, want string }{
		{"0 */5 * * * *", "2026-11-30 10:05:00", "2026-11-30 10:00:00"},
		{"0 */5 * * * *", "2026-11-30 10:05:01", "2026-11-30 10:05:00"},
		{"0 0 0 1 1 *", "2026-01-01 00:00:00", "2025-01-01 00:00:00"},
		{"0 0 0 31 * *", "2026-03-31 00:00:00", "2026-01-31 00:00:00"},
		{"0 0 0 29 2 *", "2104-02-29 00:00:00", "2096-02-29 00:00:00"},
		{"0 0 0 29 2 0", "2128-02-29 00:00:00", "2088-02-29 00:00:00"},
		{"0 0 0 13 * 5", "2026-02-13 00:00:00", "2025-06-13 00:00:00"},
		{"*/7 59 23 * * *", "2026-12-01 00:00:00", "2026-11-30 23:59:56"},
	} {
		s := parsed(t, c.spec)
		if got := s.Prev(at(t, c.before)).Format(time.DateTime); got != c.want {
			t.Errorf("%s before %s: got %s, want %s", c.spec, c.before, got, c.want)
		}
	}
}

func TestFractionsOfASecondCountAndOtherZonesDoNot(t *testing.T) {
	s := parsed(t, "*/5 * * * * *")
	base := at(t, "2026-11-30 10:00:05")
	if got := s.Next(base.Add(-time.Millisecond)); !got.Equal(base) {
		t.Errorf("a millisecond before an occurrence: got %s, want %s", got, base)
	}
	if got := s.Prev(base.Add(time.Nanosecond)); !got.Equal(base) {
		t.Errorf("a nanosecond after an occurrence: got %s, want %s", got, base)
	}
	daily := parsed(t, "0 0 0 * * *")
	india := base.In(time.FixedZone("", 5*3600+1800))
	if got, want := daily.Next(india), at(t, "2026-12-01 00:00:00"); !got.Equal(want) || got.Location() != time.UTC {
		t.Errorf("from another zone: got %s, want %s in UTC", got, want)
	}
}

func TestTheEndsOfTimeAreZero(t *testing.T) {
	s := parsed(t, "0 0 0 * * *")
	if got := s.Next(at(t, "9999-12-31 00:00:00")); !got.IsZero() {
		t.Errorf("after the last day: got %s", got)
	}
	if got := s.Prev(time.Time{}); !got.IsZero() {
		t.Errorf("before the first instant: got %s", got)
	}
	far := time.Unix(1<<55, 0)
	if got := s.Next(far); !got.IsZero() {
		t.Errorf("after a year that the host has not: got %s", got)
	}
	if got := (Schedule{}).Next(at(t, "2026-01-01 00:00:00")); !got.IsZero() {
		t.Errorf("the zero schedule has an occurrence: %s", got)
	}
	if got := (Schedule{}).Prev(at(t, "2026-01-01 00:00:00")); !got.IsZero() {
		t.Errorf("the zero schedule had an occurrence: %s", got)
	}
}

func TestErrorsNameTheFieldAndThePart(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"", `want 6 fields (second, minute, hour, day, month, day of the week), got 0`},
		{"*/5 * * * *", `want 6 fields (second, minute, hour, day, month, day of the week), got 5; five are cron's: put the second in front`},
		{"0 0 0 * * * 2026", `want 6 fields (second, minute, hour, day, month, day of the week), got 7`},
		{"@every 5m", `NCRONTAB has no words with @: write six fields`},
		{"TZ=UTC 0 0 0 * * *", `NCRONTAB has no time zone: times are UTC`},
		{"CRON_TZ=UTC 0 0 0 * * *", `NCRONTAB has no time zone: times are UTC`},
		{"60 0 0 * * *", `second "60": "60": want 0 to 59`},
		{"0 -1 0 * * *", `minute "-1": a value is missing`},
		{"0 0 24 * * *", `hour "24": "24": want 0 to 23`},
		{"0 0 0 0 * *", `day "0": "0": want 1 to 31`},
		{"0 0 0 * 13 *", `month "13": "13": want 1 to 12`},
		{"0 0 0 * * 7", `day of the week "7": "7": want 0 to 6`},
		{"0 0 0 ? * *", `day "?": NCRONTAB has no ?: write *`},
		{"0 0 0 L * *", `day "L": "L": want 1 to 31`},
		{"0 0 0 * * 5#3", `day of the week "5#3": "5#3": not a number`},
		{"0 0 0 15W * *", `day "15W": "15W": not a number`},
		{"0 0 0 * Janet *", `month "Janet": "Janet": want 1 to 12, or the beginning of a name from January to December`},
		{"0 0 0 * * sundays", `day of the week "sundays": "sundays": want 0 to 6, or the beginning of a name from Sunday to Saturday`},
		{"*/0 0 0 * * *", `second "*/0": step "0": want at least 1`},
		{"*/ 0 0 * * *", `second "*/": step "": a number is missing`},
		{"*/-5 0 0 * * *", `second "*/-5": step "-5": not a number`},
		{"1/2/3 0 0 * * *", `second "1/2/3": step "2/3": not a number`},
		{"/5 0 0 * * *", `second "/5": a value is missing`},
		{"0 50-10 0 * * *", `minute "50-10": range "50-10" runs backwards (the host would turn it round, to 10-50)`},
		{"0 0 0 * * FRI-MON", `day of the week "FRI-MON": range "FRI-MON" runs backwards (the host would turn it round, to MON-FRI)`},
		{"0 1-2-3 0 * * *", `minute "1-2-3": "2-3": not a number`},
		{"0 1, 0 * * *", `minute "1,": a value is missing`},
		{"0 ,1 0 * * *", `minute ",1": a value is missing`},
		{"0\t0 0 0 * * *", `second "0\t0": "0\t0": not a number`},
		{"0 99999999999999999999 0 * * *", `minute "99999999999999999999": "99999999999999999999": want 0 to 59`},
		{"0 0 0 30 2 *", `day "30" in month "2" never comes`},
		{"0 0 0 31 4,6,SEP,Nov *", `day "31" in month "4,6,SEP,Nov" never comes`},
		{"%SWEEP_SCHEDULE%", `want 6 fields (second, minute, hour, day, month, day of the week), got 1`},
	} {
		_, err := Parse(c.spec)
		if want := fmt.Sprintf("parsing schedule %q: %s", c.spec, c.want); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", c.spec, err, want)
		}
	}
	if _, err := Parse(strings.Repeat("0", maxSpec+1)); err == nil || !strings.HasSuffix(err.Error(), "longer than 1024 bytes") {
		t.Errorf("a long expression: %v", err)
	}
}

func TestSpacesMayRepeat(t *testing.T) {
	s := parsed(t, "  0  30 9   * * * ")
	if got, want := s.Next(at(t, "2026-11-30 00:00:00")), at(t, "2026-11-30 09:30:00"); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if s.String() != "  0  30 9   * * * " {
		t.Errorf("String is %q", s.String())
	}
}

// holds is the definition, independent of the evaluator: a field's text, a value, and whether
// the one names the other.
func holds(text string, v, low, high int) bool {
	for _, element := range strings.Split(text, ",") {
		from, to, step := low, high, 1
		switch n, _ := fmt.Sscanf(element, "%d-%d/%d", &from, &to, &step); {
		case n >= 2:
		case strings.HasPrefix(element, "*"):
			from, to = low, high
			_, _ = fmt.Sscanf(element, "*/%d", &step)
		default:
			if n, _ := fmt.Sscanf(element, "%d/%d", &from, &step); n == 1 {
				to = from
			}
		}
		if v >= from && v <= to && (v-from)%step == 0 {
			return true
		}
	}
	return false
}

// definition is what an expression's text means, value by value.
type definition [6][60]bool

func define(parts []string) (d definition) {
	for i, low := range []int{0, 0, 0, 1, 1, 0} {
		high := []int{59, 59, 23, 31, 12, 6}[i]
		for v := low; v <= high; v++ {
			d[i][v] = holds(parts[i], v, low, high)
		}
	}
	return d
}

func (d *definition) occurs(t time.Time) bool {
	return d[0][t.Second()] && d[1][t.Minute()] && d[2][t.Hour()] && d[3][t.Day()] && d[4][t.Month()] && d[5][t.Weekday()]
}

func randomField(r *rand.Rand, low, high int) string {
	var elements []string
	for range 1 + r.IntN(2) {
		a, b := low+r.IntN(high-low+1), low+r.IntN(high-low+1)
		if a > b {
			a, b = b, a
		}
		elements = append(elements, []string{
			"*", fmt.Sprint(a), fmt.Sprintf("%d-%d", a, b), fmt.Sprintf("*/%d", 1+r.IntN(high)),
			fmt.Sprintf("%d/%d", a, 1+r.IntN(high)), fmt.Sprintf("%d-%d/%d", a, b, 1+r.IntN(9)),
		}[r.IntN(6)])
	}
	return strings.Join(elements, ",")
}

// Second by second over four hours, and minute by minute over forty days, Next and Prev find
// exactly the instants that satisfy the definition.
func TestNextAndPrevAgreeWithScanningEveryInstant(t *testing.T) {
	r := rand.New(rand.NewPCG(2026, 11))
	for i := range 120 {
		unit, span := time.Second, 4*time.Hour
		parts := []string{randomField(r, 0, 59), randomField(r, 0, 59), "*", "*", "*", "*"}
		if i%2 == 1 {
			unit, span = time.Minute, 40*24*time.Hour
			parts = []string{"0", randomField(r, 0, 59), randomField(r, 0, 23), randomField(r, 1, 28), "*", randomField(r, 0, 6)}
		}
		spec := strings.Join(parts, " ")
		s, d := parsed(t, spec), define(parts)
		from := time.Date(2024, time.February, 1+r.IntN(28), r.IntN(24), 0, 0, 0, time.UTC)
		next := s.Next(from.Add(-time.Second))
		previous := time.Time{}
		for instant := from; instant.Before(from.Add(span)); instant = instant.Add(unit) {
			if got, want := next.Equal(instant), d.occurs(instant); got != want {
				t.Fatalf("%q at %s: Next says %v, the definition %v", spec, instant, got, want)
			}
			if next.Equal(instant) {
				if back := s.Prev(instant); !previous.IsZero() && !back.Equal(previous) {
					t.Fatalf("%q before %s: Prev says %s, want %s", spec, instant, back, previous)
				}
				previous, next = instant, s.Next(instant)
			}
		}
	}
}

func FuzzParseIsTotalAndBounded(f *testing.F) {
	for _, seed := range []string{"0 */5 * * * *", "0 0 0 29 2 0", "*/7 1-9/2 3,4 J-D * MON-FRI", "0 0 0 31 6 *", "@daily", "TZ=UTC", "1-/ , * * * *", "0 0 0 ? * 7"} {
		f.Add(seed, int64(1_796_000_000))
	}
	f.Fuzz(func(t *testing.T, spec string, unix int64) {
		s, err := Parse(spec)
		if err != nil {
			if s != (Schedule{}) {
				t.Fatalf("%q: a schedule beside the error %v", spec, err)
			}
			return
		}
		base := time.Unix(unix%250_000_000_000, 0)
		next := s.Next(base)
		if next.IsZero() {
			if base.UTC().Year() > 1 && base.UTC().Year() < lastYear-horizon {
				t.Fatalf("%q has no occurrence after %s", spec, base.UTC())
			}
			return
		}
		if !next.After(base) || !s.onDay(next) || !has(s.hour, next.Hour()) || !has(s.minute, next.Minute()) || !has(s.second, next.Second()) {
			t.Fatalf("%q after %s: %s is no occurrence", spec, base.UTC(), next)
		}
		if back := s.Prev(next.Add(time.Nanosecond)); !back.Equal(next) {
			t.Fatalf("%q: Prev right after %s is %s", spec, next, back)
		}
		if back := s.Prev(next); back.After(base) {
			t.Fatalf("%q: %s lies between %s and Next's %s", spec, back, base.UTC(), next)
		}
	})
}

func BenchmarkNextOfTheRarestDate(b *testing.B) {
	s := parsed(b, "0 0 0 29 2 0")
	base := at(b, "2088-02-29 00:00:00")
	for b.Loop() {
		s.Next(base)
	}
}
