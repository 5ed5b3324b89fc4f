package compact_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"isochrone/sweep/archive"
	"isochrone/sweep/tables"
)

// What the interfaces' comments promise, of the fake and of the real store.
func TestTheStoresKeepTheirPromises(t *testing.T) {
	genuine := onAzurite(t)
	for name, w := range map[string]world{"fake": inMemory(newMemory(genuine.environment)), "real": genuine} {
		t.Run(name, func(t *testing.T) {
			t.Run("a mark that was set again stays", func(t *testing.T) { marksStay(t, w) })
			t.Run("a file that somebody replaced stays", func(t *testing.T) { filesStay(t, w) })
			t.Run("a raw file that somebody replaced stays", func(t *testing.T) { rawStays(t, w) })
			t.Run("a note that somebody replaced stays", func(t *testing.T) { notesStay(t, w) })
		})
	}
}

func changed(t *testing.T, err error, want bool) {
	t.Helper()
	if errors.Is(err, archive.ErrChanged) != want || err != nil && !want {
		t.Errorf("error %v: changed is %v", err, want)
	}
}

// pause sees that ETags of Azurite, which are times, differ.
func pause() { time.Sleep(5 * time.Millisecond) }

func marksStay(t *testing.T, w world) {
	ctx := t.Context()
	is := func(n int) []tables.DayMark {
		t.Helper()
		marks, err := w.DayMarks(ctx)
		must(t, err)
		if len(marks) != n {
			t.Fatalf("marks are %+v", marks)
		}
		return marks
	}
	must(t, w.MarkDay(ctx, "uksouth", day0))
	must(t, w.MarkDay(ctx, "uksouth", day0.AddDate(0, 0, 1)))
	before := is(2)
	if before[0].Source != "uksouth" || !before[0].Begin.Equal(day0) || before[0].ETag == "" {
		t.Errorf("marks are %+v", before)
	}
	pause()
	must(t, w.MarkDay(ctx, "uksouth", day0))
	for _, m := range before {
		must(t, w.ClearDay(ctx, m))
	}
	after := is(1)
	if !after[0].Begin.Equal(day0) || after[0].ETag == before[0].ETag {
		t.Errorf("marks are %+v", after)
	}
	must(t, w.ClearDay(ctx, after[0]))
	must(t, w.ClearDay(ctx, after[0]))
	is(0)
}

func filesStay(t *testing.T, w world) {
	ctx, d := t.Context(), archive.SourceDay{Source: "uksouth", Day: day0}
	write := func(was, text string, want bool) {
		t.Helper()
		pause()
		changed(t, w.WriteLake(ctx, d, "tcp-64", was, func(out io.Writer) error { _, err := io.WriteString(out, text); return err }), want)
	}
	is := func(text string) archive.LakeBlob {
		t.Helper()
		lake, err := w.LakeSamples(ctx, d)
		must(t, err)
		if len(lake) != 1 || lake[0].Label != "tcp-64" || lake[0].Size != int64(len(text)) || lake[0].Written.IsZero() {
			t.Fatalf("files are %+v", lake)
		}
		body, err := w.ReadRange(ctx, lake[0], 0, lake[0].Size)
		if err != nil || string(body) != text {
			t.Errorf("body is %q, %v", body, err)
		}
		return lake[0]
	}
	write("", "a", false)
	first := is("a")
	write("", "b", true)
	write(first.ETag, "cc", false)
	write(first.ETag, "d", true)
	is("cc")
	_, err := w.ReadRange(ctx, first, 0, 1)
	changed(t, err, true)
	if days, err := w.LakeDays(ctx); err != nil || len(days) != 1 || days[0] != d {
		t.Errorf("days are %+v, %v", days, err)
	}
}

func rawStays(t *testing.T, w world) {
	ctx, d := t.Context(), archive.SourceDay{Source: "uksouth", Day: day0}
	one := func() archive.LakeBlob {
		t.Helper()
		raw, err := w.RawSamples(ctx, d)
		must(t, err)
		if want := "0600_" + assignmentOf(w.environment, "uksouth", "tcp-64", day0.Add(6*time.Hour)); len(raw) != 1 || raw[0].Label != want {
			t.Fatalf("raw files are %+v, want %s", raw, want)
		}
		return raw[0]
	}
	w.put(t, "uksouth", "tcp-64", day0.Add(6*time.Hour), 5, "eastus")
	first := one()
	pause()
	w.put(t, "uksouth", "tcp-64", day0.Add(6*time.Hour), 6, "eastus")
	changed(t, w.DeleteRaw(ctx, first), true)
	second := one()
	if second.ETag == first.ETag || second.MD5 == first.MD5 || second.MD5 == "" {
		t.Errorf("%+v, then %+v", first, second)
	}
	if days, err := w.RawDays(ctx); err != nil || len(days) != 1 || days[0] != d {
		t.Errorf("days are %+v, %v", days, err)
	}
	changed(t, w.DeleteRaw(ctx, second), false)
	changed(t, w.DeleteRaw(ctx, second), false)
	_, err := w.ReadRange(ctx, second, 0, 1)
	changed(t, err, true)
	if raw, err := w.RawSamples(ctx, d); err != nil || len(raw) != 0 {
		t.Errorf("raw files are %+v, %v", raw, err)
	}
}

func notesStay(t *testing.T, w world) {
	ctx := t.Context()
	body, etag, err := w.LakeNote(ctx, archive.StatusBlob)
	if err != nil || etag != "" || body != nil {
		t.Errorf("%q %q %v", body, etag, err)
	}
	changed(t, w.PutLakeNote(ctx, archive.StatusBlob, []byte("1"), ""), false)
	changed(t, w.PutLakeNote(ctx, archive.StatusBlob, []byte("2"), ""), true)
	_, etag, err = w.LakeNote(ctx, archive.StatusBlob)
	must(t, err)
	pause()
	changed(t, w.PutLakeNote(ctx, archive.StatusBlob, []byte("3"), etag), false)
	changed(t, w.PutLakeNote(ctx, archive.StatusBlob, []byte("4"), etag), true)
	if body, _, err := w.LakeNote(ctx, archive.StatusBlob); err != nil || string(body) != "3" {
		t.Errorf("%q, %v", body, err)
	}
}
