package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"isochrone/infra/local/azurite/azuritetest"
)

// A flaky transport fails about half of the requests, in the three ways that matter: the service
// is busy, the request never arrives, or it is done and its answer never arrives.
type flaky struct {
	mu     sync.Mutex
	rnd    *rand.Rand
	counts [3]int
}

var errCut = errors.New("the connection was cut")

func (f *flaky) Do(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	roll := f.rnd.IntN(6)
	if roll < 3 {
		f.counts[roll]++
	}
	f.mu.Unlock()
	switch roll {
	case 0: // busy
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Status: "503 Service Unavailable", Request: r, Proto: "HTTP/1.1",
			Header: http.Header{"X-Ms-Error-Code": {"ServerBusy"}}, Body: io.NopCloser(strings.NewReader(""))}, nil
	case 1: // failed, not stored
		return nil, errCut
	case 2: // failed, but stored
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
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
	bad, err := open(a, env, settings{transport: transport, retry: policy.RetryOptions{
		MaxRetries: 40, TryTimeout: 10 * time.Second, RetryDelay: time.Millisecond, MaxRetryDelay: 5 * time.Millisecond}})
	must(t, err)
	good, err = Open(a, env)
	must(t, err)
	must(t, bad.Ensure(background(t)))
	return bad, good, transport
}

func TestNothingIsLostOrDoubledOverABadConnection(t *testing.T) {
	bad, good, transport := newFlaky(t, 1)
	ctx := background(t)
	for i := range 25 {
		slot := slot0.Add(time.Duration(i) * time.Minute)
		body := plan(bad.environment, i)
		if created, err := bad.CreatePlan(ctx, slot, body); err != nil || !created {
			t.Fatalf("plan %d: %v, %v", i, created, err)
		}
		if created, err := bad.CreatePlan(ctx, slot, plan(bad.environment, i+1)); err != nil || created {
			t.Fatalf("a second plan for slot %d: %v, %v", i, created, err)
		}
		if stored, _, err := good.ReadPlan(ctx, slot); err != nil || !bytes.Equal(stored, body) {
			t.Fatalf("plan %d is stored as %q, %v", i, stored, err)
		}

		_, etag, err := bad.ReadCurrent(ctx, "westeurope")
		must(t, err)
		if written, err := bad.WriteCurrent(ctx, "westeurope", body, etag); err != nil || !written {
			t.Fatalf("assignments %d: %v, %v", i, written, err)
		}
		if stored, _, err := good.ReadCurrent(ctx, "westeurope"); err != nil || !bytes.Equal(stored, body) {
			t.Fatalf("assignments %d are stored as %q, %v", i, stored, err)
		}

		id := idOf(bad.environment, fmt.Sprint("w", i))
		if _, o, err := bad.PutDocument(ctx, "westeurope", slot, id, body); err != nil || o == Conflict {
			t.Fatalf("document %d: %s, %v", i, o, err)
		}
		if _, o, err := bad.PutDocument(ctx, "westeurope", slot, id, []byte("another")); err != nil || o != Conflict {
			t.Fatalf("another document %d: %s, %v", i, o, err)
		}
		name, n, err := bad.PutSamples(ctx, "westeurope", slot, id, results(bad.environment, 10))
		must(t, err)
		if rows, _, err := good.ReadSamples(ctx, name); err != nil || len(rows) != n {
			t.Fatalf("samples %d: %d of %d rows, %v", i, len(rows), n, err)
		}
		_, err = bad.Quarantine(ctx, slot0, "x", body, "json", Reason{Stage: "test"})
		must(t, err)
	}
	for kind, want := range map[Kind]int{Documents: 25, Samples: 25, Quarantined: 25} {
		n := 0
		for _, err := range good.Blobs(ctx, kind, time.Time{}) {
			must(t, err)
			n++
		}
		if n != want {
			t.Errorf("%d blobs of kind %d, want %d", n, kind, want)
		}
	}
	for i, n := range transport.counts {
		if n < 20 {
			t.Errorf("fault %d was injected %d times: the test shows nothing", i, n)
		}
	}
}

func TestTheInboxSurvivesABadConnection(t *testing.T) {
	bad, good, _ := newFlaky(t, 2)
	ctx := background(t)
	for i := range 25 {
		body := fmt.Appendf(nil, "document %d", i)
		it, fresh, err := bad.DropForeign(ctx, body, map[string]string{"i": fmt.Sprint(i)})
		must(t, err)
		if !fresh { // though the answer may have been lost
			t.Fatalf("document %d: %+v is not the caller's", i, it)
		}
		if n, err := good.InboxSize(ctx); err != nil || n != 1 {
			t.Fatalf("document %d: %d in the inbox, %v", i, n, err)
		}
		for attempt := 2; attempt <= 4; attempt++ { // a lost answer neither costs nor hides an attempt
			now, got, taken, err := bad.Take(ctx, it)
			if err != nil || !taken || now.Attempts != attempt || !bytes.Equal(got, body) {
				t.Fatalf("document %d, attempt %d: %+v, %q, %v, %v", i, attempt, now, got, taken, err)
			}
			if listed := waiting(t, good)[0]; listed.Attempts != attempt || listed.ETag != now.ETag {
				t.Fatalf("document %d, attempt %d: taken as %+v, listed as %+v", i, attempt, now, listed)
			}
			it = now
		}
		must(t, bad.Remove(ctx, it))
		if n, err := good.InboxSize(ctx); err != nil || n != 0 {
			t.Fatalf("document %d: %d left in the inbox, %v", i, n, err)
		}
	}
}

func TestOnePlanWinsOverBadConnectionsToo(t *testing.T) {
	bad, good, _ := newFlaky(t, 3)
	ctx := background(t)
	for i := range 15 {
		slot := slot0.Add(time.Duration(i) * time.Minute)
		won := make([]bool, 4)
		var wg sync.WaitGroup
		for j := range won {
			wg.Go(func() {
				var err error
				if won[j], err = bad.CreatePlan(ctx, slot, plan(bad.environment, j)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		stored, _, err := good.ReadPlan(ctx, slot)
		must(t, err)
		for j := range won { // whoever thinks to have won is who is stored, and the other way round
			if won[j] != bytes.Equal(stored, plan(bad.environment, j)) {
				t.Errorf("slot %d: winners %v, stored %s", i, won, stored)
				break
			}
		}
	}
}
