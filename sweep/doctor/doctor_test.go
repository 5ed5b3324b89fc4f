package doctor_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/doctor"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

// The stores satisfy what the doctor asks for.
var (
	_ doctor.Blobs = (*archive.Store)(nil)
	_ doctor.Rows  = (*tables.Store)(nil)
)

func TestAHealthyEnvironmentHasNoFindings(t *testing.T) {
	checks := map[string]bool{}
	for _, f := range healthy().examine(t.Context()) {
		checks[f.Check] = true
		if f.State != doctor.OK || f.Remedy != "" || f.Text == "" {
			t.Errorf("%+v", f)
		}
	}
	for _, want := range []string{"access", "clock", "configuration", "probers", "addresses", "schedule", "sweeps", "inbox", "hours", "lake", "quarantine", "alerts"} {
		if !checks[want] {
			t.Errorf("nothing is said of %s", want)
		}
	}
	var said []string
	for _, f := range healthy().examine(t.Context()) {
		said = append(said, f.Text)
	}
	for _, want := range []string{"2 of 2 probers: westeurope 20.50.0.4:7700, eastus 20.99.0.1:7700", "slot 2026-11-30 10:20Z, 3 min ago; the next is due at 2026-11-30 10:30Z",
		"all 60 runs of the last 10 complete sweeps came"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("nobody says %q:\n%s", want, strings.Join(said, "\n"))
		}
	}
}

