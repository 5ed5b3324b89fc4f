package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"isochrone/functions/web"
)

// withPages is the app with a page as its build makes one.
func withPages(t *testing.T) *app {
	t.Helper()
	a, _ := faked(t, &fake{}, time.Now())
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	a.pages = fstest.MapFS{"index.html": file("<!doctype html><title>page</title>"), "assets/index-1a2B3c4D.js": file("let a = 1"), "assets/app.0123abcd.css": file("a{}"),
		"licences.txt": file("MIT"), ".gitignore": file("*"), "assets/.hidden-12345678.js": file("no")}
	return a
}

func TestTheDashboardIsItsFilesAndNothingElse(t *testing.T) {
	a := withPages(t)
	for target, want := range map[string]struct {
		status             int
		contentType, cache string
	}{
		"/api/dashboard":                              {200, "text/html; charset=utf-8", "no-cache"},
		"/API/Dashboard/":                             {200, "text/html; charset=utf-8", "no-cache"},
		"/api/dashboard/index.html":                   {200, "text/html; charset=utf-8", "no-cache"},
		"/api/dashboard/assets/index-1a2B3c4D.js":     {200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		"/api/dashboard/assets/app.0123abcd.css":      {200, "text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		"/api/dashboard/licences.txt":                 {200, "text/plain; charset=utf-8", "no-cache"},
		"/api/dashboard/assets":                       {404, "application/json", "no-store"},
		"/api/dashboard/absent.js":                    {404, "application/json", "no-store"},
		"/api/dashboard/.gitignore":                   {404, "application/json", "no-store"},
		"/api/dashboard/assets/.hidden-12345678.js":   {404, "application/json", "no-store"},
		"/api/dashboard/%2e%2e/app.go":                {404, "application/json", "no-store"},
		"/api/dashboard/..%2f..%2fhost.json":          {404, "application/json", "no-store"},
		"/api/dashboard/" + strings.Repeat("a", 3000): {404, "application/json", "no-store"},
		"/api/dashboard/assets/INDEX-1a2B3c4D.js":     {404, "application/json", "no-store"},
		"/api/dashboard/assets%5cindex-1a2B3c4D.js":   {404, "application/json", "no-store"},
	} {
		w := request(a, http.MethodGet, target, "")
		if w.Code == http.StatusTemporaryRedirect || w.Code == http.StatusMovedPermanently {
			continue // the server's own clean-up of a path with dots, which the host makes before
		}
		h := w.Header()
		if w.Code != want.status || h.Get("Content-Type") != want.contentType || h.Get("Cache-Control") != want.cache {
			t.Errorf("%.60s: %d %q %q, want %+v", target, w.Code, h.Get("Content-Type"), h.Get("Cache-Control"), want)
		}
		policy := h.Get("Content-Security-Policy")
		for _, rule := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, rule) {
				t.Errorf("%.60s: the policy lacks %s: %s", target, rule, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%.60s: headers %v", target, h)
		}
	}
}

func TestTheDashboardIsSentOnceWhileItStays(t *testing.T) {
	a := withPages(t)
	first := request(a, http.MethodGet, "/api/dashboard", "")
	tag := first.Header().Get("ETag")
	if !regexp.MustCompile(`^"[A-Za-z0-9_-]{43}"$`).MatchString(tag) {
		t.Errorf("ETag %q", tag)
	}
	if w := request(a, http.MethodGet, "/api/dashboard", "", "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("with its tag: %d, %d bytes", w.Code, w.Body.Len())
	}
	if w := request(a, http.MethodHead, "/api/dashboard", ""); w.Code != http.StatusOK || w.Body.Len() > 0 || w.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: %d, %d bytes", w.Code, w.Body.Len())
	}
	if w := request(a, http.MethodPost, "/api/dashboard", ""); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestAnAppWithoutItsPageSaysHowItIsBuilt(t *testing.T) {
	a := withPages(t)
	a.pages = fstest.MapFS{".gitignore": &fstest.MapFile{}}
	for _, target := range []string{"/api/dashboard", "/api/dashboard/index.html"} {
		if w := request(a, http.MethodGet, target, ""); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "make web") {
			t.Errorf("%s: %d: %s", target, w.Code, w.Body)
		}
	}
	a.pages = web.Files() // as it is in this checkout, built or not
	if w := request(a, http.MethodGet, "/api/dashboard", ""); w.Code != http.StatusOK && w.Code != http.StatusServiceUnavailable {
		t.Errorf("the app's own: %d: %s", w.Code, w.Body)
	}
}

func TestTheDashboardsFilesArePackedWhereThatIsAccepted(t *testing.T) {
	a := withPages(t)
	script := strings.Repeat("let a = 1\n", 1000)
	a.pages.(fstest.MapFS)["app-1a2B3c4D.js"] = &fstest.MapFile{Data: []byte(script)}
	plain := request(a, http.MethodGet, "/api/dashboard/app-1a2B3c4D.js", "")
	packed := request(a, http.MethodGet, "/api/dashboard/app-1a2B3c4D.js", "", "Accept-Encoding", "gzip, br")
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatalf("%v: %v", packed.Header(), err)
	}
	body, err := io.ReadAll(z)
	if err != nil || string(body) != script || plain.Body.String() != script {
		t.Errorf("packed %d bytes (%v), plain %d, want %d", len(body), err, plain.Body.Len(), len(script))
	}
	if p, q := packed.Header(), plain.Header(); p.Get("Content-Encoding") != "gzip" || p.Get("Vary") != "Accept-Encoding" || q.Get("Content-Encoding") != "" || q.Get("Vary") != "Accept-Encoding" || p.Get("ETag") == q.Get("ETag") {
		t.Errorf("headers packed %v, plain %v", p, q)
	}
}

// A page knows no key and reads no storage: it is the same whatever storage does.
func TestTheDashboardNeedsNoStorage(t *testing.T) {
	a := withPages(t)
	a.questions = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the page asked a question") })
	r := httptest.NewRequest(http.MethodGet, "/api/dashboard?code=secret", nil)
	if w := answerTo(a, r); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}
