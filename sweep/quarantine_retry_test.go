package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/archive"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

// swept is an environment in which a sweep was planned, and documents of it were refused.
type swept struct {
	account     account.Account
	environment string
	archive     *archive.Store
	tables      *tables.Store
	now         time.Time
	document    wire.Document // what westeurope is to deliver
}

const sweptConfig = `version: 1
environment: %s
loopback: true
probers:
  - region: westeurope
    addresses: {public: [127.0.0.11/32]}
  - region: eastus
    addresses: {public: [127.0.0.12/32]}
probes:
  - {name: tcp-64, kind: tcp, schedule: "*/10 * * * *", paths: [public], count: 3, interval: 20ms, timeout: 1s, request: 64}
`

func newSwept(t *testing.T) *swept {
	t.Helper()
	a, environment := azuritetest.Environment(t)
	slot := scriptNow.Truncate(10 * time.Minute)
	w := &swept{account: a, environment: environment, now: scriptNow}
	var err error
	if w.archive, err = archive.Open(a, environment); err != nil {
		t.Fatal(err)
	}
	if w.tables, err = tables.Open(a, environment); err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(errors.Join(w.archive.Ensure(t.Context()), w.tables.Ensure(t.Context(), slot)))
	check(w.archive.PutConfig(t.Context(), fmt.Appendf(nil, sweptConfig, environment)))
	for id, host := range map[string]string{"westeurope": "127.0.0.11", "eastus": "127.0.0.12"} {
		body, err := json.Marshal(wire.Registration{Version: wire.RegistrationVersion, Environment: environment, Prober: id, Region: id, Started: slot.Add(-time.Hour),
			Heartbeat: slot, HeartbeatInterval: 30 * time.Second, Addresses: []wire.PathAddress{{Path: "public", Host: host, TCPPort: 7700}}, ReadsAssignments: []int{wire.AssignmentsVersion}})
		check(err)
		azuritetest.Upload(t, a, wire.ProbersContainer(environment), wire.RegistrationBlob(id), body)
	}
	d := &dispatch.Dispatcher{Environment: environment, Mailbox: w.archive, Ledger: w.tables, Rows: w.tables, Resolver: net.DefaultResolver,
		Now: func() time.Time { return slot.Add(time.Second) }, Log: slog.New(slog.DiscardHandler), NewSeed: func() wire.Key { return wire.Key{1} }}
	_, err = d.Sweep(t.Context(), slot, nil)
	check(err)
	current, _, err := w.archive.ReadCurrent(t.Context(), "westeurope")
	check(err)
	var told wire.Current
	check(json.Unmarshal(current, &told))
	task := told.Assignments[0]
	run := goodRun("eastus", "public", task.Start, time.Millisecond, 3, 0)
	run.Address, run.Counts.Warmup = task.Runs[0].Address, 0
	for i := range run.Samples.DueNS {
		run.Samples.DueNS[i], run.Samples.SentNS[i] = int64(i)*int64(20*time.Millisecond), int64(i)*int64(20*time.Millisecond)
	}
	end := task.Start.Add(time.Second)
	run.End = &end
	w.document = wire.Document{Version: wire.DocumentVersion, Environment: environment, Slot: task.Slot, Source: "westeurope", Probe: task.Probe,
		Assignment: task.ID, Attempt: "0a1b2c3d", Provenance: wire.Provenance{ProberVersion: "1.0.0"}, Runs: []wire.Run{run}}
	return w
}

