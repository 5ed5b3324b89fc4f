package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"isochrone/sweep/inbox"
	"isochrone/sweep/result"
)

// held lists what lies in quarantine.
func held(t *testing.T, s *Store, since time.Time, prefix string) (out []inbox.Held) {
	t.Helper()
	for h, err := range s.Quarantined(background(t), since, prefix) {
		must(t, err)
		out = append(out, h)
	}
	return out
}

func TestTheQuarantineIsListedNewestFirstAndLeftBodyFirst(t *testing.T) {
	s, ctx := newStore(t), background(t)
	for i, when := range []time.Time{slot0, slot0.Add(time.Hour), slot0.AddDate(0, 0, -1), slot0.Add(30 * time.Minute)} {
		_, err := s.Quarantine(ctx, when, fmt.Sprint("origin", i), fmt.Appendf(nil, "body %d", i), "txt", Reason{Stage: "test", Text: "why", Parameters: map[string]string{"path": "vpn"}})
		must(t, err)
	}
	all := held(t, s, time.Time{}, "")
	var origins []string
	for _, h := range all {
		origins = append(origins, h.Why.Origin)
		if h.Why.Parameters["path"] != "vpn" || h.Size != 6 || !strings.HasSuffix(h.Name, h.SHA256+".txt") || h.Created.IsZero() {
			t.Errorf("held: %+v", h)
		}
	}
	if want := []string{"origin1", "origin3", "origin0", "origin2"}; !slices.Equal(origins, want) {
		t.Errorf("listed are %q, want %q", origins, want)
	}
	if n := len(held(t, s, slot0, "")); n != 3 {
		t.Errorf("%d since the day, want 3", n)
	}
	if one := held(t, s, time.Time{}, all[0].SHA256[:8]); len(one) != 1 || one[0].Name != all[0].Name {
		t.Errorf("by hash: %+v", one)
	}
	body, found, err := s.ReadHeld(ctx, all[0])
	if err != nil || !found || string(body) != "body 1" {
		t.Errorf("body %q, %v, %v", body, found, err)
	}
	// The reason outlives the body, never the other way round.
	must(t, s.Unquarantine(ctx, inbox.Held{Name: all[0].Name}))
	if left := held(t, s, time.Time{}, all[0].SHA256); len(left) != 1 || left[0].Name != "" || left[0].Why.Origin != "origin1" {
		t.Errorf("left: %+v", left)
	}
	for range 2 {
		must(t, s.Unquarantine(ctx, all[0]))
	}
	if left := held(t, s, time.Time{}, all[0].SHA256); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	if err := s.Unquarantine(ctx, inbox.Held{Name: "raw-" + s.environment + "/documents/x"}); !errors.Is(err, ErrRefused) {
		t.Errorf("a blob that does not lie in quarantine: %v", err)
	}
}

func TestAReasonThatCannotBeReadIsToldAndHidesNoOther(t *testing.T) {
	s, ctx := newStore(t), background(t)
	sum := strings.Repeat("ab", 32)
	for name, body := range map[string][]byte{sum + ".reason.json": []byte("{"), strings.Repeat("cd", 32) + ".reason.json": make([]byte, maxReasonBytes+1), strings.Repeat("ef", 32) + ".txt": []byte("x"), "notes.txt": nil} {
		_, err := s.put(ctx, s.quarantineContainer(), dateFolder(slot0)+name, typeBytes, body, nil, blob.ModifiedAccessConditions{})
		must(t, err)
	}
	all := held(t, s, time.Time{}, "")
	if len(all) != 3 {
		t.Fatalf("held: %+v", all)
	}
	for _, h := range all {
		if want := "its reason"; !strings.HasPrefix(h.Why.Text, want) {
			t.Errorf("%s: %q", h.SHA256, h.Why.Text)
		}
	}
}

func TestArchivedDocumentsAreListedWithWhatTheirNamesSay(t *testing.T) {
	s, ctx := newStore(t), background(t)
	id := idOf(s.environment, "tcp")
	for _, source := range []string{"westeurope", "northeurope"} {
		_, _, err := s.PutDocument(ctx, source, slot0, id, []byte(source))
		must(t, err)
	}
	_, err := s.put(ctx, s.rawContainer(), documentsFolder+"src=westeurope/"+dateFolder(slot0)+"9999_x.json.gz", typeGzip, nil, nil, blob.ModifiedAccessConditions{})
	must(t, err)
	var got []inbox.Archived
	for d, err := range s.Archived(ctx, slot0, "") {
		must(t, err)
		got = append(got, d)
	}
	if len(got) != 3 || got[0].Source != "northeurope" || got[1].Source != "westeurope" || got[1].Assignment != id || !got[1].Slot.Equal(slot0) || got[2].Assignment != "" || got[2].Name == "" {
		t.Errorf("listed are %+v", got)
	}
	for _, err := range s.Archived(ctx, slot0.AddDate(0, 0, 1), "") {
		t.Errorf("another day: %v", err)
	}
	if body, found, err := s.DocumentOf(ctx, "westeurope", slot0, id); err != nil || !found || string(body) != "westeurope" {
		t.Errorf("document %q, %v, %v", body, found, err)
	}
}

