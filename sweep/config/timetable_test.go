package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"isochrone/prober/wire"
)

// asked is a schedule that counts how often it is asked.
type asked struct {
	cron.Schedule
	times *int
}

func (a asked) Next(t time.Time) time.Time {
	*a.times++
	return a.Schedule.Next(t)
}

// A day of rounds beside schedules that are due often, or so seldom that finding out takes long: each is
// asked about once a slot, and not once a round.
func TestATimetableAsksSchedulesOnceASlot(t *testing.T) {
	c := &Config{Timing: Timing{Lead: 30 * time.Second, Late: 10 * time.Second}}
	often, seldom, rounds := 0, 0, 0
	for text, times := range map[string]*int{"*/10 * * * *": &often, "0 0 29 2 *": &seldom} {
		s, err := parseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		c.Probes = append(c.Probes, Probe{Name: text, Cron: asked{s, times}, Spec: wire.Spec{Kind: wire.KindConnect, Count: 1, Interval: time.Millisecond, Timeout: time.Second}})
	}
	slot := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	tt := c.timetable(slot, slot)
	for !tt.next(20 * time.Second).IsZero() {
		rounds++
	}
	const slots = 24 * 6
	if rounds < 20*slots || often < slots || often > 3*slots || seldom > 10 {
		t.Errorf("%d rounds beside %d slots: the schedules were asked %d and %d times", rounds, slots, often, seldom)
	}
}

// Where nothing fits, a few of the probes say so: finding out takes long, and what is done about these changes
// the others.
func TestOfManyProbesWithoutATimeAFewAreReported(t *testing.T) {
	file := string(read(t, "bad/bulk-no-gap.yaml"))
	probe := file[strings.Index(file, "  - name: bulk"):]
	body := file
	for n := range 8 {
		body += strings.Replace(probe, "name: bulk", fmt.Sprintf("name: bulk%d", n), 1)
	}
	_, err := Parse([]byte(body))
	if err == nil {
		t.Fatal("accepted")
	}
	if n := strings.Count(err.Error(), "leaves no gap"); n != maxUnfit {
		t.Errorf("%d are reported, want %d: %s", n, maxUnfit, err)
	}
}
