package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/prober/wire/account"
)

// proxy stands in front of an emulator and keeps a record of the requests.
type proxy struct {
	account account.Account // through the proxy
	servers []*http.Server

	lock sync.Mutex
	all  []request
}

func newProxy(s *azurite.Server) (*proxy, error) {
	p := &proxy{account: s.Account()}
	for _, at := range []struct {
		url   string
		table bool
	}{{s.BlobURL, false}, {s.TableURL, true}} {
		target, err := url.Parse(at.url)
		if err != nil {
			return nil, fmt.Errorf("starting a proxy: %w", err)
		}
		target.Path = "" // the account's name stays in the paths of the requests
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("starting a proxy: %w", err), p.stop())
		}
		server := &http.Server{Handler: p.handler(target, at.table), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16, ErrorLog: log.New(io.Discard, "", 0)}
		p.servers = append(p.servers, server)
		p.account.ConnectionString = strings.Replace(p.account.ConnectionString, target.String(), "http://"+l.Addr().String(), 1)
		go func() { _ = server.Serve(l) }() // until stop
	}
	return p, nil
}

func (p *proxy) handler(target *url.URL, table bool) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, out := &countedBody{ReadCloser: r.Body}, &countedAnswer{ResponseWriter: w}
		r.Body = in
		done := request{kind: kindOf(r.Method, r.URL, table), path: r.Method + " " + r.URL.Path}
		forward.ServeHTTP(out, r)
		done.in, done.out, done.at = in.n, out.n, time.Now()
		p.lock.Lock()
		defer p.lock.Unlock()
		p.all = append(p.all, done)
	})
}

// take returns the requests since the last call.
func (p *proxy) take() []request {
	p.lock.Lock()
	defer p.lock.Unlock()
	out := p.all
	p.all = nil
	return out
}

func (p *proxy) stop() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, s := range p.servers {
		if s.Shutdown(ctx) != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

type countedBody struct {
	io.ReadCloser
	n int64
}

func (c *countedBody) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.n += int64(n)
	return n, err
}

type countedAnswer struct {
	http.ResponseWriter
	n int64
}

func (c *countedAnswer) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (c *countedAnswer) Unwrap() http.ResponseWriter { return c.ResponseWriter }
