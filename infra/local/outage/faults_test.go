package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/infra/local/child"
	"isochrone/infra/local/storageproxy"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/tables"
)

var shared *azurite.Server

func TestMain(m *testing.M) { os.Exit(tests(m)) }

func tests(m *testing.M) int {
	code := 1
	_, err := withStorage(context.Background(), func(server *azurite.Server, _ string) (bool, error) {
		shared = server
		code = m.Run()
		return false, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// every is the faults that storage and the way to it have, the shortest of each.
var every = map[string]storageproxy.Fault{
	"503":                     {Status: http.StatusServiceUnavailable},
	"503 with Retry-After":    {Status: http.StatusServiceUnavailable, RetryAfter: time.Second},
	"429":                     {Status: http.StatusTooManyRequests},
	"500":                     {Status: http.StatusInternalServerError},
	"no answer":               {Hang: 150 * time.Millisecond},
	"cut before":              {CutBefore: true},
	"cut in the request":      {CutHalfway: true},
	"done and not answered":   {CutAfter: true},
	"done and half an answer": {CutAnswer: true},
}

// mixed is a fault function that gives a part of all requests a fault, each in turn.
func mixed(part float64) (fault func(*http.Request) storageproxy.Fault, given func() map[string]int) {
	var lock sync.Mutex
	random := rand.New(rand.NewPCG(11, 7))
	counts := map[string]int{}
	names := []string{}
	for name := range every {
		names = append(names, name)
	}
	return func(*http.Request) storageproxy.Fault {
			lock.Lock()
			defer lock.Unlock()
			if random.Float64() >= part {
				return storageproxy.Fault{}
			}
			name := names[random.IntN(len(names))]
			counts[name]++
			return every[name]
		}, func() map[string]int {
			lock.Lock()
			defer lock.Unlock()
			return counts
		}
}

// Sweeps through storage that fails one request in twelve, in nine ways: what comes of them is what comes of
// them without. A prober tries again at its next step, and the app within a tick or at the next.
func TestSweepsThroughFaultyStorageLoseNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	begin := time.Now().UTC().Add(-4 * time.Hour).Truncate(period).Add(9 * time.Minute)
	r, err := newRehearsal(ctx, shared, "faulty", t.TempDir(), begin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	}()
	first := r.next
	fault, given := mixed(1.0 / 12)
	failed := 0
	for at := begin; at.Before(first.Add(65 * time.Minute)); at = at.Add(step) {
		r.mu.Lock()
		r.now = at
		r.mu.Unlock()
		switch {
		case at.Equal(first.Add(-step)): // after the probers have registered
			r.proxy.SetFault(fault)
		case at.Equal(first.Add(21 * time.Minute)):
			r.proxy.SetFault(nil)
		}
		if err := r.moment(ctx, at, false, period); err != nil {
			if at.After(first.Add(21 * time.Minute)) {
				t.Fatal(err)
			}
			failed++
		}
	}
	for name := range every {
		if given()[name] == 0 {
			t.Errorf("%s was never given: the test shows less than it says", name)
		}
	}
	out := &outcome{}
	if err := r.judge(ctx, out, first); err != nil {
		t.Fatal(err)
	}
	t.Logf("faults %v, %d ticks failed: %+v", given(), failed, out)
	if out.other != 0 || out.complete+out.missed < 3 || out.lost+out.unplanned+out.unhandled != 0 || out.finished != out.received || out.received < 10 {
		t.Errorf("came to %+v", out)
	}
	for h, err := range r.blobs.Quarantined(ctx, time.Time{}, "") {
		t.Errorf("in quarantine: %+v, %v", h, err)
	}
}

// The real handler process, and senders who send again as they are told: of each document there is one row in
// the end, and no answer says that one is kept which is not.
func TestResultsThroughFaultyStorageKeepWhatTheyAccept(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	proxy, err := storageproxy.Start(shared.Account())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	const environment, documents = "results", 24
	url := startHandler(t, ctx, proxy.Account(), environment)
	fault, given := mixed(1.0 / 6)
	proxy.SetFault(fault)
	refused := 0
	var lock sync.Mutex
	var senders sync.WaitGroup
	work := make(chan int)
	for range 4 {
		senders.Go(func() {
			for i := range work {
				n := send(t, ctx, url, foreign(t, environment, i))
				lock.Lock()
				refused += n
				lock.Unlock()
			}
		})
	}
	for i := range documents {
		if i == documents/2 { // away altogether for a moment: nothing may be accepted
			proxy.SetFault(func(*http.Request) storageproxy.Fault {
				return storageproxy.Fault{Status: 503, RetryAfter: time.Second}
			})
			if status, after, body := post(t, ctx, url, foreign(t, environment, documents)); status != http.StatusServiceUnavailable || after == "" {
				t.Errorf("while storage takes nothing: answered %d, Retry-After %q, %s", status, after, body)
			}
			proxy.SetFault(fault)
		}
		work <- i
	}
	close(work)
	senders.Wait()
	send(t, ctx, url, foreign(t, environment, documents))
	proxy.SetFault(nil)
	if status, _, body := trigger(t, ctx, url, "Ingest"); status != http.StatusOK { // what waits in the inbox
		t.Errorf("Ingest answered %d %s", status, body)
	}
	rows, err := tables.Open(shared.Account(), environment)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for row, err := range rows.Runs(ctx, tables.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		found[row.Slot.Format(time.RFC3339)]++
	}
	t.Logf("%d answers of 503; faults %v", refused, given())
	if len(found) != documents+1 {
		t.Errorf("%d of %d documents have a row", len(found), documents+1)
	}
	for at, n := range found {
		if n != 1 {
			t.Errorf("%d rows at %s", n, at)
		}
	}
}

var listensAt = regexp.MustCompile(`"msg":"ready","address":"([^"]+)"`)

// startHandler builds and starts the app's handler, as the host does, and returns where it listens.
func startHandler(t *testing.T, ctx context.Context, a account.Account, environment string) string {
	t.Helper()
	root, err := azuritetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "handler")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./functions")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the handler: %v\n%s", err, out)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), account.EnvEnvironment+"="+environment, account.EnvConnectionString+"="+a.ConnectionString,
		"FUNCTIONS_CUSTOMHANDLER_PORT=0", "SWEEP_SCHEDULE=0 */10 * * * *", "INGEST_SCHEDULE=0 * * * * *", "ROLLUP_SCHEDULE=0 5 * * * *", "COMPACT_SCHEDULE=0 35 * * * *")
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	ended := make(chan struct{})
	if err := child.Start(cmd, func() { _ = writer.Close(); close(ended) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	address, log := make(chan string, 1), &strings.Builder{}
	var lock sync.Mutex
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := reader.Read(buffer)
			lock.Lock()
			log.Write(buffer[:n])
			if m := listensAt.FindStringSubmatch(log.String()); m != nil && len(address) == 0 && cap(address) == 1 {
				select {
				case address <- m[1]:
				default:
				}
			}
			lock.Unlock()
			if err != nil {
				return
			}
		}
	}()
	select {
	case at := <-address:
		return "http://" + at
	case <-ended:
	case <-ctx.Done():
	}
	lock.Lock()
	defer lock.Unlock()
	t.Fatalf("the handler is not ready; it said:\n%s", log)
	return ""
}

