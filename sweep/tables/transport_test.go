package tables

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

// A flaky transport fails about half of the requests, in the ways that matter: the service is
// busy; it is busy inside a batch; the request never arrives; or it is done and its answer never
// arrives.
type flaky struct {
	mu     sync.Mutex
	rnd    *rand.Rand
	counts [4]int
}

var errCut = errors.New("the connection was cut")

const busyInside = "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n" +
	"--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" +
	"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\r\n" +
	`{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"0:The server is busy."}}}` +
	"\r\n--changesetresponse_1--\r\n--batchresponse_1--\r\n"

func (f *flaky) Do(r *http.Request) (*http.Response, error) {
	answer := func(status int, kind, body string) *http.Response {
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Request: r, Proto: "HTTP/1.1",
			Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}
	}
	f.mu.Lock()
	roll := f.rnd.IntN(8)
	if roll == 1 && !strings.HasSuffix(r.URL.Path, "/$batch") {
		roll = 0
	}
	if roll < len(f.counts) {
		f.counts[roll]++
	}
	f.mu.Unlock()
	switch roll {
	case 0:
		return answer(http.StatusServiceUnavailable, "application/json", `{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"busy"}}}`), nil
	case 1:
		return answer(http.StatusAccepted, "multipart/mixed; boundary=batchresponse_1", busyInside), nil
	case 2: // failed, not stored
		return nil, errCut
	case 3: // failed, but stored
		got, err := http.DefaultClient.Do(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, got.Body)
			_ = got.Body.Close()
		}
		return nil, errCut
	}
	return http.DefaultClient.Do(r)
}

// newFlaky opens a store behind a flaky transport, and one of the same environment behind none.
func newFlaky(t *testing.T, seed uint64) (bad, good *Store, transport *flaky) {
	t.Helper()
	a, env := azuritetest.Environment(t)
	transport = &flaky{rnd: rand.New(rand.NewPCG(seed, 0))}
	bad, err := open(a, env, settings{transport: transport,
		patience: patience{try: 10 * time.Second, first: time.Millisecond, most: 5 * time.Millisecond, budget: time.Minute}})
	must(t, err)
	good, err = Open(a, env)
	must(t, err)
	return bad, good, transport
}

