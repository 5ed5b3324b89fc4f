package probe

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// speaks is a server that reads the beginning of each request and writes an answer, whatever it is.
func speaks(t *testing.T, answer string) string {
	t.Helper()
	l := listenTest(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// silentServer takes connections and says nothing.
func silentServer(t *testing.T) string {
	t.Helper()
	l := listenTest(t)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				_, _ = io.Copy(io.Discard, conn) // until the prober closes
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

func TestEveryFailureOfARequestHasItsCode(t *testing.T) {
	nobody := listenTest(t)
	refusing := nobody.Addr().String()
	_ = nobody.Close()
	free := make(chan struct{})
	hangs := serve(t, false, 0, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.Header().Set("Content-Length", "2")
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
		}
		<-free
	})
	defer close(free)
	plain := serve(t, false, 0, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/404":
			w.WriteHeader(http.StatusNotFound)
		case "/large":
			_, _ = w.Write(make([]byte, maxAnswerBodyBytes+1))
		}
	})
	secured := serve(t, true, 0, func(http.ResponseWriter, *http.Request) {})
	names := nameServer(t, 0, func(name string) []string {
		if strings.HasPrefix(name, "nowhere") {
			return nil
		}
		return []string{"127.0.0.1"}
	})
	deaf := nameServer(t, time.Hour, always("127.0.0.1"))
	for _, c := range []struct {
		name   string
		prober *Prober
		url    string
		want   wire.Failure
		detail string
	}{
		{"nothing listens", newTestProber(), "http://" + refusing, wire.FailureRefused, "connection refused"},
		{"no such name", trusting(nil, names), "http://nowhere.test/", wire.FailureDNS, "nowhere.test"},
		{"a name server that does not answer", trusting(nil, deaf), "http://api.test/", wire.FailureTimeout, "timed out resolving the name"},
		{"a certificate that nobody signed", newTestProber(), secured.URL, wire.FailureTLS, "certificate"},
		{"another's certificate", trusting(secured, names), secured.named(t, "api.test"), wire.FailureTLS, "not api.test"},
		{"no TLS", newTestProber(), strings.Replace(plain.URL, "http:", "https:", 1), wire.FailureTLS, "TLS"},
		{"closed in the handshake", newTestProber(), "https://" + speaks(t, ""), wire.FailureTLS, "TLS"},
		{"closed without an answer", newTestProber(), "http://" + speaks(t, ""), wire.FailureReset, "EOF"},
		{"closed within the header", newTestProber(), "http://" + speaks(t, "HTTP/1.1 200 OK\r\nA: b\r\n"), wire.FailureReset, "EOF"},
		{"closed within the body", newTestProber(), "http://" + speaks(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"), wire.FailureReset, "EOF"},
		{"another protocol", newTestProber(), "http://" + speaks(t, "220 mail.test ESMTP\r\n"), wire.FailureProtocol, "malformed"},
		{"a header without end", newTestProber(), "http://" + speaks(t, "HTTP/1.1 200 OK\r\nA: "+strings.Repeat("a", maxAnswerHeaderBytes+5000)+"\r\n\r\n"), wire.FailureProtocol, "header"},
		{"another protocol at request", newTestProber(), "http://" + speaks(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"), wire.FailureProtocol, "status 101"},
		{"too large a body", newTestProber(), plain.URL + "/large", wire.FailureProtocol, "16 MiB"},
		{"unavailable", newTestProber(), plain.URL + "/503?code=secret", wire.FailureHTTPStatus, "status 503 Service Unavailable"},
		{"not found", newTestProber(), plain.URL + "/404", wire.FailureHTTPStatus, "status 404"},
		{"no answer", newTestProber(), hangs.URL, wire.FailureTimeout, "timed out waiting for the answer"},
		{"no end of the body", newTestProber(), hangs.URL + "/body", wire.FailureTimeout, "timed out reading the answer"},
		{"no answer in the handshake", newTestProber(), "https://" + silentServer(t), wire.FailureTimeout, "timed out in the TLS handshake"},
	} {
		for _, connection := range []string{wire.ConnectionFresh, wire.ConnectionKeepAlive} {
			t.Run(c.name+", "+connection, func(t *testing.T) {
				req := httpRequest(c.url, connection, 1)
				if c.want == wire.FailureTimeout {
					req.Spec.Timeout = 600 * time.Millisecond
				}
				run := c.prober.Make(t.Context(), req)
				valid(t, run)
				if run.Failure != c.want || run.Samples.Failure[0] != c.want || run.Counts.Sent != 1 || run.Counts.Lost != 1 {
					t.Errorf("failure %q (%s), counts %+v; want %s", run.Failure, run.Detail, run.Counts, c.want)
				}
				if !strings.Contains(run.Detail, c.detail) || strings.Contains(run.Detail, "secret") {
					t.Errorf("detail %q: want %q in it, and no query", run.Detail, c.detail)
				}
			})
		}
	}
}

func TestURLsThatCannotBeAskedForAreUnsupported(t *testing.T) {
	for url, detail := range map[string]string{
		"":                              "begins with http",
		"ftp://127.0.0.1/":              "begins with http",
		"127.0.0.1:80":                  "cannot be read",
		"http:///x":                     "names no host",
		"http:opaque":                   "names no host",
		"http://user:secret@127.0.0.1/": "credentials",
		"http://127.0.0.1:99999/":       "1 to 65535",
		"http://127.0.0.1:0/":           "1 to 65535",
		"http://127.0.0.1/\x00":         "cannot be read",
		"http://127.0.0.1/" + strings.Repeat("a", 2048): "at most 2048",
	} {
		run := newTestProber().Make(t.Context(), httpRequest(url, wire.ConnectionFresh, 3))
		valid(t, run)
		if run.Failure != wire.FailureUnsupported || run.Counts.Sent != 0 || !strings.Contains(run.Detail, detail) || strings.Contains(run.Detail, "secret") {
			t.Errorf("%q: failure %q (%s); want unsupported, %q", url, run.Failure, run.Detail, detail)
		}
	}
}

var neverAddresses = []string{
	"169.254.169.254", "169.254.0.1", "224.0.0.1", "239.255.255.250", "0.0.0.0", "255.255.255.255", "168.63.129.16",
	"fe80::1", "ff02::1", "::", "::ffff:169.254.169.254", "::ffff:168.63.129.16", "64:ff9b::a9fe:a9fe",
	"0.1.2.3", "240.0.0.1", "64:ff9b:1::a9fe:a9fe", "64:ff9b::a83f:8110", "::a9fe:a9fe", "2002:a9fe:a9fe::1",
}

// A name server may be anyone's: what it says is refused when it is connected to.
func TestANameThatLeadsToTheMetadataServiceIsNotFollowed(t *testing.T) {
	for _, address := range neverAddresses {
		if !strings.Contains(address, "::ffff:") { // which is no AAAA record of package net's
			p := trusting(nil, nameServer(t, 0, always(address)))
			run := p.Make(t.Context(), httpRequest("http://api.test:9/metadata", wire.ConnectionFresh, 1))
			valid(t, run)
			if run.Failure != wire.FailureUnsupported || !strings.Contains(run.Detail, "never measured") || run.Address != "" {
				t.Errorf("a name at %s: failure %q (%s), address %q; want unsupported", address, run.Failure, run.Detail, run.Address)
			}
		}
		url := "http://" + netip.AddrPortFrom(netip.MustParseAddr(address), 9).String()
		run := newTestProber().Make(t.Context(), httpRequest(url, wire.ConnectionKeepAlive, 1))
		valid(t, run)
		if run.Failure != wire.FailureUnsupported || !strings.Contains(run.Detail, "give the URL another host") {
			t.Errorf("%s: failure %q (%s); want unsupported", url, run.Failure, run.Detail)
		}
	}
}

func TestAddressesOfAUsersOwnAreAllowed(t *testing.T) {
	for _, address := range []string{"10.0.0.4", "192.168.1.1", "172.16.0.1", "fd00::4", "20.50.0.1", "168.63.129.17", "100.64.0.1", "64:ff9b::a00:4"} {
		if why := forbidden(netip.MustParseAddr(address), false); why != "" {
			t.Errorf("%s is refused as %s", address, why)
		}
	}
	for _, address := range []string{"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"} {
		ip := netip.MustParseAddr(address)
		if why := forbidden(ip, true); why != "" {
			t.Errorf("%s is refused as %s, where loopback is permitted", address, why)
		}
		if forbidden(ip, false) == "" {
			t.Errorf("%s is allowed, where loopback is not permitted", address)
		}
	}
}

// What listens on a prober's own loopback, its metrics or a neighbour, is nobody's to ask by a name.
func TestANameThatLeadsToLoopbackIsFollowedOnlyWhereThatIsPermitted(t *testing.T) {
	var asked atomic.Int32
	w := serve(t, false, 0, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, connection := range []string{wire.ConnectionFresh, wire.ConnectionKeepAlive} {
		for _, url := range []string{w.URL, w.named(t, "api.test")} {
			req := httpRequest(url, connection, 1)
			req.Loopback = false
			run := trusting(nil, nameServer(t, 0, always("127.0.0.1"))).Make(t.Context(), req)
			valid(t, run)
			if run.Failure != wire.FailureUnsupported || !strings.Contains(run.Detail, "needs loopback: true") || asked.Load() != 0 {
				t.Errorf("%s, %s: failure %q (%s), %d requests came through; want unsupported", url, connection, run.Failure, run.Detail, asked.Load())
			}
		}
	}
}

// Between two requests the name may come to mean something else.
func TestRebindingIsRefusedForEveryRequestAnew(t *testing.T) {
	w := serve(t, false, 0, func(http.ResponseWriter, *http.Request) {})
	asked := make(chan struct{}, 100)
	p := trusting(nil, nameServer(t, 0, func(string) []string {
		if asked <- struct{}{}; len(asked) <= 2 { // A and AAAA of the first
			return []string{"127.0.0.1"}
		}
		return []string{"169.254.169.254"}
	}))
	req := httpRequest(w.named(t, "api.test"), wire.ConnectionFresh, 3)
	req.Spec.Interval = 0 // one after another
	run := p.Make(t.Context(), req)
	valid(t, run)
	if run.Counts.Received != 1 || run.Samples.Failure[1] != wire.FailureUnsupported || run.Samples.Failure[2] != wire.FailureUnsupported {
		t.Errorf("%d received, failures %q; want the first alone", run.Counts.Received, run.Samples.Failure)
	}
}
