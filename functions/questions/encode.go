package questions

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// still is an answer in which time alone changes figures, such as an age.
type still interface{ Still() any }

// passing are the members of every answer that change with the time of asking.
var passing = []string{"generated_at", "since", "until", "next"}

// encode writes an answer and its entity tag: a hash of the answer without what the passing of time alone changes. It
// is a weak one (RFC 9110, section 8.8.1), because two answers that share it may differ in just that.
func encode(answer any) (body []byte, tag string, err error) {
	if body, err = marshal(answer); err != nil {
		return nil, "", err
	}
	rest := body
	if s, ok := answer.(still); ok {
		if rest, err = marshal(s.Still()); err != nil {
			return nil, "", err
		}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(rest, &members); err != nil {
		return nil, "", fmt.Errorf("reading an answer back: %w", err)
	}
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(passing, name) {
			fmt.Fprintf(hash, "%s\x00%s\x00", name, members[name])
		}
	}
	return body, `W/"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)) + `"`, nil
}

func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
}

func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("writing an answer: %w", err)
	}
	return out.Bytes(), nil
}

// secure sets what every answer carries: it is data for programs, and nobody's frame, script or cache.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// worthwhile is from how many bytes on a body is compressed: less fits one segment anyway.
const worthwhile = 1400

// send answers with a body, or with 304 where the caller has it. The answer may be kept, by its caller alone, and
// is asked about before it is used again.
func send(w http.ResponseWriter, r *http.Request, body []byte, tag string) {
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding, x-functions-key")
	h.Set("ETag", tag)
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	write(w, r, http.StatusOK, body)
}

func sendFailure(w http.ResponseWriter, r *http.Request, p *refusal) {
	w.Header().Set("Cache-Control", "no-store")
	body, err := marshal(p.body())
	if err != nil { // it cannot be: strings alone
		body = []byte(`{"error":{"message":"internal error","remedy":"","faults":[]}}`)
	}
	write(w, r, p.status, body)
}

func write(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if Packs(r, len(body)) {
		if packed, err := Pack(body); err == nil {
			h.Set("Content-Encoding", "gzip")
			body = packed
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a caller that has gone learns nothing more
	}
}

// Packs says whether a body of so many bytes goes out as gzip: the caller accepts it, and it is worth while.
func Packs(r *http.Request, bytes int) bool {
	return bytes >= worthwhile && acceptsGzip(r.Header.Values("Accept-Encoding"))
}

// Pack is a body as gzip, quickly rather than small.
func Pack(body []byte) ([]byte, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err == nil {
		_, err = z.Write(body)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("packing %d bytes: %w", len(body), err)
	}
	return packed.Bytes(), nil
}

// matches compares entity tags weakly (RFC 9110, section 13.1.2).
func matches(given []string, tag string) bool {
	for one := range strings.SplitSeq(strings.Join(given, ","), ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// acceptsGzip reads Accept-Encoding (RFC 9110, section 12.5.3).
func acceptsGzip(given []string) bool {
	all := false
	for one := range strings.SplitSeq(strings.Join(given, ","), ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(one), " ", ""), ";")
		q := 1.0
		if text, ok := strings.CutPrefix(weight, "q="); ok {
			q, _ = strconv.ParseFloat(text, 64)
		}
		switch coding {
		case "gzip", "x-gzip":
			return q > 0
		case "*":
			all = q > 0
		}
	}
	return all
}
