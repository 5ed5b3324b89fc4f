package ingest_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
)

// What was stored once comes to the same when it is converted once more, however old it is by then.
func TestAnArchivedDocumentComesToTheSameAgain(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	d := b.documents(t, "westeurope", "0000000a")["tcp-64"]
	b.deliver(t, d)
	b.drain(t)
	b.sleep(100 * 24 * time.Hour)
	again := ingest.NewAgain(environment, b.store, b.clock)
	at := inbox.Archived{Name: b.store.Documents()[0], Source: d.Source, Slot: d.Slot, Assignment: d.Assignment}
	c, leave, err := again.Planned(t.Context(), at, pack(t, d))
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	for i, r := range c.Results {
		if r.Document != at.Name || r.Attempt != "0000000a" || r.Series.Target != d.Runs[i].Target {
			t.Errorf("result %+v", r)
		}
	}
	for what, change := range map[string]func(*inbox.Archived){
		"another source":     func(a *inbox.Archived) { a.Source = "northeurope" },
		"another assignment": func(a *inbox.Archived) { a.Assignment = strings.Repeat("b", 32) },
		"another day":        func(a *inbox.Archived) { a.Slot = a.Slot.AddDate(0, 0, 1) },
		"another minute":     func(a *inbox.Archived) { a.Slot = a.Slot.Add(time.Minute) },
	} {
		other := at
		change(&other)
		var refused *ingest.Refused
		if _, _, err := again.Planned(t.Context(), other, pack(t, d)); !errors.As(err, &refused) || refused.Stage != "plan" {
			t.Errorf("%s: %v", what, err)
		}
	}
	// In the inbox it would be too late.
	var refused *ingest.Refused
	if _, _, err := again.Waiting(t.Context(), wire.InboxBlob(d.Source, d.Slot, d.Assignment, d.Attempt), pack(t, d)); !errors.As(err, &refused) || refused.Stage != "too_late" {
		t.Errorf("waiting: %v", err)
	}
}

// A body that was refused can be tried again with what it came with, also where the inbox never took it.
func TestQuarantineKeepsTheParameters(t *testing.T) {
	for what, c := range map[string]struct {
		body []byte
		p    ingest.Parameters
		want map[string]string
	}{
		"refused when it was read": {[]byte("rubbish"), ingest.Parameters{Source: "westeurope", Path: "vpn"}, map[string]string{"source": "westeurope", "path": "vpn"}},
		"never taken":              {[]byte("rubbish"), ingest.Parameters{Source: "westeurope", Path: "a|b"}, map[string]string{"source": "westeurope", "path": "a|b"}},
		"too long": {[]byte("rubbish"), ingest.Parameters{Probe: strings.Repeat("x", 5000)},
			map[string]string{"probe": strings.Repeat("x", 1000) + " …"}},
		"none": {[]byte("rubbish"), ingest.Parameters{}, map[string]string{}},
	} {
		b := newBench(t)
		if _, err := b.ingester().Foreign(t.Context(), c.body, c.p); err == nil {
			t.Fatalf("%s: it was not refused", what)
		}
		if rs := b.store.Reasons(); len(rs) != 1 || !maps.Equal(rs[0].Parameters, c.want) {
			t.Errorf("%s: reasons %+v", what, rs)
		}
	}
	// A prober's document comes with none.
	b := newBench(t)
	b.store.Deliver("westeurope/rubbish", []byte("rubbish"), b.clock())
	b.drain(t)
	if rs := b.store.Reasons(); len(rs) != 1 || rs[0].Parameters != nil {
		t.Errorf("a prober's: %+v", rs)
	}
}
