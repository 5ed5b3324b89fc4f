package archive

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
)

// deliver puts a document into the inbox as a prober does.
func deliver(t testing.TB, s *Store, prober string, body []byte) string {
	t.Helper()
	name := wire.InboxBlob(prober, slot0, idOf(s.environment, prober), "0a1b2c3d")
	_, err := s.put(background(t), s.inboxContainer(), name, typeGzip, body, nil, absent())
	must(t, err)
	return name
}

func waiting(t testing.TB, s *Store) []Item {
	t.Helper()
	var out []Item
	for it, err := range s.Inbox(background(t), maxPage) {
		must(t, err)
		out = append(out, it)
	}
	return out
}

func TestAnItemIsTakenCountedReadAndRemoved(t *testing.T) {
	s, ctx := newStore(t), background(t)
	name := deliver(t, s, "westeurope", []byte("body"))
	items := waiting(t, s)
	if len(items) != 1 || items[0].Name != name || items[0].Attempts != 0 || items[0].Size != 4 || items[0].Meta != nil ||
		time.Since(items[0].Created).Abs() > time.Hour {
		t.Fatalf("inbox: %+v", items)
	}
	first, body, taken, err := s.Take(ctx, items[0])
	if err != nil || !taken || first.Attempts != 1 || string(body) != "body" {
		t.Fatalf("taken: %+v, %q, %v, %v", first, body, taken, err)
	}
	if _, _, taken, err := s.Take(ctx, items[0]); taken || err != nil {
		t.Errorf("taken with an old ETag: %v, %v", taken, err)
	}
	items = waiting(t, s)
	if len(items) != 1 || items[0].Attempts != 1 {
		t.Fatalf("after the first attempt: %+v", items)
	}
	second, _, taken, err := s.Take(ctx, items[0])
	if err != nil || !taken || second.Attempts != 2 {
		t.Fatalf("taken again: %+v, %v, %v", second, taken, err)
	}
	must(t, s.Remove(ctx, first)) // it is the second's now
	if n, err := s.InboxSize(ctx); n != 1 || err != nil {
		t.Errorf("after the first's Remove: %d, %v", n, err)
	}
	for range 2 {
		must(t, s.Remove(ctx, second))
	}
	if n, err := s.InboxSize(ctx); n != 0 || err != nil {
		t.Errorf("after the second's Remove: %d, %v", n, err)
	}
}

func TestOneOfManyTakesAnItem(t *testing.T) {
	s, ctx := newStore(t), background(t)
	deliver(t, s, "westeurope", []byte("body"))
	it := waiting(t, s)[0]
	var mu sync.Mutex
	var wg sync.WaitGroup
	winners := 0
	for range 8 {
		wg.Go(func() {
			_, _, taken, err := s.Take(ctx, it)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if taken {
				winners++
			}
		})
	}
	wg.Wait()
	if winners != 1 || waiting(t, s)[0].Attempts != 1 {
		t.Errorf("%d took it; %+v", winners, waiting(t, s)[0])
	}
}

func TestAnAttemptIsTakenBack(t *testing.T) {
	s, ctx := newStore(t), background(t)
	deliver(t, s, "westeurope", []byte("x"))
	it, _, _, err := s.Take(ctx, waiting(t, s)[0])
	must(t, err)
	must(t, s.Release(ctx, it))
	if now := waiting(t, s)[0]; now.Attempts != 0 {
		t.Errorf("after Release: %+v", now)
	}
	again, _, taken, err := s.Take(ctx, waiting(t, s)[0])
	must(t, err)
	must(t, s.Release(ctx, it)) // that of the first, which somebody else has taken since
	if now := waiting(t, s)[0]; !taken || now.Attempts != 1 || now.ETag != again.ETag {
		t.Errorf("taken %v, stored %+v", taken, now)
	}
	must(t, s.Remove(ctx, again))
	must(t, s.Release(ctx, again)) // gone
}

func TestOfAnItemLargerThanADocumentTheBeginningIsRead(t *testing.T) {
	s, ctx := newStore(t), background(t)
	deliver(t, s, "westeurope", make([]byte, wire.MaxDocumentBytes+1))
	it, body, taken, err := s.Take(ctx, waiting(t, s)[0])
	if !errors.Is(err, ErrTooLarge) || !taken || len(body) != wire.MaxDocumentBytes {
		t.Errorf("%d bytes, taken %v, %v", len(body), taken, err)
	}
	if now := waiting(t, s)[0]; now.Attempts != 1 || it.Attempts != 1 || it.ETag != now.ETag {
		t.Errorf("item %+v, stored %+v", it, now)
	}
	must(t, s.Remove(ctx, it))
	if n, _ := s.InboxSize(ctx); n != 0 {
		t.Error("it cannot be removed")
	}
}

func TestAForeignDocumentKeepsItsParametersThroughTheInbox(t *testing.T) {
	s, ctx := newStore(t), background(t)
	meta := map[string]string{"X-Probe": "mtr ⇄ Ü", "source": "weu", "empty": "", "line": "a\r\nb: c"}
	body := []byte("<mtr/>")
	dropped, fresh, err := s.DropForeign(ctx, body, meta)
	must(t, err)
	if !fresh || dropped.Attempts != 1 {
		t.Errorf("a new item: taken %v, %+v", fresh, dropped)
	}
	if want := "_http/" + inbox.ForeignSum(body, meta); dropped.Name != want {
		t.Errorf("name %q, want %q", dropped.Name, want)
	}
	again, fresh, err := s.DropForeign(ctx, body, meta)
	must(t, err)
	if fresh {
		t.Error("what lies there already is taken")
	}
	other, _, err := s.DropForeign(ctx, body, map[string]string{"source": "neu"})
	must(t, err)
	items := waiting(t, s)
	if len(items) != 2 || again.Name != dropped.Name || other.Name == dropped.Name {
		t.Fatalf("inbox %+v", items)
	}
	for _, it := range items {
		if it.Name == dropped.Name {
			if d := cmp.Diff(dropped, it, cmpopts.EquateApproxTime(2*time.Second)); d != "" {
				t.Errorf("listed (-dropped +listed):\n%s", d)
			}
		}
	}
	taken, got, ok, err := s.Take(ctx, dropped)
	if err != nil || !ok || !bytes.Equal(got, body) || taken.Attempts != 2 {
		t.Fatalf("taken %+v, %q, %v, %v", taken, got, ok, err)
	}
	for _, it := range waiting(t, s) { // the attempt has not cost the parameters
		if it.Name == dropped.Name && (it.Attempts != 2 || !cmp.Equal(it.Meta, meta)) {
			t.Errorf("after Take: %+v", it)
		}
	}
	back, _, err := s.DropForeign(ctx, body, meta)
	if err != nil || back.Attempts != 2 || back.ETag != taken.ETag {
		t.Errorf("dropped while it is taken: %+v, %v", back, err)
	}
	if _, _, err := s.DropForeign(ctx, body, map[string]string{"x": strings.Repeat("y", maxParameterBytes)}); !errors.Is(err, ErrRefused) {
		t.Errorf("parameters that the service would refuse: %v", err)
	}
	if _, _, err := s.DropForeign(ctx, body, map[string]string{"x": strings.Repeat("y", maxParameterBytes-100)}); err != nil {
		t.Errorf("the largest parameters: %v", err)
	}
}
