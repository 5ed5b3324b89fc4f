package tables

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
)

func TestServiceTimeIsTheServices(t *testing.T) {
	s := newStore(t)
	for _, tables := range []string{"missing", "there"} {
		before := time.Now().Truncate(time.Second)
		got, err := s.ServiceTime(background(t))
		if after := time.Now(); err != nil || got.Before(before) || got.After(after) || got.Location() != time.UTC {
			t.Errorf("with its table %s: %s, %v: want from %s to %s", tables, got, err, before, after)
		}
		must(t, s.Ensure(background(t)))
	}
}

// The answers say what no clock of this machine says.
func TestServiceTimeIsReadFromTheAnswerThatCounts(t *testing.T) {
	a, env := azuritetest.Environment(t)
	answer := func(status int, date, code string) func() (*http.Response, error) {
		return func() (*http.Response, error) {
			r := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}, "X-Ms-Error-Code": {code}},
				Body: io.NopCloser(strings.NewReader(`{"odata.error":{"code":"` + code + `","message":{"lang":"en-US","value":"no"}}}`))}
			if date != "" {
				r.Header.Set("Date", date)
			}
			return r, nil
		}
	}
	const date = "Sat, 01 Feb 2031 03:04:05 GMT"
	for name, c := range map[string]struct {
		answers []func() (*http.Response, error)
		want    string // of the error; empty: the date above
	}{
		"no such row":     {answers: []func() (*http.Response, error){answer(404, date, "ResourceNotFound")}},
		"at a second try": {answers: []func() (*http.Response, error){answer(503, "Fri, 01 Feb 2030 03:04:05 GMT", "ServerBusy"), answer(404, date, "TableNotFound")}},
		"refused":         {[]func() (*http.Response, error){answer(403, date, "AuthorizationFailure")}, "AuthorizationFailure"},
		"without a date":  {[]func() (*http.Response, error){answer(404, "", "ResourceNotFound")}, "reading the answer's Date"},
		"with another":    {[]func() (*http.Response, error){answer(404, "yesterday", "ResourceNotFound")}, "reading the answer's Date"},
	} {
		n := 0
		s, err := open(a, env, settings{patience: patience{try: time.Second, first: time.Millisecond, most: time.Millisecond, budget: time.Minute},
			transport: transportFunc(func(r *http.Request) (*http.Response, error) {
				got, err := c.answers[min(n, len(c.answers)-1)]()
				n++
				got.Request = r
				return got, err
			})})
		must(t, err)
		got, err := s.ServiceTime(background(t))
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %s, %v: want an error with %q", name, got, err, c.want)
		case c.want == "" && (err != nil || !got.Equal(time.Date(2031, 2, 1, 3, 4, 5, 0, time.UTC)) || n != len(c.answers)):
			t.Errorf("%s: %s after %d requests, %v", name, got, n, err)
		}
	}
}
