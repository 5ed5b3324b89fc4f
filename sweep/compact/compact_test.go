package compact_test

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/sweep/archive"
	"isochrone/sweep/compact"
	"isochrone/sweep/dispatch/storetest"
)

func names(lines []string, part string) (n int) {
	for _, l := range lines {
		if strings.HasPrefix(l, part) {
			n++
		}
	}
	return n
}

// The same history on the fake and on the real store: a day, late results, a replay, raw files deleted, and what
// comes after.
func TestTheFakeAndTheRealStoreEndInTheSameState(t *testing.T) {
	genuine := onAzurite(t)
	fake := inMemory(newMemory(genuine.environment))
	got, want := story(t, genuine), story(t, fake)
	for i := range want {
		if d := gocmp.Diff(want[i], got[i]); d != "" {
			t.Errorf("state %d (-fake +real):\n%s", i, d)
		}
	}
}

func story(t *testing.T, w world) (states [][]string) {
	t.Helper()
	check := func(what string, got, want compact.Report) {
		t.Helper()
		got.Told, got.Freed = nil, 0
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
		states = append(states, w.state(t))
	}
	w.history(t)
	check("before the day is over", w.run(t, day0.Add(24*time.Hour)), compact.Report{Waiting: 2})
	check("the day", w.run(t, soon), compact.Report{Days: 2, Written: 3, Rows: 2*(30+31+32+33) + 2*2*20 + 2*25, Cleared: 2})
	check("nothing more", w.run(t, soon), compact.Report{})
	w.put(t, "westeurope", "udp-64", day0, 20, "uksouth", "eastus") // as it was
	check("the same again", w.run(t, soon), compact.Report{Days: 1, Same: 2, Cleared: 1})
	w.put(t, "westeurope", "tcp-64", day0.Add(time.Hour), 40, "eastus", "uksouth")
	check("a late result", w.run(t, soon), compact.Report{Days: 1, Written: 1, Same: 1, Rows: 2 * (30 + 31 + 32 + 33 + 40), Cleared: 1})
	w.put(t, "westeurope", "tcp-64", day0.Add(6*time.Hour), 35, "eastus", "uksouth")
	check("a replay", w.run(t, soon), compact.Report{Days: 1, Written: 1, Same: 1, Rows: 2 * (30 + 35 + 32 + 33 + 40), Cleared: 1})
	full := w.state(t)
	check("raw files go", w.run(t, later), compact.Report{Days: 2, Deleted: 4 + 1 + 2 + 2})
	without := slices.DeleteFunc(full, func(l string) bool { return strings.HasPrefix(l, "raw-") })
	if d := gocmp.Diff(without, w.state(t)); d != "" {
		t.Errorf("deleting raw files changed more (-before +after):\n%s", d)
	}
	w.put(t, "westeurope", "tcp-64", day0.Add(12*time.Hour), 32, "eastus", "uksouth") // a replay makes it again
	check("a raw file that is there again, and goes again", w.run(t, later), compact.Report{Days: 1, Same: 2, Cleared: 1, Deleted: 1})
	if d := gocmp.Diff(without, w.state(t)); d != "" {
		t.Errorf("it changed more (-before +after):\n%s", d)
	}
	w.put(t, "westeurope", "tcp-64", day0.Add(12*time.Hour), 50, "eastus") // otherwise, and with a run less
	w.put(t, "westeurope", "tcp-64", day0.Add(2*time.Hour), 7, "eastus", "uksouth")
	check("results after raw files are gone", w.run(t, soon), compact.Report{Days: 1, Written: 1, Same: 1, Rows: 2*(30+35+33+40+7) + 50, Cleared: 1})
	check("and they go", w.run(t, later), compact.Report{Days: 1, Deleted: 2})
	report, err := w.compactor(t, later).Run(t.Context(), compact.Scope{All: true, Apply: true})
	must(t, err)
	check("a backfill", report, compact.Report{Days: 2, Same: 3})
	return states
}

// What a rewrite makes of the lake's own file and new raw files is, to the byte, what all raw files would give.
func TestALakeThatLostItsRawFilesIsTheOneThatDidNot(t *testing.T) {
	change := func(w world) {
		w.put(t, "westeurope", "tcp-64", day0.Add(12*time.Hour), 50, "eastus")
		w.put(t, "westeurope", "tcp-64", day0.Add(2*time.Hour), 7, "eastus", "uksouth")
	}
	a, b := inMemory(newMemory(environment)), inMemory(newMemory(environment))
	for _, w := range []world{a, b} {
		w.history(t)
		w.run(t, soon)
	}
	b.run(t, later)
	if n := names(b.state(t), "raw-"); n != 0 {
		t.Fatalf("%d raw files", n)
	}
	for _, w := range []world{a, b} {
		change(w)
		w.run(t, soon)
		w.run(t, later)
	}
	if d := gocmp.Diff(a.state(t), b.state(t)); d != "" {
		t.Errorf("-raw files were there +were gone:\n%s", d)
	}
}

// A dry run tells what Run would do, and does nothing.
func TestADryRunTellsAndDoesNothing(t *testing.T) {
	m := newMemory(environment)
	w := inMemory(m)
	w.history(t)
	for _, now := range []time.Time{soon, later} {
		before := w.state(t)
		m.fault = func(_ int, op string) storetest.Fault {
			if slices.Contains([]string{"WriteLake", "DeleteRaw", "PutLakeNote", "ClearDay", "MarkDay"}, op) {
				t.Errorf("a dry run called %s", op)
			}
			return storetest.None
		}
		dry, err := w.compactor(t, now).Run(t.Context(), compact.Scope{})
		must(t, err)
		if d := gocmp.Diff(before, w.state(t)); d != "" {
			t.Errorf("it changed:\n%s", d)
		}
		m.fault = nil
		did := w.run(t, now)
		if dry.Written != did.Written || dry.Deleted != did.Deleted || len(dry.Told) != len(did.Told) || len(did.Told) == 0 {
			t.Errorf("told %+v, did %+v", dry, did)
		}
	}
}

