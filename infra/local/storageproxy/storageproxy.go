// Package storageproxy stands between programs and a storage emulator, and goes wrong on demand: as throttled
// storage does, as networks do, and as storage does that is away.
package storageproxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"isochrone/prober/wire/account"
)

// Fault is what becomes of a request.
type Fault struct {
	// Status is answered, and the request goes no further; 0 lets it pass.
	Status int
	// RetryAfter is in the answer; 0 leaves it out.
	RetryAfter time.Duration
	// Hang gives no answer, for so long or until the client has gone, and cuts the connection.
	Hang time.Duration
	// CutBefore cuts the connection, and the request goes no further; CutHalfway after half of its body.
	CutBefore, CutHalfway bool
	// CutAfter has the request done, and cuts the connection without an answer; CutAnswer after half of it.
	CutAfter, CutAnswer bool
}

// Proxy is a running proxy, of the blob and of the table service.
type Proxy struct {
	account account.Account
	doors   []*door

	mu    sync.Mutex
	fault func(*http.Request) Fault

	passed, faulted atomic.Int64
}

// door is the proxy of one service.
type door struct {
	p       *Proxy
	target  *url.URL
	address string
	through *httputil.ReverseProxy

	mu     sync.Mutex
	server *http.Server
}

// Start starts a proxy in front of an account, on free ports of 127.0.0.1.
func Start(a account.Account) (_ *Proxy, err error) {
	p := &Proxy{}
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	settings := strings.Split(a.ConnectionString, ";")
	for i, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		if name != "BlobEndpoint" && name != "TableEndpoint" {
			continue
		}
		u, err := url.Parse(value)
		if err != nil {
			return nil, fmt.Errorf("reading %s of the account: %w", name, err)
		}
		d := &door{p: p, target: &url.URL{Scheme: u.Scheme, Host: u.Host}, address: "127.0.0.1:0"}
		d.through = &httputil.ReverseProxy{
			Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(d.target) },
			Transport:    &http.Transport{MaxIdleConnsPerHost: 64},
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		}
		if err := d.open(); err != nil {
			return nil, err
		}
		p.doors = append(p.doors, d)
		settings[i] = name + "=http://" + d.address + u.Path
	}
	if len(p.doors) != 2 {
		return nil, errors.New("starting the storage proxy: the account's connection string has no BlobEndpoint or no TableEndpoint")
	}
	p.account = account.Account{ConnectionString: strings.Join(settings, ";")}
	return p, nil
}

// Account is how storage is reached through the proxy.
func (p *Proxy) Account() account.Account { return p.account }

// SetFault says what becomes of requests from now on; nil lets all pass. It is called by several goroutines.
func (p *Proxy) SetFault(fault func(*http.Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// Counts are the requests that passed unharmed, and the others.
func (p *Proxy) Counts() (passed, faulted int) { return int(p.passed.Load()), int(p.faulted.Load()) }

// Away cuts all connections and has new ones refused.
func (p *Proxy) Away() {
	for _, d := range p.doors {
		d.close()
	}
}

// Back takes connections again, at the same addresses.
func (p *Proxy) Back() error {
	var faults []error
	for _, d := range p.doors {
		faults = append(faults, d.open())
	}
	return errors.Join(faults...)
}

// Stop ends the proxy.
func (p *Proxy) Stop() { p.Away() }

func (d *door) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server != nil {
		return nil
	}
	l, err := net.Listen("tcp", d.address)
	if err != nil {
		return fmt.Errorf("listening for storage's clients: %w", err)
	}
	d.address = l.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(d.serve), ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
	d.server = server
	go func() { _ = server.Serve(l) }() // until close
	return nil
}

func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server != nil {
		_ = d.server.Close() // nobody is waited for
		d.server = nil
	}
}

func (d *door) serve(w http.ResponseWriter, r *http.Request) {
	d.p.mu.Lock()
	decide := d.p.fault
	d.p.mu.Unlock()
	var f Fault
	if decide != nil {
		f = decide(r)
	}
	if f == (Fault{}) {
		d.p.passed.Add(1)
		d.through.ServeHTTP(w, r)
		return
	}
	d.p.faulted.Add(1)
	switch {
	case f.Status != 0:
		refuse(w, r, f)
	case f.Hang > 0:
		_, _ = io.Copy(io.Discard, r.Body) // or nobody would notice that the client has gone
		select {
		case <-r.Context().Done():
		case <-time.After(f.Hang):
		}
		panic(http.ErrAbortHandler)
	case f.CutBefore:
		panic(http.ErrAbortHandler)
	case f.CutHalfway:
		r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, r.ContentLength/2), broken{}))
		d.through.ServeHTTP(w, r)
		panic(http.ErrAbortHandler)
	case f.CutAfter:
		d.through.ServeHTTP(&swallowed{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case f.CutAnswer:
		kept := &swallowed{header: w.Header(), keep: true}
		d.through.ServeHTTP(kept, r)
		w.Header().Set("Content-Length", strconv.Itoa(len(kept.body)))
		w.WriteHeader(kept.status)
		_, _ = w.Write(kept.body[:len(kept.body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// refuse answers as the service does that is busy.
func refuse(w http.ResponseWriter, r *http.Request, f Fault) {
	_, _ = io.Copy(io.Discard, r.Body)
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
	w.Header().Set("x-ms-error-code", "ServerBusy")
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(f.Status)
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="utf-8"?><Error><Code>ServerBusy</Code><Message>The server is busy.</Message></Error>`)
}

// broken is the rest of a body that never comes.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// swallowed is an answer that the client does not get, or not whole.
type swallowed struct {
	header http.Header
	status int
	keep   bool
	body   []byte
}

func (s *swallowed) Header() http.Header { return s.header }

func (s *swallowed) WriteHeader(status int) { s.status = status }

func (s *swallowed) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	if s.keep {
		s.body = append(s.body, b...)
	}
	return len(b), nil
}
