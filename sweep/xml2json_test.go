package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLooksLikeXML(t *testing.T) {
	for head, want := range map[string]bool{
		"<a/>": true, " \n<?xml?>": true, "\ufeff<a/>": true, "\xff\xfe<\x00a\x00": true, "\xfe\xff\x00<\x00a": true,
		"<\x00a\x00": true, "\x00<\x00a": true, "\xff\xfe\x00\x00<\x00\x00\x00": true, "\x00\x00\xfe\xff\x00\x00\x00<": true,
		"": false, "  ": false, "a<": false, "{}": false, "\x1f\x8b": false, "\ufeff": false,
	} {
		if got := looksLikeXML([]byte(head)); got != want {
			t.Errorf("%q: got %v, want %v", head, got, want)
		}
	}
}

func TestJSONName(t *testing.T) {
	for name, want := range map[string]string{
		"a.xml": "a.json", "A.XML": "A.json", "a.xml.gz": "a.json", "a.jtl": "a.jtl.json", "a": "a.json", ".xml": ".xml.json", "a.b.xml": "a.b.json",
	} {
		if got := jsonName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// An interruption ends the work, and leaves nothing that is not whole.
func TestInterruptedXML2JSON(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(filepath.Join(in, "a.xml"), []byte("<a/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	code := run(ctx, []string{"xml2json", in, "--out", out}, environ{get: func(string) string { return "" }, now: time.Now}, &bytes.Buffer{}, &stderr)
	if code != exitUnreachable || stderr.String() != "sweep: interrupted\n" {
		t.Errorf("got code %d and %q", code, stderr.String())
	}
	x := xml2json{out: out}
	err := x.file(ctx, &job{from: filepath.Join(in, "a.xml"), to: filepath.Join(out, "a.json")}, &batch{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it canceled", err)
	}
	left, err := os.ReadDir(out)
	if err != nil || len(left) != 0 {
		t.Errorf("got %v, %v, want an empty folder", left, err)
	}
}

// full is standard output that cannot be written.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestXML2JSONToAFullDisk(t *testing.T) {
	var stderr bytes.Buffer
	env := environ{get: func(string) string { return "" }, stdin: strings.NewReader("<a/>"), now: time.Now}
	code := run(t.Context(), []string{"xml2json"}, env, full{}, &stderr)
	if code != exitUnreachable || !strings.HasPrefix(stderr.String(), "sweep: writing the answer: no space left on device") {
		t.Errorf("got code %d and %q", code, stderr.String())
	}
}
