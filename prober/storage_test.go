package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire/account"
)

// storage is the app's side of the mailbox, by plain HTTP with an account's shared access
// signature: only prober/mailbox may use the SDK.
type storage struct {
	t         *testing.T
	base, sas string
}

func newStorage(t *testing.T, a account.Account) storage {
	t.Helper()
	part := map[string]string{}
	for field := range strings.SplitSeq(a.ConnectionString, ";") {
		name, value, _ := strings.Cut(field, "=")
		part[name] = value
	}
	key, err := base64.StdEncoding.DecodeString(part["AccountKey"])
	if err != nil {
		t.Fatal(err)
	}
	const version, permissions, services, resources, protocol = "2020-10-02", "rwdlac", "b", "sco", "https,http"
	expiry := time.Now().UTC().Add(time.Hour).Format(time.RFC3339)
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, strings.Join([]string{part["AccountName"], permissions, services, resources, "", expiry, "", protocol, version, ""}, "\n"))
	sas := url.Values{
		"sv": {version}, "ss": {services}, "srt": {resources}, "sp": {permissions}, "se": {expiry}, "spr": {protocol},
		"sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}
	return storage{t, part["BlobEndpoint"], sas.Encode()}
}

// do makes a request and returns the answer's body; it fails the test unless the status is
// wanted.
func (s storage) do(method, path, query string, body []byte, want int) []byte {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+"/"+path+"?"+query+s.sas, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("x-ms-blob-type", "BlockBlob")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close() // it is only read
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != want {
		s.t.Fatalf("%s %s: %s, want %d: %s", method, path, response.Status, want, answer)
	}
	return answer
}

func (s storage) create(container string) {
	s.t.Helper()
	s.do(http.MethodPut, container, "restype=container&", nil, http.StatusCreated)
}

func (s storage) put(container, name string, body []byte) {
	s.t.Helper()
	s.do(http.MethodPut, container+"/"+name, "", body, http.StatusCreated)
}

func (s storage) get(container, name string) []byte {
	s.t.Helper()
	return s.do(http.MethodGet, container+"/"+name, "", nil, http.StatusOK)
}

func (s storage) list(container string) []string {
	s.t.Helper()
	var page struct {
		Blobs struct {
			Blob []struct{ Name string }
		}
	}
	if err := xml.Unmarshal(s.do(http.MethodGet, container, "restype=container&comp=list&", nil, http.StatusOK), &page); err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, b := range page.Blobs.Blob {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return names
}

// eventually waits until done says so, half a minute at the most.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 600 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("waited half a minute: %s", what)
}
