package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const zonePrefix = "CRON_TZ="

// A field of a schedule, as far as its form goes: robfig/cron overlooks an empty part ("1,,2"),
// an end behind a star ("*-5") and a sign.
var (
	fieldForm = regexp.MustCompile(`^(?:` + partForm + `)(?:,(?:` + partForm + `))*$`)
	stepForm  = regexp.MustCompile(`^(\*|\?|\d{1,2})(?:-(\d{1,2}))?/(\d{1,4})$`)
	// Region/City, and UTC. Not Local, which is another zone on every machine; not the
	// lower-case folders (posix, right) that only some machines have.
	zoneForm = regexp.MustCompile(`^(UTC|[A-Z][A-Za-z_]*(/[A-Z][A-Za-z0-9_+-]*)+)$`)
)

const partForm = `(?:[*?]|(?:\d{1,2}|[A-Za-z]{3})(?:-(?:\d{1,2}|[A-Za-z]{3}))?)(?:/\d{1,4})?`

var fields = []struct {
	name        string
	least, most int
}{{"minute", 0, 59}, {"hour", 0, 23}, {"day of the month", 1, 31}, {"month", 1, 12}, {"day of the week", 0, 6}}

// parseSchedule reads five cron fields, with CRON_TZ=Region/City in front where the schedule
// is not meant in UTC. The zone is taken off before the fields reach robfig/cron: its parser
// panics on a zone without a field behind it.
//
// As in crontab(5), a schedule that limits both the day of the month and the day of the week is
// due when either fits. When clocks go forward the minutes that are left out are not due; when
// they go back those that are repeated are due twice.
func parseSchedule(text string) (*cron.SpecSchedule, error) {
	words := strings.Fields(text)
	zone := time.UTC
	if len(words) > 0 && strings.Contains(words[0], "=") {
		var err error
		if zone, err = parseZone(words[0]); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	if len(words) > 0 && strings.HasPrefix(words[0], "@") {
		return nil, fmt.Errorf("%s is not read: want five fields, such as 0 * * * *", quote(words[0]))
	}
	if len(words) != len(fields) {
		return nil, fmt.Errorf("has %d fields: want five (minute, hour, day of the month, month, day of the week)", len(words))
	}
	for i, word := range words {
		if err := checkField(i, word); err != nil {
			return nil, err
		}
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(strings.Join(words, " "))
	if err != nil {
		return nil, err
	}
	schedule, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("is not a schedule of five fields")
	}
	schedule.Location = zone // the parser's default is the zone of whoever asks
	if schedule.Next(scheduleEpoch).IsZero() {
		return nil, errors.New("is never due: no month has such a day")
	}
	return schedule, nil
}

func parseZone(word string) (*time.Location, error) {
	name, ok := strings.CutPrefix(word, zonePrefix)
	if !ok {
		return nil, fmt.Errorf("begins with %s: want five fields, with %sRegion/City in front where UTC is not meant", quote(word), zonePrefix)
	}
	if !zoneForm.MatchString(name) {
		return nil, fmt.Errorf("time zone %s: want %sRegion/City, such as %sEurope/Amsterdam", quote(name), zonePrefix, zonePrefix)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %s is not in the time zone database", quote(name))
	}
	return zone, nil
}

func checkField(i int, word string) error {
	f := fields[i]
	if !fieldForm.MatchString(word) {
		return fmt.Errorf("%s %s: want *, a number, a range such as 1-5, a step such as */10, or several with commas", f.name, quote(word))
	}
	if f.name == "day of the week" && strings.Contains(word, "7") {
		return fmt.Errorf("%s %s: want 0 to 6; Sunday is 0", f.name, quote(word))
	}
	for part := range strings.SplitSeq(word, ",") {
		if err := checkStep(f.name, part, f.least, f.most); err != nil {
			return err
		}
	}
	return nil
}

// checkStep refuses a step that is longer than its range: */90 in the minutes is not every
// ninety minutes, but minute 0 alone.
func checkStep(name, part string, least, most int) error {
	m := stepForm.FindStringSubmatch(part)
	if m == nil {
		return nil
	}
	from, to := least, most
	if v, err := strconv.Atoi(m[1]); err == nil {
		from = v
	}
	if v, err := strconv.Atoi(m[2]); err == nil {
		to = v
	}
	if step, _ := strconv.Atoi(m[3]); step > 1 && step > to-from {
		return fmt.Errorf("%s %s: a step of %d goes beyond %d, so this means %d alone", name, quote(part), step, to, from)
	}
	return nil
}

// scheduleEpoch is where schedules are tried from: a fixed time, so that a file that was valid
// once stays valid. The five years that robfig/cron searches hold a leap day.
var (
	scheduleEpoch   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	scheduleHorizon = scheduleEpoch.AddDate(5, 0, 0)
)

// tooClose finds two due times that follow each other in less than span, which is at most
// MaxSpan.
func tooClose(s *cron.SpecSchedule, span time.Duration) (first, second time.Time, found bool) {
	// The pattern of a day shows at any day that is due at all, and every day is over after
	// 1,440 due times.
	const tries = 1500
	if first, second, found = tooCloseFrom(s, scheduleEpoch, scheduleHorizon, span, tries); found {
		return first, second, true
	}
	// Where clocks go back, times that are a day apart on paper follow each other within the
	// hour.
	for change := nextChange(scheduleEpoch.In(s.Location)); !change.IsZero() && change.Before(scheduleHorizon); change = nextChange(change) {
		if first, second, found = tooCloseFrom(s, change.Add(-MaxSpan), change.Add(MaxSpan), span, tries); found {
			return first, second, true
		}
	}
	return first, second, false
}

func tooCloseFrom(s *cron.SpecSchedule, from, until time.Time, span time.Duration, tries int) (first, second time.Time, found bool) {
	first = s.Next(from.UTC())
	for range tries {
		if second = s.Next(first); first.IsZero() || second.IsZero() || first.After(until) {
			break
		}
		if second.Sub(first) < span {
			return first, second, true
		}
		first = second
	}
	return first, second, false
}

// nextChange is when the time zone's clocks change next; the zero time when they never do.
func nextChange(t time.Time) time.Time {
	_, end := t.ZoneBounds()
	return end
}