func TestNoRowIsLostOrDoubledOverABadConnection(t *testing.T) {
	bad, good, transport := newFlaky(t, 1)
	ctx := background(t)
	sources := []string{"westeurope", "eastus", "uksouth"}
	targets := []string{"northeurope", "brazilsouth", "southeastasia", "japaneast"}
	for i := range 10 {
		slot := slot0.Add(time.Duration(i) * time.Minute)
		var measurements, expiries []result.Result
		must(t, bad.MarkOpen(ctx, slot))
		must(t, bad.AdvanceHeader(ctx, ledger.Header{Slot: slot, State: ledger.Planned, ConfigHash: "abc"}))
		for j, source := range sources {
			must(t, bad.AdvanceEntries(ctx, []ledger.Entry{entryOf(bad, slot, source, 0, ledger.Planned)}))
			for _, target := range targets {
				series := seriesOf(bad.environment, source, target)
				expiries = append(expiries, expired(series, slot))
				if j > 0 { // nothing comes from the first source
					r := expired(series, slot)
					r.Run.Failure = wire.FailureTimeout
					measurements = append(measurements, r)
				}
			}
		}
		put := []func() error{
			func() error { return bad.PutResults(ctx, measurements) },
			func() error { return bad.AddExpired(ctx, expiries) },
			func() error { return bad.PutLatest(ctx, measurements) },
			func() error { return bad.PutLatest(ctx, expiries) },
		}
		for _, k := range rand.New(rand.NewPCG(uint64(i), 3)).Perm(len(put)) { // in any order, the end is the same
			must(t, put[k]())
		}
		must(t, bad.MarkDirty(ctx, measurements))
		var es []ledger.Entry
		for j, source := range sources {
			es = append(es, entryOf(bad, slot, source, 0, []ledger.State{ledger.Expired, ledger.Received, ledger.Received}[j]))
		}
		must(t, bad.AdvanceEntries(ctx, es))
		must(t, bad.AdvanceHeader(ctx, ledger.Header{Slot: slot, State: ledger.Complete}))
		must(t, bad.PutProbers(ctx, []wire.Registration{registration(bad.environment, "westeurope", slot)}))
		must(t, bad.ClearOpen(ctx, slot))
	}

	rows := allRuns(t, good, RunQuery{})
	if want := 10 * len(sources) * len(targets); len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	latest, err := good.Latest(ctx, "", "")
	must(t, err)
	if want := len(sources) * len(targets); len(latest) != want {
		t.Errorf("%d rows in latest, want %d", len(latest), want)
	}
	for _, r := range append(rows, latest...) {
		if want := map[bool]wire.Failure{true: wire.FailureExpired, false: wire.FailureTimeout}[r.Series.Source == "westeurope"]; r.Failure != want {
			t.Errorf("%s at %s: %q, want %q", r.Series, r.Slot, r.Failure, want)
		}
	}
	sweeps, err := good.Sweeps(ctx, time.Time{}, time.Time{})
	must(t, err)
	for _, h := range sweeps {
		got, es, _, err := good.Sweep(ctx, h.Slot)
		must(t, err)
		if got.State != ledger.Complete || got.ConfigHash != "abc" || len(es) != 3 || es[0].State != ledger.Received || es[2].State != ledger.Expired {
			t.Errorf("sweep %+v, %+v", got, es)
		}
	}
	if len(sweeps) != 10 {
		t.Errorf("%d sweeps, want 10", len(sweeps))
	}
	if open, err := good.OpenSweeps(ctx); err != nil || len(open) != 0 {
		t.Errorf("open: %v, %v", open, err)
	}
	if probers, err := good.Probers(ctx); err != nil || len(probers) != 1 || !probers[0].Heartbeat.Equal(slot0.Add(9*time.Minute)) {
		t.Errorf("probers: %+v, %v", probers, err)
	}
	for i, n := range transport.counts {
		if n < 10 {
			t.Errorf("fault %d was injected %d times: the test shows nothing", i, n)
		}
	}
}

func TestReadingOverABadConnectionSeesEveryRowOnce(t *testing.T) {
	bad, good, _ := newFlaky(t, 2)
	ctx := background(t)
	var rs []result.Result
	for i := range 2100 { // three pages
		rs = append(rs, expired(seriesOf(good.environment, "westeurope", "eastus"), slot0.Add(-time.Duration(i)*time.Minute)))
	}
	must(t, good.AddExpired(ctx, rs))
	rows := allRuns(t, bad, RunQuery{})
	if len(rows) != len(rs) {
		t.Fatalf("%d rows, want %d", len(rows), len(rs))
	}
	for i, r := range rows {
		if !r.Slot.Equal(rs[i].Slot) {
			t.Fatalf("row %d is of %s, want %s", i, r.Slot, rs[i].Slot)
		}
	}
}

// Somebody else writes a newer state between our read and our write, of a row that exists and of
// one that does not: theirs stays.
func TestWhatIsWrittenBetweenReadAndWriteIsNotOverwritten(t *testing.T) {
	a, env := azuritetest.Environment(t)
	other, err := Open(a, env)
	must(t, err)
	ctx := background(t)
	var between func()
	s, err := open(a, env, settings{patience: defaultPatience, transport: transportFunc(func(r *http.Request) (*http.Response, error) {
		if f := between; f != nil && strings.HasSuffix(r.URL.Path, "/$batch") {
			between = nil
			f()
		}
		return http.DefaultClient.Do(r)
	})})
	must(t, err)
	series := seriesOf(env, "westeurope", "eastus")
	at := func(minutes int) []result.Result {
		return []result.Result{expired(series, slot0.Add(time.Duration(minutes)*time.Minute))}
	}
	for i, stored := range []bool{false, true} {
		if stored {
			must(t, other.PutLatest(ctx, at(10*i)))
		}
		between = func() { must(t, other.PutLatest(ctx, at(10*i+5))) }
		must(t, s.PutLatest(ctx, at(10*i+3)))
		if got, want := latestOf(t, other)["eastus"], at(10*i + 5)[0].Slot.Format("15:04 ")+"expired"; got != want || between != nil {
			t.Errorf("stored before %v: latest is %q, want %q", stored, got, want)
		}
		slot := slot0.Add(time.Duration(i) * time.Minute)
		entry := func(state ledger.State) []ledger.Entry {
			return []ledger.Entry{entryOf(s, slot, "westeurope", 0, state)}
		}
		if stored {
			must(t, other.AdvanceEntries(ctx, entry(ledger.Planned)))
		}
		between = func() { must(t, other.AdvanceEntries(ctx, entry(ledger.Received))) }
		must(t, s.AdvanceEntries(ctx, entry(ledger.Dispatched)))
		if _, es, _, err := other.Sweep(ctx, slot); err != nil || len(es) != 1 || es[0].State != ledger.Received || between != nil {
			t.Errorf("stored before %v: entries %+v, %v", stored, es, err)
		}
	}
}