// quarantine has a document of westeurope lie in quarantine, as Ingest would have put it there.
func (w *swept) quarantine(t *testing.T, stage string, change func(*wire.Document)) (sha string) {
	t.Helper()
	d := w.document
	change(&d)
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	origin := wire.InboxBlob("westeurope", d.Slot, d.Assignment, d.Attempt)
	name, err := w.archive.Quarantine(t.Context(), w.now, origin, body, "json", inbox.Reason{Stage: stage, Text: "for a test", Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	return name[strings.LastIndex(name, "/")+1:][:64]
}

// sweep runs a command of the program.
func (w *swept) sweep(args ...string) (code int, stdout, stderr string) {
	var out, complaints bytes.Buffer
	get := func(name string) string {
		return map[string]string{account.EnvConnectionString: w.account.ConnectionString, account.EnvEnvironment: w.environment}[name]
	}
	code = run(context.Background(), args, environ{get: get, stdin: strings.NewReader(""), now: func() time.Time { return w.now }}, &out, &complaints)
	return code, out.String(), complaints.String()
}

// left is how many bodies lie in quarantine, and how many documents wait.
func (w *swept) left(t *testing.T) (held, waiting int) {
	t.Helper()
	for _, err := range w.archive.Quarantined(t.Context(), time.Time{}, "") {
		if err != nil {
			t.Fatal(err)
		}
		held++
	}
	waiting, err := w.archive.InboxSize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return held, waiting
}

func TestAProbersDocumentIsHeldAgainstItsPlanOnceMore(t *testing.T) {
	w := newSwept(t)
	sha := w.quarantine(t, "panic", func(*wire.Document) {})
	for _, c := range []struct {
		args          []string
		want          string
		held, waiting int
	}{
		{[]string{"--dry-run", sha}, "would be stored", 1, 0},
		{[]string{sha[:12]}, "stored", 0, 0},
	} {
		code, stdout, stderr := w.sweep(append([]string{"quarantine", "retry", "--format", "json"}, c.args...)...)
		held, waiting := w.left(t)
		if code != exitOK || !strings.Contains(stdout, `"outcome": "`+c.want+`"`) || !strings.Contains(stdout, `"rows": 1`) || held != c.held || waiting != c.waiting {
			t.Errorf("%q: exit code %d, %d held, %d waiting\n%s%s", c.args, code, held, waiting, stdout, stderr)
		}
	}
	// It is a planned run like any other: the newest of its series, and in the ledger.
	newest, err := w.tables.Latest(t.Context(), "", "")
	if err != nil || len(newest) != 1 || newest[0].Assignment != w.document.Assignment || newest[0].Attempt != "0a1b2c3d" {
		t.Errorf("newest runs %+v, %v", newest, err)
	}
	_, entries, _, err := w.tables.Sweep(t.Context(), w.document.Slot)
	if err != nil || !slices.ContainsFunc(entries, func(e ledger.Entry) bool { return e.Attempt == "0a1b2c3d" }) {
		t.Errorf("ledger %+v, %v", entries, err)
	}
}

func TestWhatIsRefusedAgainStaysAndSaysWhy(t *testing.T) {
	later := func(w *swept) { w.now = w.now.Add(8 * 24 * time.Hour) }
	for what, c := range map[string]struct {
		stage  string
		change func(*wire.Document)
		before func(w *swept)
		want   string
	}{
		"too late":          {"panic", func(*wire.Document) {}, later, "documents are taken for 168h0m0s"},
		"not as planned":    {"plan", func(d *wire.Document) { d.Probe = "other" }, nil, "the document says probe"},
		"of no sweep":       {"plan", func(d *wire.Document) { d.Slot = d.Slot.Add(-10 * time.Minute) }, nil, "no sweep was planned"},
		"only a beginning":  {"size", func(*wire.Document) {}, nil, "have it sent again"},
		"a second document": {"conflict", func(d *wire.Document) { d.Attempt = "ffffffff" }, storeFirst, "another document of its assignment is stored"},
	} {
		t.Run(what, func(t *testing.T) {
			w := newSwept(t)
			if c.before != nil {
				c.before(w)
			}
			sha := w.quarantine(t, c.stage, c.change)
			for _, args := range [][]string{{"--dry-run", sha}, {sha}, {"--all", "--stage", c.stage}} {
				code, stdout, stderr := w.sweep(append([]string{"quarantine", "retry"}, args...)...)
				if held, waiting := w.left(t); code != exitBad || !strings.Contains(stdout, "refused") || !strings.Contains(stdout, c.want) || held != 1 || waiting != 0 {
					t.Errorf("%q: exit code %d, %d held, %d waiting\n%s%s", args, code, held, waiting, stdout, stderr)
				}
			}
			held, err := firstHeld(t, w)
			if err != nil || held.Why.Text != "for a test" || held.Why.Stage != c.stage {
				t.Errorf("its reason is now %+v, %v", held.Why, err)
			}
		})
	}
}

func firstHeld(t *testing.T, w *swept) (inbox.Held, error) {
	for h, err := range w.archive.Quarantined(t.Context(), time.Time{}, "") {
		return h, err
	}
	return inbox.Held{}, errors.New("nothing is held")
}

// storeFirst stores the assignment's first document.
func storeFirst(w *swept) {
	body, err := json.Marshal(w.document)
	if err == nil {
		_, _, err = w.archive.PutDocument(context.Background(), "westeurope", w.document.Slot, w.document.Assignment, body)
	}
	if err != nil {
		panic(err)
	}
}

// What its prober delivered once more in the meantime is the app's to take.
func TestADocumentThatWaitsAlreadyStaysInBothPlaces(t *testing.T) {
	w := newSwept(t)
	sha := w.quarantine(t, "panic", func(*wire.Document) {})
	azuritetest.Upload(t, w.account, wire.InboxContainer(w.environment), wire.InboxBlob("westeurope", w.document.Slot, w.document.Assignment, w.document.Attempt), []byte("x"))
	code, stdout, stderr := w.sweep("quarantine", "retry", sha)
	if held, waiting := w.left(t); code != exitOK || !strings.Contains(stdout, retryWaiting) || held != 1 || waiting != 1 {
		t.Errorf("exit code %d, %d held, %d waiting\n%s%s", code, held, waiting, stdout, stderr)
	}
}

// A crash between the two deletions leaves a reason without its body, which goes in time.
func TestAReasonAloneIsShownAndGoes(t *testing.T) {
	w := newSwept(t)
	w.quarantine(t, "panic", func(*wire.Document) {})
	h, err := firstHeld(t, w)
	if err != nil {
		t.Fatal(err)
	}
	body := h
	body.WhyName = ""
	if err := w.archive.Unquarantine(t.Context(), body); err != nil {
		t.Fatal(err)
	}
	if code, stdout, _ := w.sweep("quarantine", "list", "--format", "json"); code != exitOK || !strings.Contains(stdout, `"size_bytes": null`) || !strings.Contains(stdout, "for a test") {
		t.Errorf("listed: %d\n%s", code, stdout)
	}
	if code, _, stderr := w.sweep("quarantine", "show", h.SHA256, "--body"); code != exitBad || !strings.Contains(stderr, "only its reason is left") {
		t.Errorf("shown: %d %s", code, stderr)
	}
	// The reason is written before the body, which may be on its way.
	for later, want := range []int{1, 1, 0} {
		w.now = scriptNow.Add(time.Duration(later) * 45 * time.Minute)
		if code, stdout, _ := w.sweep("quarantine", "retry", "--all"); code != exitOK || !strings.Contains(stdout, retryGone) {
			t.Errorf("retried: %d\n%s", code, stdout)
		}
		if held, _ := w.left(t); held != want {
			t.Errorf("%s later: %d held, want %d", w.now.Sub(scriptNow), held, want)
		}
	}
}

func TestWhatOfTheQuarantineFits(t *testing.T) {
	h := inbox.Held{Why: inbox.Reason{Stage: "plan", When: scriptNow}}
	for what, c := range map[string]struct {
		q    heldQuery
		want bool
	}{
		"all":       {heldQuery{}, true},
		"stage":     {heldQuery{stage: "plan"}, true},
		"another":   {heldQuery{stage: "size"}, false},
		"since":     {heldQuery{since: scriptNow}, true},
		"since it":  {heldQuery{since: scriptNow.Add(time.Second)}, false},
		"until":     {heldQuery{until: scriptNow.Add(time.Second)}, true},
		"before it": {heldQuery{until: scriptNow}, false},
	} {
		if got := c.q.fits(h); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	for body, want := range map[string]bool{"a\tb\r\n\x1b[31m": true, "\xff": false, "\x00\x01\x02a": false, "": true} {
		text, ok := printable([]byte(body))
		if ok != want || strings.ContainsAny(text, "\x1b\t\r") {
			t.Errorf("%q: %q, %v", body, text, ok)
		}
	}
}

// Of two bodies with a run in common the one that was refused first is stored.
func TestAllAreRetriedInTheOrderInWhichTheyCame(t *testing.T) {
	w := newSwept(t)
	var first string
	for i, attempt := range []string{"0000000a", "0000000b"} {
		w.now = scriptNow.Add(time.Duration(i) * time.Second)
		sha := w.quarantine(t, "panic", func(d *wire.Document) { d.Attempt = attempt })
		if i == 0 {
			first = sha
		}
	}
	w.now = scriptNow
	code, stdout, stderr := w.sweep("quarantine", "retry", "--all", "--format", "csv")
	if lines := strings.Split(stdout, "\n"); code != exitBad || len(lines) < 3 || !strings.HasPrefix(lines[1], first) || !strings.Contains(lines[1], ",stored,") || !strings.Contains(lines[2], ",conflict,") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}
