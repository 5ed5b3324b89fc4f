package entra

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// maxBatchBytes is more than a batch of the tables may hold.
const maxBatchBytes = 8 << 20

// front is the table service under its public name. Azurite knows such names, but not in the URLs
// inside a batch, so that they are changed on the way, behind TLS and before TLS.
type front struct {
	server  *http.Server
	address string
}

// newFront serves the public name with the authority's certificate, and passes everything on to
// the endpoint of Azurite, whose certificate is verified.
func newFront(a authority, public, endpoint string) (*front, error) {
	to, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("reading endpoint %q: %w", endpoint, err)
	}
	cert, err := tls.LoadX509KeyPair(a.Cert, a.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate %q: %w", a.Cert, err)
	}
	text, err := os.ReadFile(a.Roots)
	if err != nil {
		return nil, fmt.Errorf("reading the authority %q: %w", a.Roots, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, errors.New("reading the authority: it holds no certificate")
	}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, IdleConnTimeout: 30 * time.Second},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/$batch") {
			body, err := io.ReadAll(io.LimitReader(r.Body, maxBatchBytes))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			body = bytes.ReplaceAll(body, []byte("https://"+public+"/"), []byte(endpoint+"/"))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		}
		proxy.ServeHTTP(w, r)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	f := &front{address: listener.Addr().String(), server: &http.Server{Handler: handler, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}}}
	go func() { _ = f.server.ServeTLS(listener, "", "") }() // ends with Close
	return f, nil
}
