package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// The test's program is its own child, as the command is.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{childArgument}) {
		os.Exit(childMain(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	azuritetest.Main(m)
}

// A day with everything that befalls a month: nothing is lost, and nothing is there twice. And then each thing
// that the check is there to find is brought about, and found.
func TestADayOfKillsFaultsAndWrongClocksLosesNothing(t *testing.T) {
	account, environment := azuritetest.Environment(t)
	o := options{seed: 12, start: time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC), days: 1, probers: 3, rough: 4, budget: 10 * time.Minute,
		dir: t.TempDir(), account: account, environment: environment, out: t.Output()}
	m, v, err := o.simulate(t.Context())
	if err != nil {
		showLog(t, m)
		t.Fatal(err)
	}
	for what, n := range v.wrong {
		t.Errorf("%s: %d", what, n)
	}
	for _, c := range v.cases {
		t.Log(c)
	}
	if t.Failed() {
		showLog(t, m)
		return
	}
	if _, faults, _ := m.weather.told(); faults == 0 || m.tally.killedHandlers == 0 || m.tally.killedProbers == 0 || m.tally.jumps == 0 {
		t.Errorf("%d faults, %d and %d kills, %d jumps: nothing befell the day", faults, m.tally.killedHandlers, m.tally.killedProbers, m.tally.jumps)
	}
	// Berlin's clocks go back at 01:00 UTC: its probe is due at 00:00, 01:00 and 02:00 UTC.
	if v.slots != 25 || v.planned != v.rows || v.planned < 20*6 || v.documents < 40 || v.samples < 800 || v.hours < 20*6 {
		t.Errorf("the day came to %d slots, %d planned runs, %d rows, %d documents, %d samples, %d hours", v.slots, v.planned, v.rows, v.documents, v.samples, v.hours)
	}
	breakAndFind(t, m)
}

func showLog(t *testing.T, m *month) {
	t.Helper()
	if m == nil {
		return
	}
	body, err := os.ReadFile(m.log.Name())
	if err != nil {
		t.Log(err)
	}
	t.Logf("the children's log:\n%s", body)
}