// Each ailment alone has exactly the findings that it should, and each of those says what to do.
func TestEachAilmentIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		ail  func(w *world)
		want []string // check, subject, state, part of the text
	}{
		"no role":             {func(w *world) { w.places[1].Err, w.places[1].Denied = errors.New("403"), true }, []string{"access|latesttest|fault|cannot be read"}},
		"no role at all":      {func(w *world) { deny(w) }, []string{"access|config-test and 1 more|fault|cannot be read"}},
		"a new month":         {func(w *world) { w.places[1].Missing = true }, []string{"access||warning|latesttest"}},
		"another account":     {func(w *world) { w.places[0].Missing, w.places[1].Missing = true, true }, []string{"access||fault|nothing of environment \"test\""}},
		"a clock 20 s behind": {func(w *world) { w.service = now.Add(20 * time.Second) }, []string{"clock||warning|20 s behind"}},
		"a clock 10 min ahead": {func(w *world) {
			w.service = now.Add(-10 * time.Minute)
			w.headers = w.headers[1:]
			for i := range w.registrations {
				w.registrations[i].Heartbeat = w.service
			}
		}, []string{"clock||fault|9 min ahead of"}},
		"alerts that are open": {func(w *world) {
			for _, subject := range []string{"eastus", "uksouth", "norwayeast", "westeurope"} {
				w.claims = append(w.claims, tables.Claim{Alert: tables.Alert{Kind: tables.AlertCoverage, Subject: subject}})
			}
		}, []string{"alerts||warning|4 alerts are open: coverage of eastus, coverage of uksouth, coverage of norwayeast, 1 more"}},
		"no configuration": {func(w *world) { w.config = "" }, []string{"configuration||fault|there is none", "addresses||unknown|no usable configuration", "schedule||unknown|no usable configuration"}},
		"a faulty configuration": {func(w *world) { w.config = strings.Replace(body, "kind: tcp", "kind: tpc", 1) },
			[]string{"configuration||fault|1 fault", "addresses||unknown|", "schedule||unknown|"}},
		"another's configuration": {func(w *world) { w.config = strings.Replace(body, "environment: test", "environment: prod", 1) },
			[]string{`configuration||fault|it is for environment "prod"`, "addresses||unknown|", "schedule||unknown|"}},
		"a configuration just pushed": {func(w *world) { w.config = body + "# new\n" }, []string{"schedule||warning|changed after the newest sweep"}},
		"a prober that never came":    {func(w *world) { w.registrations = w.registrations[:1] }, []string{"probers|eastus|fault|never registered"}},
		"no prober":                   {func(w *world) { w.registrations, w.config = nil, "" }, []string{"probers||fault|no prober has ever registered", "configuration||fault|", "addresses||unknown|", "schedule||unknown|"}},
		"a silent prober":             {func(w *world) { w.registrations[1].Heartbeat = now.Add(-10 * time.Minute) }, []string{"probers|eastus|fault|10 min old"}},
		"a prober that was stopped": {func(w *world) {
			w.registrations[1].Heartbeat, w.registrations[1].Stopped = now.Add(-10*time.Minute), true
		},
			[]string{"probers|eastus|fault|stopped in good order 10 min ago"}},
		"a prober ahead of time": {func(w *world) { w.registrations[1].Heartbeat = now.Add(10 * time.Minute) }, []string{"probers|eastus|fault|lies 10 min ahead"}},
		"a prober nobody knows": {func(w *world) {
			w.registrations = append(w.registrations, registration("uksouth", at("public", "20.70.0.4")))
		}, []string{"probers|uksouth|warning|no such prober"}},
		"a prober of another time":     {func(w *world) { w.registrations[1].ReadsAssignments = []int{99} }, []string{"probers|eastus|fault|reads assignments of version [99]"}},
		"two versions":                 {func(w *world) { w.registrations[1].Provenance.ProberVersion = "1.3.0" }, []string{"probers||warning|1.2.3, 1.3.0"}},
		"a clock without NTP":          {func(w *world) { w.registrations[1].Provenance.ClockErrorNS = nil }, []string{"probers|eastus|warning|not synchronised"}},
		"a clock of a bad NTP":         {func(w *world) { *w.registrations[1].Provenance.ClockErrorNS = 80e6 }, []string{"probers|eastus|warning|80ms off"}},
		"a path without an address":    {func(w *world) { w.registrations[1].Addresses = w.registrations[1].Addresses[:1] }, []string{"addresses|eastus vpn|fault|registers no address"}},
		"an address out of bounds":     {func(w *world) { w.registrations[0].Addresses[0].Host = "20.60.0.4" }, []string{"addresses|westeurope public|fault|outside what sweep.yaml permits"}},
		"a name that does not exist":   {func(w *world) { w.registrations[0].Addresses[0].Host = "weu.example.com" }, []string{"addresses|westeurope public|warning|does not resolve from here"}},
		"a prober without UDP":         {func(w *world) { w.registrations[1].Addresses[0].UDPPort = 0 }, []string{"addresses|eastus public|fault|probe udp-64"}},
		"an app that stopped":          {func(w *world) { w.headers = w.headers[4:] }, []string{"schedule||fault|slot 2026-11-30 09:50Z was due and nobody swept it", "schedule||fault|4 of"}},
		"an app that stopped long ago": {func(w *world) { age(w, 3*24*time.Hour) }, []string{"schedule||fault|3 days ago"}},
		"an app that never ran":        {func(w *world) { w.headers = nil }, []string{"schedule||warning|no sweep yet", "sweeps||warning|no sweep is complete"}},
		"a schedule that fires seldom": {func(w *world) {
			kept := w.headers[:0]
			for _, h := range w.headers {
				if h.Slot.Minute()%20 == 0 {
					kept = append(kept, h)
				}
			}
			w.headers = kept
		}, []string{"schedule||fault|have no sweep, the first 2026-11-29 14:50Z"}},
		"missed slots": {func(w *world) {
			for i := range 3 {
				w.headers[5+i].State, w.headers[5+i].ConfigHash = ledger.Missed, ""
			}
		}, []string{"schedule||warning|3 slots were"}},
		"documents that never came": {func(w *world) {
			came := w.entries
			w.entries = func(slot time.Time) []ledger.Entry {
				out := came(slot)
				out[2].State = ledger.Expired
				return out
			}
		}, []string{"sweeps||warning|of 60 runs in the last 10 complete sweeps 20 never came; most: eastus: no document came in time"}},
		"a sweep that nobody closes": {func(w *world) { w.open = []time.Time{now.Add(-4 * time.Hour), now} }, []string{"sweeps||fault|1 sweep is open for more than 3 h, the first of slot 2026-11-30 06:23Z"}},
		"documents that wait": {func(w *world) { w.items = append(w.items, inbox.Item{Created: now.Add(-2 * time.Hour), Attempts: 2}) },
			[]string{"inbox||fault|1 document waits for longer than 5 min, the oldest for 2 h 0 min, opened up to 2 times"}},
		"hours that wait": {func(w *world) {
			w.marks = append(w.marks, tables.HourMark{Source: "eastus", Begin: now.Add(-30 * time.Hour).Truncate(time.Hour)})
		},
			[]string{"hours||warning|1 hour of a prober waits to be computed, the oldest 2026-11-29 04:00Z"}},
		"days that wait": {func(w *world) {
			w.days = append(w.days, tables.DayMark{Source: "eastus", Begin: now.Truncate(24*time.Hour).AddDate(0, 0, -3)})
		}, []string{"lake||warning|1 day of a prober waits to be compacted, the oldest 2026-11-27"}},
		"documents that were refused": {func(w *world) {
			w.held = []inbox.Held{{Why: inbox.Reason{Stage: "plan"}}, {Why: inbox.Reason{Stage: "conflict"}}, {Why: inbox.Reason{Stage: "conflict"}}}
		}, []string{`quarantine||warning|3 documents were refused in the last 7 days, most at stage "conflict"`}},
	} {
		t.Run(name, func(t *testing.T) {
			w := healthy()
			c.ail(w)
			var got []doctor.Finding
			for _, f := range w.examine(t.Context()) {
				if f.State != doctor.OK {
					got = append(got, f)
				}
			}
			for _, want := range c.want {
				found := false
				for i, f := range got {
					head := fmt.Sprintf("%s|%s|%s|", f.Check, f.Subject, f.State)
					if text, ok := strings.CutPrefix(want, head); ok && strings.Contains(f.Text, text) {
						got, found = append(got[:i:i], got[i+1:]...), true
						if f.Remedy == "" && f.State != doctor.Unknown {
							t.Errorf("%+v says nothing of what to do", f)
						}
						break
					}
				}
				if !found {
					t.Errorf("not found: %q", want)
				}
			}
			for _, f := range got {
				t.Errorf("found too: %+v", f)
			}
		})
	}
}

