// Package entra stands in, on one machine, for what a program with an identity meets in Azure:
// the endpoints that give tokens to managed identities, the storage account under its public
// names, and an authority that signed for them. Storage is Azurite.
//
// The program under test is a child process that needs no change: it is led here by its
// environment alone (HTTPS_PROXY, SSL_CERT_FILE, IDENTITY_ENDPOINT), and verifies what it meets.
package entra

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/prober/wire/account"
)

// Secret is the value of IDENTITY_HEADER: who knows it gets tokens.
const Secret = "identity-header-5f1c0a7e"

// Cloud is a running stand-in.
type Cloud struct {
	Account string // the storage account's name

	azurite *azurite.Server
	table   *front
	tokens  *tokens
	server  *http.Server
	ended   chan struct{}
	address string
	roots   string
}

// Options says where Azurite is and where files may be written.
type Options struct {
	Root string // the repository's root
	Dir  string // an empty folder, removed by the caller after Close
}

// Start starts Azurite, the token endpoints and the way to both.
func Start(ctx context.Context, o Options) (*Cloud, error) {
	blobs, tables := azurite.AccountName+".blob.core.windows.net", azurite.AccountName+".table.core.windows.net"
	ca, err := newAuthority(o.Dir, blobs, tables)
	if err != nil {
		return nil, err
	}
	storage, err := azurite.Start(ctx, azurite.Options{Root: o.Root, Location: o.Dir, Cert: ca.Cert, Key: ca.Key})
	if err != nil {
		return nil, err
	}
	table, err := newFront(ca, tables, storage.TableURL)
	if err != nil {
		return nil, errors.Join(err, storage.Stop())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listening: %w", err), table.server.Close(), storage.Stop())
	}
	c := &Cloud{Account: azurite.AccountName, azurite: storage, table: table, ended: make(chan struct{}), address: listener.Addr().String(), roots: ca.Roots}
	c.tokens = &tokens{secret: Secret, ended: c.ended, behaviours: map[string]Behaviour{}}
	way := &tunnel{tokens: c.tokens, to: map[string]string{blobs + ":443": host(storage.BlobURL), tables + ":443": table.address}}
	c.server = &http.Server{Handler: way, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	go func() { _ = c.server.Serve(listener) }() // ends with Close
	return c, nil
}

func host(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Host
}

// Close ends what Start started.
func (c *Cloud) Close() error {
	close(c.ended)
	return errors.Join(c.azurite.Stop(), c.server.Close(), c.table.server.Close())
}

// Behave changes what the identity's endpoint does with requests for the client id from now on.
func (c *Cloud) Behave(clientID string, b Behaviour) {
	c.tokens.mu.Lock()
	defer c.tokens.mu.Unlock()
	c.tokens.behaviours[clientID] = b
}

// Requests are all that the identity's endpoint was asked with the client id.
func (c *Cloud) Requests(clientID string) []Request {
	c.tokens.mu.Lock()
	defer c.tokens.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.tokens.requests), func(r Request) bool { return r.ClientID != clientID })
}

// base is what leads a program here; it gives it no identity.
func (c *Cloud) base(clientID string) []string {
	return []string{
		account.EnvAccountName + "=" + c.Account, account.EnvClientID + "=" + clientID,
		"HTTPS_PROXY=http://" + c.address, "HTTP_PROXY=http://" + c.address, "NO_PROXY=", "SSL_CERT_FILE=" + c.roots, "SSL_CERT_DIR=/nonexistent",
	}
}

// AppService is the environment of a program that has its identity as an App Service or a
// Functions app has: nothing else is to be in it.
func (c *Cloud) AppService(clientID string) []string {
	return append(c.base(clientID), "IDENTITY_ENDPOINT=http://"+c.address+"/msi/token", "IDENTITY_HEADER="+Secret)
}

// VirtualMachine is the environment of a program that has its identity as one on a virtual
// machine has. Without the last setting the SDK first looks, for a second, whether there is an
// IMDS at all.
func (c *Cloud) VirtualMachine(clientID string) []string {
	return append(c.base(clientID), "AZURE_TOKEN_CREDENTIALS=ManagedIdentityCredential")
}
