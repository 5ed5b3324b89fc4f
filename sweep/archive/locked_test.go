package archive

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/sweep/inbox"
)

// hold leases a blob of the inbox for ever, as whoever may write it can.
func hold(t testing.TB, s *Store, name string) {
	t.Helper()
	c, err := lease.NewBlobClient(s.container(s.inboxContainer()).NewBlobClient(name), nil)
	must(t, err)
	_, err = c.AcquireLease(background(t), -1, nil)
	must(t, err)
}

func TestALeaseKeepsNoItemInTheInbox(t *testing.T) {
	s, ctx := newStore(t), background(t)
	name := deliver(t, s, "westeurope", []byte("body"))
	hold(t, s, name)
	it, body, taken, err := s.Take(ctx, waiting(t, s)[0])
	if err != nil || !taken || it.Attempts != 1 || string(body) != "body" {
		t.Fatalf("taking it: %+v, %q, %v, %v", it, body, taken, err)
	}
	hold(t, s, name) // again, while it is handled
	must(t, s.Release(ctx, it))
	it, _, taken, err = s.Take(ctx, waiting(t, s)[0])
	if err != nil || !taken || it.Attempts != 1 {
		t.Fatalf("taking it again: %+v, %v, %v", it, taken, err)
	}
	hold(t, s, name)
	must(t, s.Remove(ctx, it))
	if n, err := s.InboxSize(ctx); n != 0 || err != nil {
		t.Errorf("after Remove: %d, %v", n, err)
	}
}

func TestSnapshotsKeepNoItemInTheInbox(t *testing.T) {
	s, ctx := newStore(t), background(t)
	name := deliver(t, s, "westeurope", []byte("body"))
	_, err := s.container(s.inboxContainer()).NewBlobClient(name).CreateSnapshot(ctx, nil)
	must(t, err)
	it, _, taken, err := s.Take(ctx, waiting(t, s)[0])
	if err != nil || !taken {
		t.Fatalf("taking it: %v, %v", taken, err)
	}
	must(t, s.Remove(ctx, it))
	if n, err := s.InboxSize(ctx); n != 0 || err != nil {
		t.Errorf("after Remove: %d, %v", n, err)
	}
}

// forbidding is a service that lets nobody break a lease.
type forbidding struct{}

func (forbidding) Do(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("comp") == "lease" && strings.Contains(fmt.Sprint(r.Header), "x-ms-lease-action:[break]") { // the SDK does not spell names as net/http does
		return &http.Response{StatusCode: http.StatusForbidden, Status: "403 Forbidden", Request: r, Proto: "HTTP/1.1",
			Header: http.Header{"X-Ms-Error-Code": {"AuthorizationPermissionMismatch"}}, Body: io.NopCloser(strings.NewReader(""))}, nil
	}
	return http.DefaultClient.Do(r)
}

func TestALeaseThatCannotBeBrokenIsToldApart(t *testing.T) {
	a, env := azuritetest.Environment(t)
	s, err := open(a, env, settings{transport: forbidding{}, retry: defaultRetry})
	must(t, err)
	ctx := background(t)
	must(t, s.Ensure(ctx))
	name := deliver(t, s, "westeurope", []byte("body"))
	it, _, _, err := s.Take(ctx, waiting(t, s)[0])
	must(t, err)
	hold(t, s, name)
	if err := s.Remove(ctx, it); !errors.Is(err, inbox.ErrLocked) {
		t.Errorf("removing it: %v", err)
	}
	if err := s.Release(ctx, it); !errors.Is(err, inbox.ErrLocked) {
		t.Errorf("releasing it: %v", err)
	}
	listed := waiting(t, s)[0]
	if now, _, taken, err := s.Take(ctx, listed); taken || !errors.Is(err, inbox.ErrLocked) || now.ETag != listed.ETag {
		t.Errorf("taking it: %+v, %v, %v", now, taken, err)
	}
}

func TestAnArchivedItemIsLocked(t *testing.T) {
	s, ctx := newStore(t), background(t)
	name := deliver(t, s, "westeurope", []byte("body"))
	_, err := s.container(s.inboxContainer()).NewBlobClient(name).SetTier(ctx, blob.AccessTierArchive, nil)
	must(t, err)
	if _, _, taken, err := s.Take(ctx, waiting(t, s)[0]); taken || !errors.Is(err, inbox.ErrLocked) {
		t.Errorf("taking it: %v, %v", taken, err)
	}
}

// What one prober heaps up is listed only as far as was asked, whether or not the inbox fits a page.
func TestTheInboxIsListedFolderByFolder(t *testing.T) {
	a, env := azuritetest.Environment(t)
	for what, page := range map[string]int32{"one page": maxPage, "pages of three": 3, "pages of one": 1} {
		var bodies int
		s, err := open(a, env, settings{retry: defaultRetry, page: page, transport: counting{&bodies}})
		must(t, err)
		ctx := background(t)
		must(t, s.Ensure(ctx))
		for _, name := range []string{"a/1", "a/2", "a/3", "a/4", "a/5/6", "b/1", "stray", "_http/x"} {
			_, err := s.put(ctx, s.inboxContainer(), name, typeGzip, nil, map[string]*string{metaAttempts: to.Ptr("2")}, blob.ModifiedAccessConditions{})
			must(t, err)
		}
		for most, want := range map[int]string{2: "_http/x a/1 a/2 b/1 stray", 10: "_http/x a/1 a/2 a/3 a/4 a/5/6 b/1 stray"} {
			bodies = 0
			var names []string
			for it, err := range s.Inbox(ctx, most) {
				must(t, err)
				if it.Attempts != 2 || it.ETag == "" {
					t.Errorf("%s: listed is %+v", what, it)
				}
				names = append(names, it.Name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s, %d of each: %s, want %s", what, most, got, want)
			}
			if page == maxPage && bodies != 1 {
				t.Errorf("%s: %d requests", what, bodies)
			}
		}
	}
}

// counting counts requests.
type counting struct{ n *int }

func (c counting) Do(r *http.Request) (*http.Response, error) {
	*c.n++
	return http.DefaultClient.Do(r)
}
