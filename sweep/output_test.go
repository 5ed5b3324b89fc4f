package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type sample struct {
	Name   string     `json:"name"`
	Detail *string    `json:"detail"`
	P50US  *float64   `json:"p50_us"`
	N      int        `json:"n"`
	When   *time.Time `json:"when"`
	Probes []string   `json:"probes"`
}

func TestCSVHasNamesWithUnitsAndNothingForAbsent(t *testing.T) {
	p50, when, detail := 1234567.25, time.Date(2026, 11, 30, 11, 20, 0, 500, time.FixedZone("CET", 3600)), "a, \"b\""
	var b bytes.Buffer
	if err := writeCSV(&b, []sample{{"x", &detail, &p50, 0, &when, []string{"p", "q"}}, {Name: "y"}}); err != nil {
		t.Fatal(err)
	}
	want := "name,detail,p50_us,n,when,probes\n" +
		"x,\"a, \"\"b\"\"\",1234567.25,0,2026-11-30T10:20:00.0000005Z,p q\n" +
		"y,,,0,,\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestCSVIsSafeForTerminalsAndSpreadsheets(t *testing.T) {
	for in, want := range map[string]string{
		"=HYPERLINK(\"http://x\")": `'=HYPERLINK("http://x")`,
		"+1":                       "'+1",
		"-1":                       "'-1",
		"@SUM(A1)":                 "'@SUM(A1)",
		"\x1b[31mred":              `\x1b[31mred`,
		"\t=1":                     `\t=1`,
		"plain=text":               "plain=text",
	} {
		var b bytes.Buffer
		if err := writeCSV(&b, []sample{{Name: in}}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if rows[1][0] != want {
			t.Errorf("%q is written as %q, want %q", in, rows[1][0], want)
		}
	}
}

func TestJSONSaysNullForAbsentAndKeepsHostileTextIntactButInert(t *testing.T) {
	hostile := "\x1b[2J \u009b31m \u202e \U000E0041 \u2028 <b>&"
	var b bytes.Buffer
	if err := writeJSON(&b, sample{Name: "x", Detail: &hostile}); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if r != '\n' && (r < ' ' || r > '~') {
			t.Errorf("%U stands in the output %q", r, b.String())
		}
	}
	var back map[string]any
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "x", "detail": hostile, "p50_us": nil, "n": 0.0, "when": nil, "probes": nil}
	if diff := cmp.Diff(want, back); diff != "" {
		t.Error(diff)
	}
}
