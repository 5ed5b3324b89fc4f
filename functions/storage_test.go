package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/plan"
	"isochrone/sweep/tables"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

// stored is the app on real storage, with a configuration of two probers, neither of which runs.
type stored struct {
	app         *app
	environment string
	blobs       *archive.Store
	rows        *tables.Store
	log         *bytes.Buffer
}

func onStorage(t *testing.T) stored {
	t.Helper()
	account, environment := azuritetest.Environment(t)
	s := stored{environment: environment, log: &bytes.Buffer{}}
	s.app = newApp(settings{Environment: environment, Account: account, Sweep: schedule(t, "0 * * * * *"), Timeout: 2 * time.Minute},
		time.Now, slog.New(slog.NewJSONHandler(s.log, nil)))
	var err error
	if s.blobs, err = archive.Open(account, environment); err != nil {
		t.Fatal(err)
	}
	if s.rows, err = tables.Open(account, environment); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the app logged:\n%s", s.log)
		}
	})
	return s
}

func (s stored) configure(t *testing.T) {
	t.Helper()
	if err := s.blobs.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`version: 1
environment: %s
loopback: true
probers:
  - region: westeurope
    addresses: {public: [127.0.0.0/8]}
  - region: northeurope
    addresses: {public: [127.0.0.0/8]}
probes:
  - name: tcp-64
    kind: tcp
    schedule: "* * * * *"
    paths: [public]
    count: 10
    interval: 20ms
    request: 64
`, s.environment)
	if err := s.blobs.PutConfig(t.Context(), []byte(body)); err != nil {
		t.Fatal(err)
	}
}

func TestATickStoresAPlanAndTellsTheProbers(t *testing.T) {
	s := onStorage(t)
	s.configure(t)
	slot := wire.Slot(time.Now())
	tick := fmt.Sprintf(`{"Data":{"timer":{"ScheduleStatus":{"Last":"0001-01-01T00:00:00","Next":%q},"IsPastDue":false}},"Metadata":{}}`, slot.Format(time.RFC3339))
	if w := post(s.app, "/Sweep", tick); w.Code != http.StatusOK {
		t.Fatalf("Sweep answered %d", w.Code)
	}
	body, found, err := s.blobs.ReadPlan(t.Context(), slot)
	if err != nil || !found {
		t.Fatalf("plan found: %t, %v", found, err)
	}
	p, err := plan.Decode(body)
	if err != nil || p.Runs() != 2 {
		t.Fatalf("plan of %d runs, want 2 (%v)", p.Runs(), err)
	}
	for _, prober := range []string{"westeurope", "northeurope"} {
		b, _, err := s.blobs.ReadCurrent(t.Context(), prober)
		var c wire.Current
		if err == nil {
			err = json.Unmarshal(b, &c)
		}
		if err != nil || len(c.Assignments) != 1 || c.Assignments[0].Runs[0].Failure != wire.FailureTargetDown {
			t.Errorf("%s is told %s (%v)", prober, b, err)
		}
	}

	if w := post(s.app, "/Sweep", tick); w.Code != http.StatusOK {
		t.Fatalf("the same tick again answered %d", w.Code)
	}
	again, _, err := s.blobs.ReadPlan(t.Context(), slot)
	if err != nil || !bytes.Equal(body, again) {
		t.Errorf("the same tick again changed the plan (%v)", err)
	}
	if w := post(s.app, "/Ingest", `{"Data":{"timer":{}}}`); w.Code != http.StatusOK {
		t.Errorf("Ingest answered %d", w.Code)
	}
}

// The app asks the storage service itself: its own clock, an hour ahead, would expire what runs.
func TestIngestWithAWrongClockExpiresNothingAndSaysSo(t *testing.T) {
	s := onStorage(t)
	s.configure(t)
	slot := wire.Slot(time.Now())
	if w := post(s.app, "/Sweep", fmt.Sprintf(`{"Data":{"timer":{"ScheduleStatus":{"Next":%q}}}}`, slot.Format(time.RFC3339))); w.Code != http.StatusOK {
		t.Fatalf("Sweep answered %d", w.Code)
	}
	ahead := newApp(s.app.settings, func() time.Time { return time.Now().Add(time.Hour) }, slog.New(slog.NewJSONHandler(s.log, nil)))
	if w := post(ahead, "/Ingest", `{"Data":{"timer":{}}}`); w.Code != http.StatusInternalServerError {
		t.Errorf("Ingest answered %d", w.Code)
	}
	if !strings.Contains(s.log.String(), "ahead of the storage service's") {
		t.Error("the log does not say so")
	}
	open, err := s.rows.OpenSweeps(t.Context())
	if err != nil || len(open) != 1 || !open[0].Equal(slot) {
		t.Errorf("open are %s (%v)", open, err)
	}
	for row, err := range s.rows.Runs(t.Context(), tables.RunQuery{}) {
		t.Errorf("row %+v (%v)", row, err)
	}
}