func deny(w *world) {
	for i := range w.places {
		w.places[i].Err, w.places[i].Denied = errors.New("403"), true
	}
}

func age(w *world, by time.Duration) {
	for i := range w.headers {
		w.headers[i].Slot = w.headers[i].Slot.Add(-by)
	}
}

// Storage that answers nothing leaves every check unknown, and none silent.
func TestWhatCannotBeLookedAtIsUnknown(t *testing.T) {
	w := healthy()
	w.err = errors.New("gone")
	unknown := map[string]bool{}
	for _, f := range w.examine(t.Context()) {
		if f.State == doctor.Unknown {
			unknown[f.Check] = true
		}
	}
	if len(unknown) != 11 || unknown["access"] {
		t.Errorf("unknown are %v: want all but access", unknown)
	}
}

// A registration that lies about its path twice counts by the first, as in a sweep.
func TestTheFirstAddressOfAPathCounts(t *testing.T) {
	w := healthy()
	w.registrations[0].Addresses = append([]wire.PathAddress{at("public", "20.50.0.9")}, w.registrations[0].Addresses...)
	for _, f := range w.examine(t.Context()) {
		if f.Check == doctor.CheckAddresses && f.Subject == "public" && !strings.Contains(f.Text, "westeurope 20.50.0.9:7700") {
			t.Errorf("%+v", f)
		}
	}
}
