package probe

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"isochrone/prober/wire"
)

// httpRequest is a run of count requests, 20 ms apart, with a timeout of 5 s.
func httpRequest(url, connection string, count int) Request {
	r := tcpRequest("", count)
	r.URL, r.Loopback = url, true
	r.Spec = wire.Spec{
		Kind: wire.KindHTTP, Count: count, Interval: 20 * time.Millisecond, Timeout: 5 * time.Second,
		Method: http.MethodGet, Connection: connection,
	}
	return r
}

// web is a server on loopback that counts its connections.
type web struct {
	*httptest.Server
	accepted atomic.Int64
}

// serve starts a server; secured: with TLS, and h2 for whoever asks. slow delays what the server
// first reads of a connection.
func serve(t *testing.T, secured bool, slow time.Duration, handler http.HandlerFunc) *web {
	t.Helper()
	w := &web{Server: httptest.NewUnstartedServer(handler)}
	w.Listener = slowListener{w.Listener, slow, &w.accepted}
	w.Config.ErrorLog = quiet
	if w.EnableHTTP2 = secured; secured {
		w.StartTLS()
	} else {
		w.Start()
	}
	t.Cleanup(w.Close)
	return w
}

type slowListener struct {
	net.Listener
	slow     time.Duration
	accepted *atomic.Int64
}

func (l slowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.accepted.Add(1)
	return &slowConn{Conn: conn, slow: l.slow}, nil
}

type slowConn struct {
	net.Conn
	slow time.Duration
}

func (c *slowConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	time.Sleep(c.slow)
	c.slow = 0
	return n, err
}

// named is the server's URL with another host in it.
func (w *web) named(t *testing.T, host string) string {
	t.Helper()
	u, err := url.Parse(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String()
}

// trusting is a prober that trusts the server's certificate, which is example.com's and
// 127.0.0.1's, and asks the resolver for names.
func trusting(w *web, resolver *net.Resolver) *Prober {
	p := newTestProber()
	p.resolver = resolver
	if w != nil && w.Certificate() != nil {
		p.roots = x509.NewCertPool()
		p.roots.AddCert(w.Certificate())
	}
	return p
}

// nameServer answers for every name, after a while, with the addresses that answers returns; with
// none, there is no such name.
func nameServer(t *testing.T, after time.Duration, answers func(name string) []string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			var m dnsmessage.Message
			if err != nil || m.Unpack(b[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			out, err := named(m, answers(m.Questions[0].Name.String()))
			if err != nil {
				t.Error(err)
				continue
			}
			time.AfterFunc(after, func() { _, _ = conn.WriteTo(out, from) })
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// named makes the answer of a name server.
func named(m dnsmessage.Message, addresses []string) ([]byte, error) {
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	q := m.Questions[0]
	if len(addresses) == 0 {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addresses {
		ip := netip.MustParseAddr(a)
		head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 0}
		switch {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: ip.As4()}})
		case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
	return m.Pack()
}

// always is a name server's answer to everything.
func always(addresses ...string) func(string) []string {
	return func(string) []string { return addresses }
}