func TestTheStatusTellsWhatTheLakeHas(t *testing.T) {
	w := inMemory(newMemory(environment))
	w.history(t)
	w.run(t, soon)
	body, _, err := w.LakeNote(t.Context(), archive.StatusBlob)
	must(t, err)
	var s compact.Status
	must(t, json.Unmarshal(body, &s))
	files, err := w.LakeSamples(t.Context(), archive.SourceDay{Source: "westeurope", Day: day0})
	must(t, err)
	if len(s.Days) != 2 || s.Days[1].Source != "westeurope" || s.Days[1].Date != "2026-11-30" || s.Days[1].Rows != 2*(30+31+32+33)+80 || s.Days[1].Files != 2 ||
		s.Days[1].Bytes != files[0].Size+files[1].Size || s.Days[1].Written != files[1].Written || s.Refreshed.IsZero() {
		t.Errorf("status %+v, files %+v", s, files)
	}
}

// A lake file that does not hold what its raw files held stops the deleting.
func TestNothingIsDeletedThatTheLakeDoesNotHold(t *testing.T) {
	m := newMemory(environment)
	w := inMemory(m)
	w.history(t)
	w.run(t, soon)
	// A file that names the raw files and agrees with its footer, but has other rows.
	d := archive.SourceDay{Source: "eastus", Day: day0}
	raw, err := w.RawSamples(t.Context(), d)
	must(t, err)
	merge := archive.NewSampleMerge("tcp-64", t.TempDir())
	for i, b := range raw {
		body, _, err := archive.EncodeSamples(assigned(environment, "eastus", "tcp-64", day0.Add(time.Duration(i)*6*time.Hour), 24, "westeurope"))
		must(t, err)
		f, err := archive.OpenRawSamples(strings.NewReader(string(body)), int64(len(body)))
		must(t, err)
		must(t, merge.Add(b.Label, b.MD5, f))
	}
	lake, err := w.LakeSamples(t.Context(), d)
	must(t, err)
	must(t, w.WriteLake(t.Context(), d, "tcp-64", lake[0].ETag, func(out io.Writer) error { return merge.Write(out) }))
	must(t, merge.Close())
	// And one that is altered in itself.
	name := "lake-" + environment + "/samples/v=1/src=westeurope/date=2026-11-30/probe=tcp-64/part-0.parquet"
	body := slices.Clone(m.blobs[name].body)
	at := strings.Index(string(body), `"rtt_ns_sum":`) + len(`"rtt_ns_sum":`)
	body[at] ^= 1 // another digit
	m.set(name, body)
	report, err := w.compactor(t, later).Run(t.Context(), compact.Scope{Apply: true})
	if err == nil || strings.Count(err.Error(), "nothing of the day is deleted") != 2 || report.Left != 2 {
		t.Errorf("report %+v, %v", report, err)
	}
	if n := names(w.state(t), "raw-ENV/samples/v=1/src="); n != 8 {
		t.Errorf("%d raw files are left", n)
	}
}

// A raw file that no lake file holds, its mark gone, has its day marked.
func TestARawFileThatTheLakeDoesNotHoldIsNotDeleted(t *testing.T) {
	m := newMemory(environment)
	w := inMemory(m)
	w.history(t)
	w.run(t, soon)
	w.put(t, "eastus", "tcp-64", day0.Add(time.Hour), 9, "westeurope")
	clear(m.marks)
	if report := w.run(t, later); report.Left != 1 || len(m.marks) != 1 {
		t.Errorf("report %+v, marks %v", report, m.marks)
	}
	if report := w.run(t, later); report.Left != 0 || report.Deleted != 3 || len(m.marks) != 0 {
		t.Errorf("report %+v, marks %v", report, m.marks)
	}
}

// One damaged file keeps its day back, and no other.
func TestADamagedRawFileKeepsNoOtherDayBack(t *testing.T) {
	m := newMemory(environment)
	w := inMemory(m)
	w.history(t)
	for name := range m.blobs {
		if strings.Contains(name, "src=eastus") {
			m.set(name, []byte("nonsense"))
		}
	}
	report, err := w.compactor(t, soon).Run(t.Context(), compact.Scope{Apply: true})
	if err == nil || !strings.Contains(err.Error(), "sweep replay makes it again") || report.Written != 2 || report.Left != 1 || len(m.marks) != 1 {
		t.Errorf("report %+v, %v", report, err)
	}
}

// Where storage tells no MD5 it is computed, and the lake is the same.
func TestWithoutStoragesMD5TheLakeIsTheSame(t *testing.T) {
	m := newMemory(environment)
	m.noMD5 = true
	a, b := inMemory(m), inMemory(newMemory(environment))
	for _, w := range []world{a, b} {
		w.history(t)
		w.run(t, soon)
	}
	if d := gocmp.Diff(b.state(t), a.state(t)); d != "" {
		t.Error(d)
	}
}

// What the deadline leaves no time for is left, and no fault.
func TestWhatThereIsNoTimeForIsLeft(t *testing.T) {
	w := inMemory(newMemory(environment))
	w.history(t)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if report, err := w.compactor(t, soon).Run(ctx, compact.Scope{Apply: true}); report.Left != 2 || err == nil {
		t.Errorf("report %+v, %v", report, err)
	}
}
