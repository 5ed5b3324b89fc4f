package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
)

type rest = ingest.Inbox // embedded under its own name, Inbox would hide the method

// faultyInbox takes documents, or does not, and fails at whatever follows.
type faultyInbox struct {
	rest // nil: nothing else is called
	drop error
}

var errAway = errors.New("storage is \x1b[31maway")

func (f faultyInbox) DropForeign(context.Context, []byte, map[string]string) (inbox.Item, bool, error) {
	return inbox.Item{Name: wire.InboxForeignFolder + "/x"}, false, f.drop
}

func (f faultyInbox) Take(context.Context, inbox.Item) (inbox.Item, []byte, bool, error) {
	return inbox.Item{}, nil, false, errAway
}

func storeInto(t *testing.T, in faultyInbox) (c *converter, stdout, stderr *bytes.Buffer, err error) {
	t.Helper()
	start := time.Date(2026, 11, 30, 10, 0, 30, 0, time.UTC)
	body, err := json.Marshal(wire.Document{Version: wire.DocumentVersion, Environment: "dev", Slot: start.Truncate(time.Minute), Source: "westeurope",
		Probe: "tcp-64", Assignment: strings.Repeat("0a", 16), Attempt: "0a1b2c3d", Provenance: wire.Provenance{ProberVersion: "1.0.0"},
		Runs: []wire.Run{goodRun("eastus", "public", start, 82*time.Millisecond, 100, 2)}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "doc.json")
	if err := os.WriteFile(name, body, 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	now := func() time.Time { return scriptNow }
	s := &session{env: environ{get: func(string) string { return "" }, now: now}, stdout: stdout, stderr: stderr, timeout: time.Minute}
	c = &converter{session: s, progress: s.progress()}
	c.ingester = &ingest.Ingester{Environment: "dev", Inbox: in, Now: now, Log: logTo(&c.said)}
	return c, stdout, stderr, c.file(t.Context(), name)
}

func TestADocumentThatIsOnlyInTheInboxIsNotCalledStored(t *testing.T) {
	c, stdout, stderr, err := storeInto(t, faultyInbox{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.print(formatJSON, c.answer()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Stored bool             `json:"stored"`
		Runs   []map[string]any `json:"runs"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Stored || len(got.Runs) != 1 || got.Runs[0]["document"] != nil {
		t.Errorf("answer %+v, want one row that is not stored", got)
	}
	for _, want := range []string{"doc.json is in the inbox; the app stores it at its next Ingest", "level=WARN", `away`} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("standard error says %q, want %q in it", stderr, want)
		}
	}
	if strings.Contains(stderr.String(), "\x1b") {
		t.Errorf("an escape came through: %q", stderr)
	}
}

func TestAnInboxThatCannotBeReachedIsAnErrorOfTheStorage(t *testing.T) {
	c, _, _, err := storeInto(t, faultyInbox{drop: errAway})
	var p *problem
	if !errors.As(err, &p) || p.code != exitUnreachable || !errors.Is(err, errAway) {
		t.Errorf("%v, want exit code %d and the storage's error", err, exitUnreachable)
	}
	if len(c.records) > 0 {
		t.Errorf("%d rows are shown that are not stored", len(c.records))
	}
}
