package replay_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"isochrone/prober/wire/account"
)

// watched stands in front of a storage account and keeps the requests that are not mere reading.
type watched struct {
	lock   sync.Mutex
	reads  int
	writes []string
}

// watch returns the account as it is reached through a watched.
func watch(t *testing.T, a account.Account) (account.Account, *watched) {
	t.Helper()
	w := &watched{}
	settings := strings.Split(a.ConnectionString, ";")
	for i, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		if name != "BlobEndpoint" && name != "TableEndpoint" {
			continue
		}
		u, err := url.Parse(value)
		check(t, err)
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: u.Scheme, Host: u.Host})
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			w.lock.Lock()
			if r.Method == http.MethodGet || r.Method == http.MethodHead {
				w.reads++
			} else {
				w.writes = append(w.writes, r.Method+" "+r.URL.Path)
			}
			w.lock.Unlock()
			proxy.ServeHTTP(out, r)
		}))
		t.Cleanup(server.Close)
		settings[i] = name + "=" + server.URL + u.Path
	}
	return account.Account{ConnectionString: strings.Join(settings, ";")}, w
}
