package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"isochrone/prober/wire/account"
)

// proxy stands in front of the storage emulator. It has storage tell the month's time, and does to requests
// what the weather says.
type proxy struct {
	weather   *weather
	now       func() time.Time
	transport *http.Transport
	servers   []*http.Server
}

// openProxy returns the account as it is reached through the proxy.
func openProxy(a account.Account, w *weather, now func() time.Time) (account.Account, *proxy, error) {
	p := &proxy{weather: w, now: now, transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	settings := strings.Split(a.ConnectionString, ";")
	for i, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		if name != "BlobEndpoint" && name != "TableEndpoint" {
			continue
		}
		u, err := url.Parse(value)
		if err != nil {
			return a, nil, errors.Join(fmt.Errorf("reading %s of the storage emulator: %w", name, err), p.Close())
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return a, nil, errors.Join(fmt.Errorf("listening for %s: %w", name, err), p.Close())
		}
		server := &http.Server{Handler: p.to(u.Host), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
		p.servers = append(p.servers, server)
		go func() { _ = server.Serve(listener) }() // ends with Close
		settings[i] = name + "=http://" + listener.Addr().String() + u.Path
	}
	return account.Account{ConnectionString: strings.Join(settings, ";")}, p, nil
}

// Close ends the proxy and the connections through it.
func (p *proxy) Close() error {
	var faults []error
	for _, s := range p.servers {
		faults = append(faults, s.Close())
	}
	p.transport.CloseIdleConnections()
	return errors.Join(faults...)
}

func (p *proxy) to(host string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, wait := p.weather.next()
		switch f {
		case busy:
			refuse(w, http.StatusServiceUnavailable, "ServerBusy")
			return
		case throttled:
			refuse(w, http.StatusTooManyRequests, "TooManyRequests")
			return
		case cutBefore:
			panic(http.ErrAbortHandler)
		case slow:
			time.Sleep(wait)
		}
		ctx := r.Context()
		if f == cutAfter || f == failAfter { // the client may go meanwhile; it is done all the same
			ctx = context.WithoutCancel(ctx)
		}
		answer, body, err := p.ask(ctx, host, r)
		switch {
		case err != nil || f == cutAfter:
			panic(http.ErrAbortHandler)
		case f == failAfter:
			refuse(w, http.StatusInternalServerError, "OperationTimedOut")
			return
		}
		maps.Copy(w.Header(), answer.Header)
		w.Header().Set("Date", p.now().Format(http.TimeFormat))
		w.WriteHeader(answer.StatusCode)
		if f == cutWithin {
			_, _ = w.Write(body[:len(body)/2])
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(body)
	}
}

// ask has the emulator carry a request out, and reads its answer to the end.
func (p *proxy) ask(ctx context.Context, host string, r *http.Request) (*http.Response, []byte, error) {
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", host, ""
	out.Close = false
	answer, err := p.transport.RoundTrip(out)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	body, err := io.ReadAll(answer.Body)
	return answer, body, err
}

// refuse answers as the services do when they take nothing. The wait that it asks for is short: the month is.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("x-ms-error-code", code)
	w.Header().Set("x-ms-retry-after-ms", "20")
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>%s</Code><Message>injected</Message></Error>", code)
}
