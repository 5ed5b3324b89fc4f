package main

import (
	"fmt"
	"time"
)

// figure prints a BENCH line and says whether the value reaches its bar.
func (m *month) figure(name string, value float64, unit string, bar string, ok bool) bool {
	word := "ok"
	if !ok {
		word = "short"
	}
	m.say("BENCH soak_%s %.4g %s %s %s", name, value, unit, bar, word)
	return ok
}

// report prints what came of the month, and says whether everything holds.
func (m *month) report(v *verdict, took time.Duration) bool {
	t := m.tally
	requests, faults, counts := m.weather.told()
	m.say("\n%-34s %d of %d days, %d slots from %s to %s", "simulated", int(m.end.Sub(m.start)/(24*time.Hour)), m.days, t.slots,
		m.start.Format(time.RFC3339), m.end.Format(time.RFC3339))
	m.say("%-34s %d requests, %d faults", "storage", requests, faults)
	for f, n := range counts {
		if n > 0 {
			m.say("%-34s %d", "  "+faultNames[f], n)
		}
	}
	m.say("%-34s %d of the handler, %d of probers", "killed", t.killedHandlers, t.killedProbers)
	m.say("%-34s %d", "clocks that jumped", t.jumps)
	m.say("%-34s %d, and %d of the app", "outages of all storage", t.outages, t.awake)
	m.say("%-34s %d", "ticks that failed", t.failedTicks)
	m.say("%-34s %d planned, %d missed", "slots", v.slots-v.missed-v.wrong[wrongUnrecorded], v.missed)
	m.say("%-34s %d planned, %d rows, %d of them expired", "runs", v.planned, v.rows, v.expired)
	m.say("%-34s %d, with %d samples", "documents", v.documents, v.samples)
	m.say("%-34s %d", "second documents, in quarantine", v.conflicts)
	m.say("%-34s %d, %d of them refused once by a handler whose clock was behind", "documents of strangers", v.foreign, v.early)
	m.say("%-34s %d garbage, %d stored before", "planted in the inbox", len(m.garbage), m.again)
	m.say("%-34s %d", "hours", v.hours)
	m.say("%-34s %d; %d documents have their samples there alone", "files of the lake", v.lakeFiles, v.pruned)
	for _, c := range v.cases {
		m.say("WRONG %s", c)
	}
	holds := m.figure("days", float64(int(m.end.Sub(m.start)/(24*time.Hour))), "days", fmt.Sprint(m.days), !m.end.Before(m.start.AddDate(0, 0, m.days)))
	for _, name := range wrongs {
		holds = m.figure(name, float64(v.wrong[name]), "count", "0", v.wrong[name] == 0) && holds
	}
	holds = m.growths() && holds
	m.figure("seconds", took.Seconds(), "s", "-", true)
	return holds
}

// growths prints what those hold that were never killed.
func (m *month) growths() bool {
	holds := true
	for _, who := range []string{"handler", "prober"} {
		for _, h := range held {
			second, last := growth(m.weighs, who, h.of, h.middle)
			if second == 0 {
				m.say("growth of the %s's %s is not judged: too few weighings", who, h.name)
				continue
			}
			m.say("%-34s %.4g %s in the second quarter, %.4g in the last", who+"'s "+h.name, second, h.unit, last)
			ratio := last / second
			holds = m.figure(who+"_"+h.name+"_growth", ratio, "ratio", fmt.Sprint(mayGrow), ratio <= mayGrow) && holds
		}
	}
	return holds
}