// The service may answer with an empty page and say that there is more.
func TestAnEmptyPageIsNotTheEnd(t *testing.T) {
	a, env := azuritetest.Environment(t)
	pages := 0
	sparse := transportFunc(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet || r.URL.Query().Has("NextPartitionKey") {
			return http.DefaultClient.Do(r)
		}
		pages++
		return &http.Response{StatusCode: 200, Request: r, Body: io.NopCloser(strings.NewReader(`{"value":[]}`)), Header: http.Header{
			"Content-Type": {"application/json"}, "X-Ms-Continuation-Nextpartitionkey": {"a"}, "X-Ms-Continuation-Nextrowkey": {"a"}}}, nil
	})
	s, err := open(a, env, settings{transport: sparse, patience: defaultPatience})
	must(t, err)
	must(t, s.PutResults(background(t), []result.Result{measured(t, seriesOf(env, "westeurope", "eastus"), slot0, 1000)}))
	if rows := allRuns(t, s, RunQuery{Since: slot0, Until: slot0.Add(time.Minute)}); len(rows) != 1 || pages != 1 {
		t.Errorf("%d rows behind %d empty pages", len(rows), pages)
	}
}

// A service that stays busy is given up on within the budget, and the error says so.
func TestRetriesEndWithTheBudgetAndWithTheContext(t *testing.T) {
	a, env := azuritetest.Environment(t)
	busy := transportFunc(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 503, Request: r, Header: http.Header{"X-Ms-Error-Code": {"ServerBusy"}}, Body: http.NoBody}, nil
	})
	s, err := open(a, env, settings{transport: busy, patience: patience{try: time.Second, first: time.Millisecond, most: 10 * time.Millisecond, budget: 200 * time.Millisecond}})
	must(t, err)
	begun := time.Now()
	err = s.MarkOpen(background(t), slot0)
	if f := readFault(err); f == nil || f.Status != 503 || f.Code != "ServerBusy" || !strings.Contains(err.Error(), "giving up after") {
		t.Errorf("a busy service: %v", err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s, the budget is 200 ms", took)
	}
	s.patience.budget = time.Hour
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.MarkOpen(ctx, slot0); !errors.Is(err, ctx.Err()) || ctx.Err() == nil {
		t.Errorf("a context that ended: %v", err)
	}
}

// A try that hangs is ended by itself, and tried again.
func TestATryThatHangsIsTriedAgain(t *testing.T) {
	a, env := azuritetest.Environment(t)
	var mu sync.Mutex
	hung := 0
	hang := transportFunc(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		hung++
		first := hung == 1
		mu.Unlock()
		if first {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return http.DefaultClient.Do(r)
	})
	p := defaultPatience
	p.try, p.first = 100*time.Millisecond, time.Millisecond
	s, err := open(a, env, settings{transport: hang, patience: p})
	must(t, err)
	if slots, err := s.OpenSweeps(background(t)); err != nil || len(slots) != 0 || hung < 2 {
		t.Errorf("%v, %v after %d requests", slots, err, hung)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }
