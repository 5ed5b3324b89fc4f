package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
)

func TestTheConfigurationIsReplacedAndPinsStay(t *testing.T) {
	s, ctx := newStore(t), background(t)
	must(t, s.PutConfig(ctx, []byte("version: 1\n")))
	first, err := s.PinConfig(ctx, []byte("version: 1\n"))
	must(t, err)
	again, err := s.PinConfig(ctx, []byte("version: 1\n"))
	must(t, err)
	must(t, s.PutConfig(ctx, []byte("version: 2\n")))
	if want := "09bfcc6a14b83e2192b8673677725c84883ee9cd0c70e45c9ec09daa8f2b2847"; first != want || again != want {
		t.Errorf("hashes %q and %q, want %q", first, again, want)
	}
	now, found, err := s.Config(ctx)
	if err != nil || !found || string(now) != "version: 2\n" {
		t.Errorf("configuration %q, %v, %v", now, found, err)
	}
	pinned, found, err := s.PinnedConfig(ctx, first)
	if err != nil || !found || string(pinned) != "version: 1\n" {
		t.Errorf("pinned configuration %q, %v, %v", pinned, found, err)
	}
	// A pin whose bytes are not the hash's any more is not given out.
	_, err = s.put(ctx, s.configContainer(), pinnedName(first), typeYAML, []byte("version: 3\n"), nil, blob.ModifiedAccessConditions{})
	must(t, err)
	if _, _, err := s.PinnedConfig(ctx, first); err == nil {
		t.Error("a pinned configuration with other bytes was given out")
	}
	if err := s.PutConfig(ctx, make([]byte, maxConfigBytes+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a configuration of more than a mebibyte: %v", err)
	}
}

func TestOnePlanWinsTheSlot(t *testing.T) {
	s, ctx := newStore(t), background(t)
	var wg sync.WaitGroup
	won := make([]bool, 8)
	for i := range won {
		wg.Go(func() {
			var err error
			if won[i], err = s.CreatePlan(ctx, slot0, plan(s.environment, i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	winner := slices.Index(won, true)
	if winner < 0 || slices.Contains(won[winner+1:], true) {
		t.Fatalf("winners %v, want one", won)
	}
	stored, found, err := s.ReadPlan(ctx, slot0)
	if err != nil || !found || !bytes.Equal(stored, plan(s.environment, winner)) {
		t.Errorf("stored plan %s, %v, %v; want that of %d", stored, found, err, winner)
	}
	if again, err := s.CreatePlan(ctx, slot0, stored); err != nil || !again {
		t.Errorf("the winner's plan once more: %v, %v", again, err)
	}
}

func plan(env string, i int) []byte {
	return fmt.Appendf(nil, `{"version":1,"environment":%q,"seed":"%d"}`, env, i)
}

func TestAssignmentsAreChangedOnlyByWhoReadTheLast(t *testing.T) {
	s, ctx := newStore(t), background(t)
	write := func(body, etag string, want bool) string {
		t.Helper()
		got, err := s.WriteCurrent(ctx, "westeurope", []byte(body), etag)
		if err != nil || got != want {
			t.Errorf("writing %q over %q: %v, %v; want %v", body, etag, got, err, want)
		}
		_, now, err := s.ReadCurrent(ctx, "westeurope")
		must(t, err)
		return now
	}
	write("never", `"0x8DEADBEEF"`, false) // there is nothing to match
	first := write("one", "", true)
	write("two", "", false)
	write("one", "", true) // the same bytes: the answer to the first try may have been lost
	second := write("two", first, true)
	write("three", first, false)
	write("two", first, true)
	write("three", second, true)
	if body, _, _ := s.ReadCurrent(ctx, "westeurope"); string(body) != "three" {
		t.Errorf("stored %q", body)
	}
}

func TestRegistrationsComeByNameAndABadOneHidesNoOther(t *testing.T) {
	s, ctx := newStore(t), background(t)
	container := wire.ProbersContainer(s.environment)
	for name, body := range map[string][]byte{
		"westeurope/registration.json":  []byte(`{"a":1}`),
		"eastus/registration.json":      bytes.Repeat([]byte("x"), maxRegistrationBytes+1),
		"brazilsouth/registration.json": []byte("not JSON"),
		"brazilsouth/other.json":        []byte("{}"),
		"UPPER/registration.json":       []byte("{}"),
		"registration.json":             []byte("{}"),
	} {
		_, err := s.put(ctx, container, name, typeJSON, body, nil, absent())
		must(t, err)
	}
	got, err := s.Registrations(ctx)
	must(t, err)
	want := []Registered{{Prober: "brazilsouth", Body: []byte("not JSON")}, {Prober: "eastus", Body: nil}, {Prober: "westeurope", Body: []byte(`{"a":1}`)}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("registrations (-want +got):\n%s", d)
	}
}

func TestADocumentIsStoredOnceAndASecondOneIsAConflict(t *testing.T) {
	s, ctx := newStore(t), background(t)
	id := idOf(s.environment, "westeurope")
	body := []byte("\x1f\x8b\x08 as it came")
	want := s.rawContainer() + "/documents/v=1/src=westeurope/date=2026-11-30/1020_" + id + ".json.gz"
	for i, step := range []struct {
		body []byte
		want Outcome
	}{{body, Stored}, {body, Same}, {[]byte("\x1f\x8b\x08 another"), Conflict}, {body, Same}} {
		name, o, err := s.PutDocument(ctx, "westeurope", slot0, id, step.body)
		if err != nil || o != step.want || name != want {
			t.Errorf("step %d: %q, %s, %v; want %q, %s", i, name, o, err, want, step.want)
		}
	}
	got, found, err := s.ReadDocument(ctx, want)
	if err != nil || !found || !bytes.Equal(got, body) {
		t.Errorf("stored %q, %v, %v", got, found, err)
	}
	headers(t, s, want, "application/gzip")
}

// headers checks what a blob says of itself. The bytes that came back elsewhere are those that
// were sent only because there is no Content-Encoding.
func headers(t *testing.T, s *Store, name, contentType string) {
	t.Helper()
	container, blobName, _ := strings.Cut(name, "/")
	p, err := s.container(container).NewBlobClient(blobName).GetProperties(background(t), nil)
	must(t, err)
	if p.ContentType == nil || *p.ContentType != contentType {
		t.Errorf("%s: content type %v, want %q", name, p.ContentType, contentType)
	}
	if p.ContentEncoding != nil && *p.ContentEncoding != "" {
		t.Errorf("%s: content encoding %q, want none", name, *p.ContentEncoding)
	}
	if p.BlobType == nil || *p.BlobType != blob.BlobTypeBlockBlob {
		t.Errorf("%s: not a block blob", name)
	}
}

func TestWhatIsLargerThanItsKindIsNotRead(t *testing.T) {
	s, ctx := newStore(t), background(t)
	_, err := s.put(ctx, s.configContainer(), configBlob, typeYAML, make([]byte, maxConfigBytes+1), nil, absent())
	must(t, err)
	if _, _, err := s.Config(ctx); !errors.Is(err, ErrTooLarge) {
		t.Errorf("reading it: %v", err)
	}
	_, err = s.put(ctx, s.configContainer(), configBlob, typeYAML, make([]byte, maxConfigBytes), nil, blob.ModifiedAccessConditions{})
	must(t, err)
	if body, _, err := s.Config(ctx); err != nil || len(body) != maxConfigBytes {
		t.Errorf("reading the largest: %d bytes, %v", len(body), err)
	}
}

func TestAForeignDocumentLiesBesideItsParameters(t *testing.T) {
	s, ctx := newStore(t), background(t)
	body, meta := []byte("<mtr/>"), []byte(`{"probe":"mtr"}`)
	sum := inbox.ForeignSum(body, map[string]string{"probe": "mtr"})
	for range 2 {
		name, err := s.PutForeign(ctx, slot0, sum, "xml", body, meta)
		if want := s.rawContainer() + "/foreign/date=2026-11-30/" + sum + ".xml"; err != nil || name != want {
			t.Fatalf("name %q, %v; want %q", name, err, want)
		}
		got, found, err := s.ReadDocument(ctx, name)
		if err != nil || !found || !bytes.Equal(got, body) {
			t.Errorf("document %q, %v, %v", got, found, err)
		}
		got, found, err = s.ReadDocument(ctx, strings.TrimSuffix(name, "xml")+"meta.json")
		if err != nil || !found || !bytes.Equal(got, meta) {
			t.Errorf("parameters %q, %v, %v", got, found, err)
		}
	}
}

func TestQuarantineKeepsTheBodyAndTheFirstReason(t *testing.T) {
	s, ctx := newStore(t), background(t)
	reason := Reason{Stage: "convert", Text: "no JSON at byte 3", Attempts: 1}
	var names []string
	for range 2 {
		name, err := s.Quarantine(ctx, slot0, "westeurope/1020_x.json.gz", []byte("{{{"), "json", reason)
		must(t, err)
		names = append(names, name)
		reason.Attempts++
	}
	want := s.quarantineContainer() + "/date=2026-11-30/fb337d3432f9465ea0a23c33debf6525c68f21f95061a35ff08c271f6c8e176b.json"
	if names[0] != want || names[1] != want {
		t.Errorf("names %q, want %q", names, want)
	}
	blobName := strings.TrimPrefix(names[0], s.quarantineContainer()+"/")
	body, _, found, err := s.get(ctx, s.quarantineContainer(), blobName, 100)
	if err != nil || !found || string(body) != "{{{" {
		t.Errorf("body %q, %v, %v", body, found, err)
	}
	text, _, found, err := s.get(ctx, s.quarantineContainer(), strings.TrimSuffix(blobName, "json")+"reason.json", 1000)
	if err != nil || !found {
		t.Fatalf("reason: %v, %v", found, err)
	}
	var got Reason
	must(t, json.Unmarshal(text, &got))
	wantReason := Reason{Origin: "westeurope/1020_x.json.gz", Stage: "convert", Text: "no JSON at byte 3", Attempts: 1, When: slot0}
	if d := cmp.Diff(wantReason, got); d != "" {
		t.Errorf("reason (-want +got):\n%s", d)
	}
}

func TestBlobsAreListedByKindAndDayAndCountedBySlot(t *testing.T) {
	s, ctx := newStore(t), background(t)
	var want []string
	for _, source := range []string{"eastus", "westeurope"} {
		for _, slot := range []time.Time{slot0, slot0.Add(10 * time.Minute), slot0.AddDate(0, 0, 1)} {
			id := wire.AssignmentID(s.environment, slot, source, "tcp-64", 0)
			name, _, err := s.PutDocument(ctx, source, slot, id, []byte("body"))
			must(t, err)
			if slot.Day() == slot0.Day() {
				want = append(want, name)
			}
		}
	}
	_, _, err := s.PutSamples(ctx, "westeurope", slot0, idOf(s.environment, "westeurope"), results(s.environment, 5))
	must(t, err)
	_, err = s.PutForeign(ctx, slot0, fmt.Sprintf("%064x", 1), "xml", []byte("x"), []byte("{}"))
	must(t, err)
	_, err = s.Quarantine(ctx, slot0, "x", []byte("x"), "bin", Reason{})
	must(t, err)

	var got []string
	for b, err := range s.Blobs(ctx, Documents, slot0) {
		must(t, err)
		if b.Size != 4 || b.Created.IsZero() {
			t.Errorf("%+v", b)
		}
		got = append(got, b.Name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("documents of the day (-want +got):\n%s", d)
	}
	for _, c := range []struct {
		kind Kind
		day  time.Time
		want int
	}{{Documents, time.Time{}, 6}, {Documents, slot0.AddDate(0, 0, 1), 2}, {Documents, slot0.AddDate(0, 0, 2), 0}, {Samples, slot0, 1},
		{Foreign, slot0, 1}, {Foreign, time.Time{}, 1}, {Quarantined, slot0, 1}, {Quarantined, time.Time{}, 1}, {Quarantined, slot0.AddDate(0, 0, 1), 0}} {
		n := 0
		for _, err := range s.Blobs(ctx, c.kind, c.day) {
			must(t, err)
			n++
		}
		if n != c.want {
			t.Errorf("kind %d on %s: %d, want %d", c.kind, c.day, n, c.want)
		}
	}
	if n, err := s.Count(ctx, Documents, slot0); err != nil || n != 2 {
		t.Errorf("documents of the slot: %d, %v; want 2", n, err)
	}
}

func TestAConflictOfAnotherKindIsAnError(t *testing.T) {
	s, ctx := newStore(t), background(t)
	// The container is gone: a 404 on writing must not pass for "exists already".
	_, err := s.container(s.configContainer()).Delete(ctx, nil)
	must(t, err)
	if _, err := s.PinConfig(ctx, []byte("x")); err == nil || status(err) != http.StatusNotFound {
		t.Errorf("pinning without the container: %v", err)
	}
	if _, err := s.CreatePlan(ctx, slot0, plan(s.environment, 1)); err != nil {
		t.Errorf("the other containers: %v", err)
	}
}
