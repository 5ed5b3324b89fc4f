package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"isochrone/prober/wire"
)

// denied is an error as the SDK makes it from a response of the service.
func denied(t *testing.T) error {
	t.Helper()
	u, err := url.Parse("https://acc.blob.core.windows.net/config-dev/sweep.yaml?sig=SECRET&se=2027")
	if err != nil {
		t.Fatal(err)
	}
	return runtime.NewResponseError(&http.Response{
		StatusCode: http.StatusForbidden, Status: "403 Forbidden",
		Header:  http.Header{"X-Ms-Error-Code": {"AuthorizationPermissionMismatch"}},
		Body:    io.NopCloser(strings.NewReader("<Error><Message>\x1b[31mno</Message></Error>")),
		Request: &http.Request{Method: http.MethodGet, URL: u},
	})
}

func TestStorageErrorsAreShortAndSayWhatToDo(t *testing.T) {
	err := unreachable(fmt.Errorf("reading blob %q: %w", "sweep.yaml", denied(t)))
	if got, want := describe(err), `reading blob "sweep.yaml": the storage answered 403 Forbidden (AuthorizationPermissionMismatch)`; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	var p *problem
	if !errors.As(err, &p) || p.code != exitUnreachable || !strings.Contains(p.remedy, "Storage Table Data Reader") {
		t.Errorf("problem %+v, want exit code %d and the roles that are needed", p, exitUnreachable)
	}
}

func TestErrorsShowNeitherSecretsNorControlCharacters(t *testing.T) {
	err := errors.New("Get \"https://acc.blob.core.windows.net/x?sv=1&sig=aB%2F3=&se=2\": dial tcp: \x1b[31mrefused; AccountKey=Zm9v==;EndpointSuffix=x\nsecond line")
	want := `Get "https://acc.blob.core.windows.net/x?sv=1&sig=…&se=2": dial tcp: \x1b[31mrefused; AccountKey=…;EndpointSuffix=x` + "\nsecond line"
	if got := describe(err); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEveryFailureCodeIsExplained(t *testing.T) {
	for _, f := range wire.Failures() {
		if failureMeaning(f) == "" {
			t.Errorf("the legend does not know %q", f)
		}
	}
}

func TestEveryReasonIsExplained(t *testing.T) {
	for _, r := range allReasons() {
		if reasonMeaning(r) == string(r) {
			t.Errorf("nothing says what %q means", r)
		}
	}
}

func TestWhatIsTypedCannotSteerTheTerminal(t *testing.T) {
	for _, args := range [][]string{{"\x1b[2Jnosuch"}, {"runs", "--since", "\x1b[31m"}, {"matrix", "--\x1b[31m"}, {"check", "no\x1b[31msuch.yaml"},
		{"runs", "--source", "\u202e"}, {"runs", "--environment", "\x9b31m"}} {
		var stdout, stderr bytes.Buffer
		env := environ{get: func(string) string { return "" }, stdin: strings.NewReader(""), now: time.Now}
		if code := run(t.Context(), args, env, &stdout, &stderr); code != exitUsage || stdout.Len() > 0 {
			t.Errorf("sweep %q: exit code %d and %q on standard output, want %d and nothing", args, code, stdout.String(), exitUsage)
		}
		for _, line := range strings.Split(stderr.String(), "\n") {
			if visible(line) != line {
				t.Errorf("sweep %q prints %q", args, line)
			}
		}
	}
}
