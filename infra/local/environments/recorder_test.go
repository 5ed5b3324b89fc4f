package environments

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"isochrone/prober/wire/account"
)

// recorder stands between stores and Azurite, and writes down what is asked of it.
type recorder struct {
	mu    sync.Mutex
	asked []string // method and path, those inside batches too
}

var inBatch = regexp.MustCompile(`(?m)^(GET|PUT|POST|PATCH|MERGE|DELETE) (http://\S+) HTTP`)

func (r *recorder) write(method, raw string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, method+" "+raw)
}

// take returns what was asked since it was called last.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.asked
	r.asked = nil
	return out
}

// between returns the account reached through the recorder.
func (r *recorder) between(t *testing.T, a account.Account) account.Account {
	t.Helper()
	fields := strings.Split(a.ConnectionString, ";")
	for i, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		if name != "BlobEndpoint" && name != "TableEndpoint" {
			continue
		}
		to, err := url.Parse(value)
		if err != nil {
			t.Fatal(err)
		}
		proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL.Scheme, p.Out.URL.Host = to.Scheme, to.Host }}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			r.write(q.Method, q.URL.RequestURI())
			if strings.HasSuffix(q.URL.Path, "/$batch") {
				body, err := io.ReadAll(q.Body)
				if err != nil {
					http.Error(w, err.Error(), http.StatusBadRequest)
					return
				}
				for _, m := range inBatch.FindAllSubmatch(body, -1) {
					if u, err := url.Parse(string(m[2])); err == nil {
						r.write(string(m[1]), u.RequestURI())
					}
				}
				q.Body = io.NopCloser(bytes.NewReader(body))
			}
			proxy.ServeHTTP(w, q)
		}))
		t.Cleanup(server.Close)
		fields[i] = name + "=" + server.URL + to.Path
	}
	return account.Account{ConnectionString: strings.Join(fields, ";")}
}

// place is the container or the table that a request is for; empty for what asks the account
// itself. upwards says that the path leads out of it: a slash inside a blob's name is %2F, so that
// no part of a name can.
func place(request string) (name string, upwards bool) {
	_, raw, _ := strings.Cut(request, " ")
	path, _, _ := strings.Cut(raw, "?")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/") // the account first
	if len(parts) > 1 {
		name, _, _ = strings.Cut(parts[1], "(")
	}
	if name == "Tables" || name == "$batch" {
		name = ""
	}
	return name, slices.Contains(parts, "..") || slices.Contains(parts, ".")
}
