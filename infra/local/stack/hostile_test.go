package stack_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/stack"
	"isochrone/prober/wire"
)

// post sends a body to Results as a client with the key would.
func post(t *testing.T, s *stack.Stack, key string, body []byte) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Host.URL()+"/api/results", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-functions-key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func zipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func hostileBodies(t *testing.T) map[string][]byte {
	return map[string][]byte{
		"empty":            {},
		"text":             []byte("hello"),
		"truncated json":   []byte(`{"version":1,"environment":"e4","runs":[{"target":"north`),
		"truncated gzip":   zipped(t, bytes.Repeat([]byte(`{"version":1}`), 100))[:40],
		"gzip bomb":        zipped(t, make([]byte, 64<<20)),
		"deep json":        []byte(strings.Repeat(`{"a":`, 100_000)),
		"deep xml":         []byte(strings.Repeat("<a>", 100_000)),
		"entity bomb":      []byte(`<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><isochrone_document version="1">&c;</isochrone_document>`),
		"external entity":  []byte(`<?xml version="1.0"?><!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><isochrone_document>&x;</isochrone_document>`),
		"wrong version":    []byte(`{"version":99,"environment":"e4","runs":[]}`),
		"invalid utf-8":    []byte("{\"version\":1,\"environment\":\"\xff\xfe\"}"),
		"not a document":   []byte(`{"hello":"world"}`),
		"malformed xml":    []byte(`<isochrone_document version="1"><runs></isochrone_document>`),
		"numbers too long": []byte(`{"version":1` + strings.Repeat("0", 1_000_000) + `}`),
	}
}

func TestHostileBodiesAreRefusedKeptAndDisturbNothing(t *testing.T) {
	s := start(t, testConfig("e4", fiveRegions[:2], 20*time.Second, 10*time.Second), nil)
	outcome := sweepOnce(t, s, time.Minute)
	before := rows(t, s, outcome.Slot)

	bodies := hostileBodies(t)
	for name, body := range bodies {
		status, text := post(t, s, s.Host.FunctionKey("Results"), body)
		if status == http.StatusAccepted {
			continue // Ingest's timer had it in hand already: below, it is in quarantine all the same
		}
		if status < 400 || status > 499 {
			t.Errorf("%s: Results answers %d %s; want a 4xx", name, status, text)
		}
		var answer struct{ Error string }
		if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Error) < 10 {
			t.Errorf("%s: Results answers %q; want JSON with a reason", name, text)
		}
	}
	if status, _ := post(t, s, "wrong", bodies["text"]); status != http.StatusUnauthorized {
		t.Errorf("with a wrong key Results answers %d, want 401", status)
	}
	if status, text := post(t, s, s.Host.FunctionKey("Results"), make([]byte, wire.MaxDocumentBytes+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("an oversized body: Results answers %d %s, want 413", status, text)
	}

	// The same through the inbox, under a prober's own folder and names of every kind.
	i := 0
	for _, body := range bodies {
		name := wire.InboxBlob("westeurope", outcome.Slot, wire.AssignmentID("e4", outcome.Slot, "westeurope", "tcp-64", 10+i), "00000000")
		if err := upload(t.Context(), s, "inbox-e4", name, body); err != nil {
			t.Fatal(err)
		}
		i++
	}
	for _, name := range []string{"westeurope/x.json.gz", "nonsense", "_http/nonsense", "eastus/1020_zz_1.json.gz", "a/b/c/d"} {
		if err := upload(t.Context(), s, "inbox-e4", name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	waitUntil(t, 40*time.Second, "the inbox is empty", func() bool { return len(blobs(t, s, "inbox-e4", "")) == 0 })

	kept := map[string]bool{}
	for name, body := range blobs(t, s, "quarantine-e4", "") {
		if !strings.HasSuffix(name, ".reason.json") {
			kept[string(body)] = true
		} else if !json.Valid(body) || len(body) < 20 {
			t.Errorf("%s holds %q", name, body)
		}
	}
	for name, body := range bodies {
		if !kept[string(body)] && len(body) > 0 {
			t.Errorf("%s: the body is not in quarantine", name)
		}
	}
	after := rows(t, s, outcome.Slot)
	for probe, series := range before {
		if len(after[probe]) != len(series) {
			t.Errorf("%s: %d rows after, %d before", probe, len(after[probe]), len(series))
		}
	}
	if again := sweepAfter(t, s, outcome.Slot); again.Failed != 0 || again.Rows != again.Planned {
		t.Errorf("the next sweep came to %+v; want nothing disturbed", again)
	}
}

// sweepAfter makes a sweep of a later slot than the given one.
func sweepAfter(t *testing.T, s *stack.Stack, slot time.Time) stack.Outcome {
	t.Helper()
	if next := slot.Add(time.Minute); time.Now().Before(next) {
		time.Sleep(time.Until(next))
	}
	return sweepOnce(t, s, time.Minute)
}

func waitUntil(t *testing.T, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(250 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %s it does not hold that %s", patience, what)
		}
	}
}
