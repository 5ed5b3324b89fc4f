package functionshost

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

const (
	keyHeader = "x-functions-key"
	keyQuery  = "code"
	keyBytes  = 40
)

// keyring holds the keys, which are made anew for every host and kept in memory only.
type keyring struct {
	master    string
	functions map[string]string // by the function's name in lower case
}

func newKeyring(a *app) (*keyring, error) {
	k := &keyring{functions: map[string]string{}}
	var err error
	if k.master, err = newKey(); err != nil {
		return nil, err
	}
	for _, f := range a.functions {
		if k.functions[strings.ToLower(f.name)], err = newKey(); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func newKey() (string, error) {
	var b [keyBytes]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("making a key: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// level is what the key in a request opens. A header counts before the query, even when it is
// wrong. Names in the query have no case, as in all of ASP.NET Core.
func (k *keyring) level(r *http.Request, function string) authLevel {
	shown := ""
	for name, values := range r.URL.Query() {
		if strings.EqualFold(name, keyQuery) && shown == "" {
			shown = values[0]
		}
	}
	if values := r.Header.Values(keyHeader); len(values) > 0 {
		shown = values[0]
	}
	switch {
	case shown == "":
		return levelAnonymous
	case same(shown, k.master):
		return levelAdmin
	case same(shown, k.functions[strings.ToLower(function)]):
		return levelFunction
	}
	return levelAnonymous
}

func same(a, b string) bool {
	if b == "" {
		return false
	}
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
