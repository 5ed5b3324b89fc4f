package foreign

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// connMonitorOrder is what the rows say of the order of day and month in dates with slashes.
type connMonitorOrder struct{ dayFirst, monthFirst bool }

// connMonitorDate is a time whose date is written with slashes, in the zone of offset.
type connMonitorDate struct {
	a, b, year int // the first two numbers of the date
	clock      time.Duration
	offset     time.Duration
}

// The portal writes times as the browser's locale does: 11/30/2026, 10:00:00.000 AM or
// 30/11/2026, 10:00:00.000; some put a narrow space in front of AM.
var connMonitorSlashedForm = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})/(\d{4}),? (\d{1,2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))? ?([AaPp]\.?[Mm]\.?)?$`)

// connMonitorLayouts are the other forms that are read. The column holds UTC, and only a portal's export
// converts it: there the header names the zone.
var connMonitorLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}

// began sets when a row's checks were made: when its record was written, which is all that it tells.
func (c *connMonitorReader) began(f *Finding, note *connMonitorNote, r *connMonitorRow) error {
	q := r.get("TimeGenerated", "")
	if !q.there() {
		return &Fault{Offset: NoOffset, Where: q.Where, Reason: "the row has no time"}
	}
	text := strings.Join(strings.Fields(strings.NewReplacer("\u202f", " ", "\u00a0", " ").Replace(q.Text)), " ")
	offset, zoned := connMonitorZone(r.zone)
	for i, layout := range connMonitorLayouts {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if i >= 2 && r.zone != "" {
			if !zoned {
				return q.fault("the times are of the zone %.40q: export them in UTC", r.zone)
			}
			at = at.Add(-offset)
		}
		f.began(at, q)
		return nil
	}
	m := connMonitorSlashedForm.FindStringSubmatch(text)
	switch {
	case m == nil:
		return q.fault("%.60q is no time that is known", q.Text)
	case !zoned && r.zone == "":
		return q.fault("%.60q is of no zone that the header names: export it in UTC", q.Text)
	case !zoned:
		return q.fault("the times are of the zone %.40q: export them in UTC", r.zone)
	}
	s, err := connMonitorSlashed(m)
	if err != "" {
		return q.fault("%.60q: %s", q.Text, err)
	}
	s.offset = offset
	switch {
	case s.a > 12:
		c.order.dayFirst = true
	case s.b > 12 || m[8] == "AM" || m[8] == "PM":
		// Of the English locales only those that write the month first write AM and PM in capitals.
		c.order.monthFirst = true
	}
	note.date, note.time = s, q
	return nil
}

// connMonitorZone is the offset from UTC of a zone that a header names.
func connMonitorZone(zone string) (time.Duration, bool) {
	if zone == "UTC" || zone == "GMT" || zone == "Z" {
		return 0, true
	}
	sign, ok := strings.CutPrefix(zone, "UTC")
	if !ok {
		return 0, false
	}
	at, err := time.Parse("-07:00", strings.TrimSpace(sign))
	if err != nil {
		return 0, false
	}
	_, seconds := at.Zone()
	return time.Duration(seconds) * time.Second, true
}

func connMonitorSlashed(m []string) (s connMonitorDate, err string) {
	var hour, minute, second int
	for i, at := range []*int{&s.a, &s.b, &s.year, &hour, &minute, &second} {
		for _, digit := range m[i+1] {
			*at = *at*10 + int(digit-'0')
		}
	}
	half := strings.ToLower(strings.ReplaceAll(m[8], ".", ""))
	switch {
	case s.a < 1 || s.b < 1 || s.a > 31 || s.b > 31 || s.a > 12 && s.b > 12 || hour > 23 || minute > 59 || second > 59 || half != "" && (hour < 1 || hour > 12):
		return s, "there is no such time"
	case half == "am" && hour == 12:
		hour = 0
	case half == "pm" && hour < 12:
		hour += 12
	}
	nanos, place := 0, 1_000_000_000
	for _, digit := range m[7] {
		place /= 10
		nanos += int(digit-'0') * place
	}
	s.clock = time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second + time.Duration(nanos)
	return s, ""
}

// at is the time, or false where there is no such day, or where nobody can say which number is the day.
func (s connMonitorDate) at(o connMonitorOrder) (time.Time, string) {
	day, month := s.a, s.b
	switch {
	case o.dayFirst && o.monthFirst:
		return time.Time{}, "some rows write the day first and some the month"
	case o.monthFirst:
		day, month = s.b, s.a
	case !o.dayFirst && s.a != s.b:
		return time.Time{}, fmt.Sprintf("no row shows whether %d or %d is the day: export times as 2026-11-30T10:00:00Z, or more days", s.a, s.b)
	}
	t := time.Date(s.year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if t.Day() != day || int(t.Month()) != month {
		return time.Time{}, "there is no such day"
	}
	return t.Add(s.clock - s.offset), ""
}
