package entra

import (
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const imdsHost = "169.254.169.254"

// tunnel is the HTTP proxy of programs that believe themselves in Azure. It takes the storage
// account's public names to Azurite, and the IMDS to the tokens, and leads nowhere else. The
// programs' TLS goes through it unread.
type tunnel struct {
	tokens *tokens
	to     map[string]string // host:port of the public names -> of Azurite
}

func (t *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch to := t.to[r.Host]; {
	case r.Method == http.MethodConnect && to != "":
		t.join(w, to)
	case r.Method == http.MethodGet && r.URL.Host == imdsHost && r.URL.Path == "/metadata/identity/oauth2/token":
		t.tokens.serve("imds", w, r)
	case r.Method == http.MethodGet && r.URL.Host == "" && r.URL.Path == "/msi/token":
		t.tokens.serve("appservice", w, r)
	default:
		http.Error(w, "this proxy leads nowhere else", http.StatusForbidden)
	}
}

func (t *tunnel) join(w http.ResponseWriter, to string) {
	server, err := net.DialTimeout("tcp", to, 10*time.Second)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close() // both ends are closed when one is
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close() // both ends are closed when one is
	if _, err := io.Copy(client, strings.NewReader("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	ended := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(server, buffered); ended <- struct{}{} }()
	go func() { _, _ = io.Copy(client, server); ended <- struct{}{} }()
	<-ended
}
