package entra

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Behaviour is what the identity's endpoint does with requests for one identity.
type Behaviour struct {
	Lifetime time.Duration // of the tokens; 0: a day
	Status   int           // answered in place of a token; 0: none
	Silent   bool          // the request is read and not answered
	Audience string        // of the tokens; empty: what was asked for
}

// Request is what a program asked the identity's endpoint for.
type Request struct {
	Form     string // "appservice" or "imds"
	Resource string
	ClientID string
	Header   string // X-IDENTITY-HEADER, or Metadata of the IMDS
	Version  string // of the API
}

// tokens answers as the managed identity's endpoints do: App Service's (and so the Functions
// host's) with the header whose value the environment holds, and the IMDS of a virtual machine.
type tokens struct {
	secret string
	ended  <-chan struct{}

	mu         sync.Mutex
	behaviours map[string]Behaviour // by client id
	requests   []Request
	given      int
}

func (t *tokens) serve(form string, w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	got := Request{Form: form, Resource: q.Get("resource"), ClientID: q.Get("client_id"), Version: q.Get("api-version"), Header: r.Header.Get("X-IDENTITY-HEADER")}
	if form == "imds" {
		got.Header = r.Header.Get("Metadata")
	}
	t.mu.Lock()
	t.requests = append(t.requests, got)
	b := t.behaviours[got.ClientID]
	t.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case b.Silent:
		select {
		case <-t.ended:
		case <-r.Context().Done():
		}
	case form == "appservice" && got.Header != t.secret, form == "imds" && got.Header != "true":
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(w, `{"error":"unauthorized_client"}`)
	case b.Status != 0:
		w.WriteHeader(b.Status)
		_, _ = fmt.Fprint(w, `{"error":"server_error","error_description":"no identity today"}`)
	default:
		t.give(w, b, got)
	}
}

func (t *tokens) give(w http.ResponseWriter, b Behaviour, r Request) {
	lifetime, audience := b.Lifetime, b.Audience
	if lifetime == 0 {
		lifetime = 24 * time.Hour
	}
	if audience == "" {
		audience = r.Resource
	}
	t.mu.Lock()
	t.given++
	n := t.given
	t.mu.Unlock()
	now := time.Now()
	expires := now.Add(lifetime)
	// expires_in counts from the answer, expires_on is the second in which it ends.
	_ = json.NewEncoder(w).Encode(map[string]string{
		"access_token": mint(n, audience, now, expires), "token_type": "Bearer", "resource": r.Resource, "client_id": r.ClientID,
		"expires_on": strconv.FormatInt(expires.Unix(), 10), "expires_in": strconv.Itoa(int(lifetime.Seconds())),
	})
}

// mint makes a token as Entra ID's, unsigned: Azurite looks at the claims alone.
func mint(n int, audience string, from, until time.Time) string {
	part := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // maps of text and numbers
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	return part(map[string]string{"alg": "RS256", "typ": "JWT"}) + "." + part(map[string]any{
		"iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000001/", "aud": audience, "jti": strconv.Itoa(n),
		"iat": from.Add(-time.Minute).Unix(), "nbf": from.Add(-time.Minute).Unix(), "exp": until.Unix(),
	}) + "." + base64.RawURLEncoding.EncodeToString([]byte("unsigned"))
}
