package functionshost

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"isochrone/infra/local/azurite/azuritetest"
)

func openTimer(t *testing.T) (*timerStore, string) {
	t.Helper()
	acc, env := azuritetest.Environment(t)
	s, err := openStorage(acc, env)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s.timer("Sweep", 15*time.Second), env
}

func TestTheStatusBlobIsTheHosts(t *testing.T) {
	s, env := openTimer(t)
	if got, err := s.load(t.Context()); got != nil || err != nil {
		t.Fatalf("before anything was stored: %v, %v", got, err)
	}
	when := time.Date(2026, 11, 30, 10, 5, 0, 12_345_600, time.UTC)
	if err := s.store(t.Context(), scheduleStatus{Next: when.Truncate(time.Second).Add(5 * time.Minute), LastUpdated: when}); err != nil {
		t.Fatal(err)
	}
	acc, _ := azuritetest.Environment(t)
	client, err := azblob.NewClientFromConnectionString(acc.ConnectionString, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.DownloadStream(t.Context(), "azure-webjobs-hosts", "timers/"+env+"/Host.Functions.Sweep/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"Last":"0001-01-01T00:00:00","Next":"2026-11-30T10:10:00+00:00","LastUpdated":"2026-11-30T10:05:00.0123456+00:00"}`; string(body) != want {
		t.Errorf("stored %s\n want  %s", body, want)
	}
	got, err := s.load(t.Context())
	if err != nil || !got.Last.IsZero() || !got.LastUpdated.Equal(when) {
		t.Errorf("read back %+v, %v", got, err)
	}
	for _, text := range []string{`{"Last":`, `{"Next":"yesterday"}`} {
		if _, err := s.status.UploadBuffer(t.Context(), []byte(text), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.load(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "reading the timer's status: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTimesOfOtherHostsAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-30T10:05:00+00:00":         "2026-11-30T10:05:00Z",
		"2026-11-30T10:05:00.1234567Z":      "2026-11-30T10:05:00.1234567Z",
		"2026-11-30T11:05:00.5+01:00":       "2026-11-30T10:05:00.5Z",
		"2026-11-30T10:05:00":               "2026-11-30T10:05:00Z",
		"0001-01-01T00:00:00":               "0001-01-01T00:00:00Z",
		"0001-01-01T00:00:00+00:00":         "0001-01-01T00:00:00Z",
		"0001-01-01T01:00:00.0000000+01:00": "0001-01-01T00:00:00Z",
	} {
		got, err := parseDotNetTime(text)
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: %s, %v; want %s", text, got.Format(time.RFC3339Nano), err, want)
		}
	}
}

func TestTheLockIsALeaseThatOneHostHolds(t *testing.T) {
	s, _ := openTimer(t)
	first, err := s.acquire(t.Context())
	if err != nil || first == nil {
		t.Fatalf("the first: %v, %v", first, err)
	}
	if second, err := s.acquire(t.Context()); err != nil || second != nil {
		t.Fatalf("the second, while the first has it: %v, %v", second, err)
	}
	if err := first.renew(t.Context()); err != nil {
		t.Errorf("renewing: %v", err)
	}
	if err := first.release(t.Context()); err != nil {
		t.Errorf("releasing: %v", err)
	}
	second, err := s.acquire(t.Context())
	if err != nil || second == nil {
		t.Fatalf("the second, after the first: %v, %v", second, err)
	}
	if err := first.renew(t.Context()); !errors.Is(err, errLockLost) {
		t.Errorf("the first renews what the second has: %v", err)
	}
	if err := first.release(t.Context()); err != nil {
		t.Errorf("releasing what is lost is no error: %v", err)
	}
	props, err := s.lock.GetProperties(t.Context(), nil)
	if err != nil || *props.LeaseState != lease.StateTypeLeased || *props.LeaseDuration != lease.DurationTypeFixed {
		t.Errorf("the second's lease: %+v, %v", props.LeaseState, err)
	}
	breaker, err := lease.NewBlobClient(s.lock, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := breaker.BreakLease(t.Context(), &lease.BlobBreakOptions{BreakPeriod: new(int32)}); err != nil {
		t.Fatal(err)
	}
	if err := second.renew(t.Context()); !errors.Is(err, errLockLost) {
		t.Errorf("renewing a broken lease: %v", err)
	}
}

// Two hosts with one id: the second runs no timer until the first stops, and then finds what it
// missed. The handler is told so.
func TestASecondHostTakesOverAndServesWhatIsPastDue(t *testing.T) {
	f := timers("Least")
	f["Least/function.json"] = timerJSON("0 0 * * * *")
	var clock atomic.Pointer[time.Time]
	set := func(hour, minute int) {
		instant := time.Date(2026, 11, 30, hour, minute, 0, 0, time.UTC)
		clock.Store(&instant)
	}
	set(9, 50)
	var id string
	first := run(t, f, func(o *Options) {
		id = o.HostID
		o.Now = func() time.Time { return *clock.Load() }
	})
	set(10, 0)
	rec := first.log.wait(0, "the tick of ten o'clock", func(r record) bool { return strings.HasPrefix(r.text, "Executed 'Functions.Least' (S") })
	if rec.attr["category"] != "Function.Least" {
		t.Errorf("%v", rec)
	}
	if body := first.last().Body; !strings.Contains(body, `"Next":"2026-11-30T10:00:00+00:00"`) || !strings.Contains(body, `"IsPastDue":false`) {
		t.Errorf("the first host's tick: %s", body)
	}
	o, log := options(t, f)
	o.HostID = id
	o.LockRetry = 200 * time.Millisecond
	o.Now = func() time.Time { return time.Date(2026, 11, 30, 12, 59, 0, 0, time.UTC) }
	second, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Host: second, t: t, log: log}
	defer func() { _ = second.Stop(context.Background()) }()
	time.Sleep(600 * time.Millisecond)
	if log.has(func(r record) bool { return strings.HasPrefix(r.text, "Executing") }) {
		t.Error("the second host ran the timer while the first had the lock")
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	log.wait(0, "the second host's tick", func(r record) bool { return strings.HasPrefix(r.text, "Executed 'Functions.Least' (S") })
	if body := r.last().Body; !strings.Contains(body, `"Next":"2026-11-30T11:00:00+00:00"`) || !strings.Contains(body, `"IsPastDue":true`) {
		t.Errorf("the second host's tick: %s", body)
	}
}