func post(t *testing.T, ctx context.Context, url string, body []byte) (status int, retryAfter, answer string) {
	t.Helper()
	return request(t, ctx, url+"/api/results?source=westeurope", body)
}

func trigger(t *testing.T, ctx context.Context, url, function string) (status int, retryAfter, answer string) {
	t.Helper()
	return request(t, ctx, url+"/"+function, []byte(`{"Data":{"timer":{}},"Metadata":{}}`))
}

func request(t *testing.T, ctx context.Context, url string, body []byte) (status int, retryAfter, answer string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		t.Error(err)
		return 0, "", ""
	}
	r.Header.Set("Content-Type", "application/json")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0, "", ""
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Error(err)
	}
	return w.StatusCode, w.Header.Get("Retry-After"), string(b)
}

// send sends a document until it is accepted, and returns how often it was not.
func send(t *testing.T, ctx context.Context, url string, body []byte) (refused int) {
	for ctx.Err() == nil {
		status, after, answer := post(t, ctx, url, body)
		switch {
		case status == http.StatusCreated || status == http.StatusAccepted:
			return refused
		case status != http.StatusServiceUnavailable || after == "":
			t.Errorf("answered %d, Retry-After %q, %s", status, after, answer)
			return refused
		}
		refused++
		time.Sleep(50 * time.Millisecond) // Retry-After, compressed
	}
	t.Error(errors.Join(ctx.Err(), errors.New("a document is not accepted")))
	return refused
}

// foreign is somebody's document, of a time of its own.
func foreign(t *testing.T, environment string, number int) []byte {
	at := time.Now().UTC().Truncate(time.Hour).Add(-time.Duration(number+2) * time.Minute)
	end := at.Add(time.Second)
	d := wire.Document{Version: wire.DocumentVersion, Environment: environment, Slot: at, Source: "westeurope", Probe: "mine",
		Assignment: strings.Repeat("0a", 16), Attempt: "0a1b2c3d", Provenance: wire.Provenance{ProberVersion: "1"},
		Runs: []wire.Run{{Target: "eastus", Path: "public", Kind: wire.KindTCP, Address: "192.0.2.1:7700", PlannedStart: at, Start: &at, End: &end,
			Counts: wire.Counts{Sent: 2, Received: 2},
			Samples: wire.Samples{Sequence: wire.Column{0, 1}, DueNS: wire.Column{0, 20_000_000}, SentNS: wire.Column{10, 20_000_010},
				RTTNS: wire.Column{20_000_000, 22_000_000}, Failure: wire.FailureColumn{"", ""}}}}}
	b, err := json.Marshal(d)
	if err != nil {
		t.Error(err)
	}
	return b
}
