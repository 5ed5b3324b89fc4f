package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"isochrone/functions/host"
	"isochrone/functions/questions"
	"isochrone/functions/web"
)

// index is the page itself; everything else it names by a hash of the content.
const index = "index.html"

// hashed is how the build names a file whose content never changes under its name.
var hashed = regexp.MustCompile(`[.-][0-9A-Za-z_-]{8,}\.[a-z0-9]+$`)

// dashboard serves GET /api/dashboard and its files. It holds no data and knows no key: whoever sees it still needs
// Query's key to see anything on it. What part of it is shown stands in the URL's fragment, so that there are no
// other paths than its files'.
type dashboard struct {
	files fs.FS
	// packed are files as gzip by name: they are few, and never change.
	packed *sync.Map
}

func newDashboard(files fs.FS) dashboard { return dashboard{files, &sync.Map{}} }

func (d dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", web.Policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		d.refuse(w, http.StatusMethodNotAllowed, "pages are asked for by GET alone", "send GET")
		return
	}
	name := host.Rest(r)
	if name == "" {
		name = index
	}
	body, err := fs.ReadFile(d.files, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == index:
		d.refuse(w, http.StatusServiceUnavailable, "the dashboard was not built into this app", "build it with: make web, and then the app again")
		return
	case err != nil || strings.HasPrefix(path.Base(name), "."): // a folder, a name that is none
		d.refuse(w, http.StatusNotFound, "there is no such file", "open the dashboard itself: "+dashboardPath)
		return
	}
	h.Set("Content-Type", contentTypeOf(name))
	if h.Set("Cache-Control", "no-cache"); name != index && hashed.MatchString(name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Vary", "Accept-Encoding")
	if questions.Packs(r, len(body)) {
		if body, err = d.pack(name, body); err != nil {
			d.refuse(w, http.StatusInternalServerError, "the file could not be packed", "ask without Accept-Encoding")
			return
		}
		h.Set("Content-Encoding", "gzip")
	}
	sum := sha256.Sum256(body)
	h.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body)) // ranges and If-None-Match are its business
}

func (d dashboard) pack(name string, body []byte) ([]byte, error) {
	if was, ok := d.packed.Load(name); ok {
		return was.([]byte), nil
	}
	packed, err := questions.Pack(body)
	if err == nil {
		d.packed.Store(name, packed)
	}
	return packed, err
}

// contentTypeOf does not ask the system, whose table may say anything.
func contentTypeOf(name string) string {
	known := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".svg": "image/svg+xml", ".json": "application/json", ".woff2": "font/woff2", ".png": "image/png", ".ico": "image/x-icon", ".txt": "text/plain; charset=utf-8"}
	if t, ok := known[path.Ext(name)]; ok {
		return t
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

func (d dashboard) refuse(w http.ResponseWriter, status int, message, remedy string) {
	body, err := json.Marshal(map[string]any{"error": map[string]string{"message": message, "remedy": remedy}})
	if err != nil { // it cannot be: strings alone
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that has gone learns nothing more
}