func TestForeignDocumentsAreListedAsTheyCame(t *testing.T) {
	s, ctx := newStore(t), background(t)
	var want []string
	for _, letter := range []string{"c", "a", "b"} {
		sum := strings.Repeat(letter, 64)
		name, err := s.PutForeign(ctx, slot0, sum, "xml", []byte("<x/>"), []byte(`{"path":"vpn"}`))
		must(t, err)
		_, err = s.PutForeign(ctx, slot0, sum, xmlAsJSON, []byte("{}"), nil)
		must(t, err)
		want = append(want, name)
		time.Sleep(1100 * time.Millisecond) // the service tells creation to the second
	}
	all, err := s.ArchivedForeign(ctx, slot0.Add(time.Hour))
	must(t, err)
	var got []string
	for _, d := range all {
		got = append(got, d.Name)
		if meta, err := s.ReadParameters(ctx, d.Name); err != nil || meta["path"] != "vpn" {
			t.Errorf("parameters %v, %v", meta, err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
}

// What is written in place of a file is what was compared, over a connection that fails half of the time.
func TestAFileIsRebuiltOverABadConnection(t *testing.T) {
	bad, good, _ := newFlaky(t, 4)
	ctx := background(t)
	id := idOf(bad.environment, "tcp")
	rebuild := func(n int, write bool, want result.Change) {
		t.Helper()
		name, c, err := bad.RebuildSamples(ctx, "westeurope", slot0, id, results(bad.environment, n), write)
		if err != nil || c != want {
			t.Fatalf("%d samples: %v, %v; want %v", n, c, err, want)
		}
		if !write {
			return
		}
		body, _, err := EncodeSamples(results(bad.environment, n))
		must(t, err)
		_, blobName, _ := strings.Cut(name, "/")
		if stored, _, _, err := good.get(ctx, good.rawContainer(), blobName, maxSamplesBytes); err != nil || !bytes.Equal(stored, body) {
			t.Fatalf("%d samples: %d bytes stored, want %d; %v", n, len(stored), len(body), err)
		}
	}
	rebuild(1, false, result.Added)
	rebuild(1, true, result.Added)
	for n := 2; n < 15; n++ {
		rebuild(n, false, result.Changed)
		rebuild(n, true, result.Changed)
		rebuild(n, true, result.Same)
	}
}

func TestIntervalsThatAreNoMoreGo(t *testing.T) {
	s, ctx := newStore(t), background(t)
	id := idOf(s.environment, "rate")
	rs := results(s.environment, 3) // of a kind without intervals
	name, c, err := s.RebuildIntervals(ctx, "westeurope", slot0, id, rs, true)
	if err != nil || c != result.Same {
		t.Fatalf("none and none: %v, %v", c, err)
	}
	_, blobName, _ := strings.Cut(name, "/")
	_, err = s.put(ctx, s.rawContainer(), blobName, typeParquet, []byte("x"), nil, absent())
	must(t, err)
	for _, want := range []result.Change{result.Removed, result.Same} {
		if _, c, err := s.RebuildIntervals(ctx, "westeurope", slot0, id, rs, true); err != nil || c != want {
			t.Errorf("%v, %v; want %v", c, err, want)
		}
	}
}

func TestADocumentIsReturnedToTheInboxOnce(t *testing.T) {
	s, ctx := newStore(t), background(t)
	name := "westeurope/1020_" + strings.Repeat("a", 32) + "_0a1b2c3d.json.gz"
	it, err := s.Return(ctx, name, []byte("body"))
	must(t, err)
	if _, err := s.Return(ctx, name, []byte("body")); !errors.Is(err, inbox.ErrWaiting) {
		t.Errorf("again: %v", err)
	}
	if _, body, taken, err := s.Take(ctx, it); err != nil || !taken || string(body) != "body" {
		t.Errorf("taken: %q, %v, %v", body, taken, err)
	}
	if _, err := s.Return(ctx, "westeurope/rubbish", nil); !errors.Is(err, ErrRefused) {
		t.Errorf("a name that is none: %v", err)
	}
}