func TestASweepWithoutAConfigurationFailsAndSaysSo(t *testing.T) {
	s := onStorage(t)
	if w := post(s.app, "/Sweep", `{"Data":{"timer":{}}}`); w.Code != http.StatusInternalServerError {
		t.Errorf("answered %d", w.Code)
	}
	if !strings.Contains(s.log.String(), "config") {
		t.Errorf("logged %s", s.log)
	}
}

func foreignDocument(t *testing.T, environment string) []byte {
	t.Helper()
	slot := wire.Slot(time.Now()).Add(-time.Hour)
	start := slot.Add(5 * time.Second)
	d := wire.Document{Version: wire.DocumentVersion, Environment: environment, Slot: slot, Source: "westeurope", Probe: "mine",
		Provenance: wire.Provenance{ProberVersion: "test"},
		Runs: []wire.Run{{Target: "northeurope", Path: "public", Kind: wire.KindTCP, PlannedStart: start, Start: &start,
			Counts: wire.Counts{Sent: 2, Received: 2},
			Samples: wire.Samples{Sequence: wire.Column{0, 1}, DueNS: wire.Column{0, 20_000_000}, SentNS: wire.Column{10, 20_000_010},
				RTTNS: wire.Column{20_000_000, 22_000_000}, Failure: wire.FailureColumn{"", ""}}}}}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestADocumentOfOthersBecomesARowOnce(t *testing.T) {
	s := onStorage(t)
	body := foreignDocument(t, s.environment)
	for range 2 {
		w := post(s.app, "/api/results?source=westeurope", string(body))
		if got := decode(t, w); w.Code != http.StatusCreated || got["stored"] != true || got["rows"] != 1.0 {
			t.Fatalf("answered %d %v", w.Code, got)
		}
	}
	n := 0
	for row, err := range s.rows.Runs(t.Context(), tables.RunQuery{Source: "westeurope", Since: time.Now().Add(-2 * time.Hour), Until: time.Now()}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; row.Series.Probe != "ext.mine" || row.Counts.Received != 2 || row.MinUS == nil || *row.MinUS != 20_000 {
			t.Errorf("row %+v", row)
		}
	}
	if n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	if latest, err := s.rows.Latest(t.Context(), "", ""); err != nil || len(latest) != 0 {
		t.Errorf("%d rows in latest, want none (%v)", len(latest), err)
	}
}

func TestWhatCannotBeReadIsAnsweredWithPlaceAndRemedy(t *testing.T) {
	s := onStorage(t)
	good := string(foreignDocument(t, s.environment))
	for name, c := range map[string]struct {
		body   string
		status int
		where  string
	}{
		"text":      {"rtt min/avg/max = 1/2/3 ms", http.StatusUnsupportedMediaType, ""},
		"cut off":   {good[:len(good)/2], http.StatusBadRequest, "runs[0]"},
		"dtd":       {`<!DOCTYPE a [<!ENTITY b "c">]><isochrone_document/>`, http.StatusBadRequest, "byte 0"},
		"cannot be": {strings.Replace(good, `"received":2`, `"received":1`, 1), http.StatusUnprocessableEntity, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(s.app, "/api/results", c.body)
			got := decode(t, w)
			where, _ := got["where"].(string)
			if w.Code != c.status || got["error"] == "" || got["remedy"] == nil || !strings.Contains(where, c.where) {
				t.Errorf("answered %d %v; want %d with where %q and a remedy", w.Code, got, c.status, c.where)
			}
		})
	}
	if n, err := s.blobs.InboxSize(t.Context()); err != nil || n != 0 {
		t.Errorf("%d documents left in the inbox (%v)", n, err)
	}
}

func TestStorageThatIsAwayAsksForARetry(t *testing.T) {
	s := onStorage(t)
	account := s.app.settings.Account
	account.ConnectionString = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;BlobEndpoint=http://127.0.0.1:1/a;TableEndpoint=http://127.0.0.1:1/a;"
	away := newApp(settings{Environment: s.environment, Account: account, Sweep: s.app.settings.Sweep, Timeout: 3 * time.Second},
		time.Now, slog.New(slog.NewJSONHandler(s.log, nil)))
	w := post(away, "/api/results", "{}")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "127.0.0.1") {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	if strings.Contains(s.log.String(), "YQ==") {
		t.Error("the account's key is in the log")
	}
}