// breakAndFind damages storage in each way that the check is there to find.
func breakAndFind(t *testing.T, m *month) {
	var row tables.Row
	for r, err := range m.rows.Runs(t.Context(), tables.RunQuery{Source: regions[1], Probe: hourlyProbe}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Document != "" {
			row = r
			break
		}
	}
	if row.Document == "" {
		t.Fatal("no row names a document")
	}
	month, year := row.Slot.Format("200601"), row.Slot.Format("2006")
	key := fmt.Sprintf("%s|%s|%s|%010d", row.Series.Target, row.Series.Path, row.Series.Probe, 9999999999-row.Slot.Unix())
	other := regions[0] // the document's other target
	if row.Series.Target == other {
		other = regions[2]
	}
	container, document, _ := strings.Cut(row.Document, "/")
	removeFrom := func(container, name string) {
		client, err := azblob.NewClientFromConnectionString(m.account.ConnectionString, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.DeleteBlob(t.Context(), container, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(name string) { removeFrom(container, name) }
	hour, err := tables.HourRow(row.Series, row.Slot)
	if err != nil {
		t.Fatal(err)
	}
	journal := m.probers[0].task.Journal
	azuritetest.Change(t, m.account, "hours"+m.environment+year, regions[1], hour, map[string]any{"run_count": 7})
	azuritetest.Change(t, m.account, "runs"+m.environment+month, regions[1], key, map[string]any{"sent_count": 9})
	removeFrom("lake-"+m.environment, fmt.Sprintf("samples/v=1/src=%s/date=%s/probe=%s/part-0.parquet", regions[1], row.Slot.Format(time.DateOnly), hourlyProbe))
	remove(strings.Replace(strings.Replace(document, "documents/", "samples/", 1), ".json.gz", ".parquet", 1))
	azuritetest.Delete(t, m.account, "runs"+m.environment+month, regions[1], strings.Replace(key, row.Series.Target, other, 1))
	azuritetest.Delete(t, m.account, "sweeps"+m.environment+month, wire.SlotName(row.Slot), "0")
	m.garbage[sum([]byte("never"))] = true
	line, err := json.Marshal(finished{Name: "x", Assignment: "x", SHA256: sum(nil), Samples: 3})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, journal, string(line)+"\n")
	v, err := m.check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v.wrong[wrongLake] < 20 { // one document's or more
		t.Errorf("%d samples are missing in the lake, from which a file was deleted", v.wrong[wrongLake])
	}
	delete(v.wrong, wrongLake)
	want := map[string]int{
		wrongHours:      2,      // that of the changed count, and that whose run is gone
		wrongCounts:     1,      // of the document that both belong to
		wrongSamples:    20 + 3, // those of the file, and those of the document that nobody has
		wrongRows:       1,
		wrongUnrecorded: 1,
		wrongPlanted:    1,
		wrongDocuments:  1,
	}
	if diff := cmp.Diff(want, v.wrong); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, strings.Join(v.cases, "\n"))
	}
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestProbesAreDueByTheClocksOfTheirPlaces(t *testing.T) {
	for slot, want := range map[string][]string{
		// The hour from 02:00 to 03:00 is left out in Berlin.
		"2026-03-28T01:00:00Z": {"berlin", hourlyProbe}, // 02:00
		"2026-03-29T00:00:00Z": {hourlyProbe},           // 01:00
		"2026-03-29T01:00:00Z": {"berlin", hourlyProbe}, // 03:00
		"2026-03-29T02:00:00Z": {hourlyProbe},           // 04:00
		"2026-03-30T00:00:00Z": {"berlin", hourlyProbe}, // 02:00
		// The hour from 02:00 to 03:00 comes twice.
		"2026-10-25T00:00:00Z": {"berlin", hourlyProbe},
		"2026-10-25T01:00:00Z": {"berlin", hourlyProbe},
		"2026-10-25T02:00:00Z": {"berlin", hourlyProbe}, // 03:00
		"2026-10-25T03:00:00Z": {hourlyProbe},
		// In New York from 01:00 to 02:00.
		"2026-03-08T06:00:00Z": {"newyork", hourlyProbe}, // 01:00
		"2026-03-08T07:00:00Z": {hourlyProbe},            // 03:00
		"2026-11-01T05:00:00Z": {"newyork", hourlyProbe},
		"2026-11-01T06:00:00Z": {"newyork", hourlyProbe},
		"2026-11-01T07:00:00Z": {"newyork", hourlyProbe}, // 02:00
	} {
		at, err := time.Parse(time.RFC3339, slot)
		if err != nil {
			t.Fatal(err)
		}
		got, err := due(at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", slot, diff)
		}
	}
}

func TestGrowthComparesQuarters(t *testing.T) {
	var ws []weighing
	for i := range 40 {
		ws = append(ws, weighing{"handler", weight{Goroutines: 10 + i}}, weighing{"prober", weight{Goroutines: 1000}})
	}
	goroutines := func(w weight) float64 { return float64(w.Goroutines) }
	if second, last := growth(ws, "handler", goroutines, median); second != 25 || last != 45 {
		t.Errorf("%g and %g, want 25 and 45", second, last)
	}
	if second, last := growth(ws[:20], "handler", goroutines, median); second != 0 || last != 0 {
		t.Errorf("of ten weighings %g and %g, want none", second, last)
	}
}

func TestAJournalsLastLineMayBeCutShort(t *testing.T) {
	name := t.TempDir() + "/journal"
	want := finished{Name: "a", Slot: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC), Assignment: wire.AssignmentID("soak", time.Now(), "a", "b", 0), Samples: 3}
	for range 2 {
		j, err := openJournal(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.add(want); err != nil {
			t.Fatal(err)
		}
		if err := j.file.Close(); err != nil {
			t.Fatal(err)
		}
		appendTo(t, name, `{"name":"b","sam`)
	}
	got, err := readJournal(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]finished{want, want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
