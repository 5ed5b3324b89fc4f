package mailbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

const proberID = "westeurope"

// faults is a transport that fails where the test says so.
type faults struct {
	before func(*http.Request) error                 // the request is not sent
	after  func(*http.Request, *http.Response) error // it was sent and answered, and the answer is lost
	seen   []*http.Response
}

func (f *faults) Do(r *http.Request) (*http.Response, error) {
	if f.before != nil {
		if err := f.before(r); err != nil {
			return nil, err
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	f.seen = append(f.seen, response)
	if f.after != nil {
		if err := f.after(r, response); err != nil {
			_ = response.Body.Close()
			return nil, err
		}
	}
	return response, nil
}

var errLost = errors.New("the line went dead")

// openTest opens a mailbox on Azurite whose containers exist.
func openTest(t *testing.T) (*Mailbox, *faults, string) {
	t.Helper()
	m, f, environment := openEmpty(t)
	for _, c := range []*container.Client{m.probers, m.assignments, m.inbox} {
		if _, err := c.Create(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	f.seen = nil
	return m, f, environment
}

func openEmpty(t *testing.T) (*Mailbox, *faults, string) {
	t.Helper()
	acc, environment := azuritetest.Environment(t)
	f := &faults{}
	m, err := Open(acc, environment, proberID, f)
	if err != nil {
		t.Fatal(err)
	}
	return m, f, environment
}

func put(t *testing.T, c *container.Client, name string, body any) {
	t.Helper()
	b, ok := body.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.NewBlockBlobClient(name).Upload(t.Context(), content(b), nil); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, b *blockblob.Client) []byte {
	t.Helper()
	r, err := b.DownloadStream(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close() // it is only read
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func registration(environment string) wire.Registration {
	now := time.Now().UTC()
	return wire.Registration{
		Version: wire.RegistrationVersion, Environment: environment, Prober: proberID, Region: proberID,
		Started: now, Heartbeat: now, HeartbeatInterval: 30 * time.Second,
		Addresses:        []wire.PathAddress{{Path: "public", Host: "127.0.0.1", TCPPort: 7700}},
		ReadsAssignments: []int{wire.AssignmentsVersion}, Provenance: wire.Provenance{ProberVersion: "1"},
	}
}

func TestAHeartbeatReplacesTheRegistration(t *testing.T) {
	m, _, environment := openTest(t)
	r := registration(environment)
	for range 2 {
		r.Heartbeat = r.Heartbeat.Add(time.Second)
		if err := m.Register(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		var stored wire.Registration
		if err := json.Unmarshal(get(t, m.probers.NewBlockBlobClient("westeurope/registration.json")), &stored); err != nil {
			t.Fatal(err)
		}
		if err := stored.Validate(environment, proberID); err != nil {
			t.Errorf("the app would refuse what is stored: %v", err)
		}
		if !stored.Heartbeat.Equal(r.Heartbeat) || stored.Provenance.ClockErrorNS != nil {
			t.Errorf("stored %+v, want %+v", stored, r)
		}
	}
}

func TestARegistrationThatTheAppWouldRefuseIsNotSent(t *testing.T) {
	m, f, environment := openEmpty(t)
	r := registration(environment)
	r.Prober = "northeurope"
	if err := m.Register(t.Context(), r); err == nil || len(f.seen) > 0 {
		t.Errorf("registering for another prober: %v, %d requests", err, len(f.seen))
	}
}

func TestPollingReadsOnceAndThenAgainWhenItChanged(t *testing.T) {
	m, f, environment := openTest(t)
	if c, err := m.Poll(t.Context()); c != nil || err != nil {
		t.Fatalf("before the app has written: %v, %v; want nothing and no error", c, err)
	}
	current := wire.Current{Version: wire.AssignmentsVersion, Environment: environment, Prober: proberID}
	for slot := range 2 {
		at := time.Date(2026, 11, 30, 10, slot, 0, 0, time.UTC)
		current.Assignments = []wire.Assignment{{ID: "x", Slot: at}}
		current.Sessions = []wire.Session{{ID: wire.SessionID{1}, Key: wire.Key{2}}}
		put(t, m.assignments, "westeurope/current.json", current)
		got, err := m.Poll(t.Context())
		if err != nil || got == nil {
			t.Fatalf("after a change: %v, %v", got, err)
		}
		if len(got.Assignments) != 1 || !got.Assignments[0].Slot.Equal(at) || got.Sessions[0].Key != (wire.Key{2}) {
			t.Errorf("read %+v", got)
		}
		for range 2 {
			if got, err := m.Poll(t.Context()); got != nil || err != nil {
				t.Fatalf("without a change: %v, %v", got, err)
			}
			if last := f.seen[len(f.seen)-1]; last.StatusCode != http.StatusNotModified {
				t.Errorf("without a change storage answered %s, want 304", last.Status)
			}
		}
	}
}

func TestPollingSaysWhenItCannot(t *testing.T) {
	m, _, _ := openEmpty(t)
	if _, err := m.Poll(t.Context()); err == nil || !strings.Contains(err.Error(), "ContainerNotFound") {
		t.Errorf("without a container: %v", err)
	}
}

func TestWhatCannotBeReadIsFetchedAgain(t *testing.T) {
	m, _, environment := openTest(t)
	good := wire.Current{Version: wire.AssignmentsVersion, Environment: environment, Prober: proberID}
	newer, foreign, other := good, good, good
	newer.Version++
	foreign.Prober = "northeurope"
	other.Environment = "prod"
	for name, body := range map[string]any{
		"not JSON": []byte("{"), "a newer version": newer, "another prober's": foreign, "another environment's": other,
		"a key too short": []byte(`{"version":1,"environment":"` + environment + `","prober":"westeurope","sessions":[{"key":"aabb"}]}`),
	} {
		put(t, m.assignments, "westeurope/current.json", body)
		for range 2 { // not remembered as read
			if c, err := m.Poll(t.Context()); err == nil || c != nil {
				t.Errorf("%s: %v, %v; want an error", name, c, err)
			}
		}
	}
	put(t, m.assignments, "westeurope/current.json", good)
	if c, err := m.Poll(t.Context()); err != nil || c == nil {
		t.Errorf("after it was put right: %v, %v", c, err)
	}
}

const documentName = "westeurope/1020_0123456789abcdef0123456789abcdef_89abcdef.json.gz"

func TestADocumentIsStoredOnce(t *testing.T) {
	m, f, _ := openTest(t)
	body := []byte("\x1f\x8b a document")
	for range 2 { // the second time it is there already, and the same
		if err := m.Deliver(t.Context(), documentName, body); err != nil {
			t.Fatal(err)
		}
	}
	if got := get(t, m.inbox.NewBlockBlobClient(documentName)); !bytes.Equal(got, body) {
		t.Errorf("stored %q", got)
	}
	if f.seen[0].StatusCode != http.StatusCreated || f.seen[1].StatusCode != http.StatusConflict {
		t.Errorf("storage answered %s, then %s; want 201 and 409", f.seen[0].Status, f.seen[1].Status)
	}
	for _, other := range []string{"another", "\x1f\x8b a document and more", "\x1f\x8b a documen"} {
		if err := m.Deliver(t.Context(), documentName, []byte(other)); !errors.Is(err, ErrConflict) {
			t.Errorf("delivering %q under a name that is taken: %v, want ErrConflict", other, err)
		}
	}
	if got := get(t, m.inbox.NewBlockBlobClient(documentName)); !bytes.Equal(got, body) {
		t.Errorf("a conflict changed what is stored to %q", got)
	}
}

func TestADocumentIsNeverUnpackedOnItsWay(t *testing.T) {
	m, _, _ := openTest(t)
	if err := m.Deliver(t.Context(), documentName, []byte("x")); err != nil {
		t.Fatal(err)
	}
	p, err := m.inbox.NewBlobClient(documentName).GetProperties(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if *p.ContentType != "application/gzip" || (p.ContentEncoding != nil && *p.ContentEncoding != "") {
		t.Errorf("content type %q, encoding %v", *p.ContentType, p.ContentEncoding)
	}
}

func TestAnAnswerThatWasLostIsNoSecondDocument(t *testing.T) {
	m, f, _ := openTest(t)
	body := []byte("a document")
	f.after = func(r *http.Request, _ *http.Response) error {
		if r.Method == http.MethodPut {
			return errLost
		}
		return nil
	}
	if err := m.Deliver(t.Context(), documentName, body); !errors.Is(err, errLost) || errors.Is(err, ErrConflict) {
		t.Fatalf("with the answer lost: %v", err)
	}
	f.after = nil
	if err := m.Deliver(t.Context(), documentName, body); err != nil {
		t.Errorf("trying again after a lost answer: %v", err)
	}
}

func TestARequestThatWasNotSentIsTriedOnce(t *testing.T) {
	m, f, _ := openTest(t)
	attempts := 0
	f.before = func(*http.Request) error { attempts++; return errLost }
	if err := m.Deliver(t.Context(), documentName, []byte("x")); !errors.Is(err, errLost) || attempts != 1 {
		t.Errorf("%v after %d attempts; want one attempt: when to try again is the caller's to say", err, attempts)
	}
	f.before = nil
	if err := m.Deliver(t.Context(), documentName, []byte("x")); err != nil {
		t.Errorf("trying again: %v", err)
	}
}

func TestADocumentThatTheAppTookInTheMeantimeIsDelivered(t *testing.T) {
	m, f, _ := openTest(t)
	if err := m.Deliver(t.Context(), documentName, []byte("x")); err != nil {
		t.Fatal(err)
	}
	f.after = func(r *http.Request, response *http.Response) error {
		if response.StatusCode == http.StatusConflict { // the app removes it before we look
			f.after = nil
			if _, err := m.inbox.NewBlobClient(documentName).Delete(r.Context(), nil); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	if err := m.Deliver(t.Context(), documentName, []byte("x")); err != nil {
		t.Errorf("a document that was taken between two attempts: %v", err)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	m, f, environment := openTest(t)
	f.before = func(r *http.Request) error { <-r.Context().Done(); return r.Context().Err() }
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := m.Poll(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("polling: %v", err)
	}
	if err := m.Deliver(ctx, documentName, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("delivering: %v", err)
	}
	if err := m.Register(ctx, registration(environment)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("registering: %v", err)
	}
}

func TestEveryCallHasADeadlineOfItsOwn(t *testing.T) {
	m, f, environment := openTest(t)
	f.before = func(r *http.Request) error {
		if d, ok := r.Context().Deadline(); !ok || time.Until(d) > callTimeout {
			t.Errorf("%s %s has no deadline within %s", r.Method, r.URL.Path, callTimeout)
		}
		return errLost
	}
	_, _ = m.Poll(context.Background())
	_ = m.Deliver(context.Background(), documentName, nil)
	_ = m.Register(context.Background(), registration(environment))
}

func TestOpenRefusesNamesThatLeadElsewhere(t *testing.T) {
	acc, environment := azuritetest.Environment(t)
	for _, c := range []struct{ environment, prober string }{{"", proberID}, {"PROD", proberID}, {environment, "../x"}, {environment, ""}} {
		if _, err := Open(acc, c.environment, c.prober, nil); err == nil {
			t.Errorf("environment %q, prober %q: accepted", c.environment, c.prober)
		}
	}
}

func TestWhatIsRegisteredIsReadWithItsAge(t *testing.T) {
	m, _, environment := openTest(t)
	if r, _, err := m.Registered(t.Context()); r != nil || err != nil {
		t.Fatalf("nothing is stored: %+v, %v", r, err)
	}
	written := registration(environment)
	written.Heartbeat = written.Heartbeat.Add(-time.Hour) // its clock is wrong: storage's counts
	written.Stopped = true
	if err := m.Register(t.Context(), written); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2100 * time.Millisecond)
	r, age, err := m.Registered(t.Context())
	if err != nil || r == nil || !r.Started.Equal(written.Started) || !r.Stopped || age < 2*time.Second || age > 10*time.Second {
		t.Errorf("read back %+v, written %s ago, %v", r, age, err)
	}
	for _, body := range []string{"", "{", `{"version":9}`} {
		put(t, m.probers, wire.RegistrationBlob(proberID), []byte(body))
		if r, _, err := m.Registered(t.Context()); r != nil || err != nil {
			t.Errorf("%q: %+v, %v; want as if nothing were stored", body, r, err)
		}
	}
	empty, _, _ := openEmpty(t)
	if _, _, err := empty.Registered(t.Context()); err == nil {
		t.Error("a missing container is no registration")
	}
}
