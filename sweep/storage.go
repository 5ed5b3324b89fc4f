package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"isochrone/prober/wire/account"
)

// endpoints are where a storage account is reached, for messages and for a first knock. The SDK
// reads the connection string on its own; what cannot be read here is left to it.
type endpoints struct {
	account       string
	blobs, tables string // URLs; empty when the settings do not say
}

func endpointsOf(a account.Account) endpoints {
	if a.ConnectionString == "" {
		return endpoints{a.Name, a.BlobURL(), a.TableURL()}
	}
	settings := map[string]string{}
	for part := range strings.SplitSeq(a.ConnectionString, ";") {
		name, value, _ := strings.Cut(part, "=")
		settings[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	out := endpoints{settings["accountname"], settings["blobendpoint"], settings["tableendpoint"]}
	scheme, suffix := settings["defaultendpointsprotocol"], settings["endpointsuffix"]
	if scheme == "" {
		scheme = "https"
	}
	if suffix == "" {
		suffix = "core.windows.net"
	}
	if out.blobs == "" && out.account != "" {
		out.blobs = scheme + "://" + out.account + ".blob." + suffix
	}
	if out.tables == "" && out.account != "" {
		out.tables = scheme + "://" + out.account + ".table." + suffix
	}
	return out
}

// describe names the account as messages begin with it. A shared access signature in an endpoint
// is no part of it.
func (e endpoints) describe() string {
	var hosts []string
	for _, endpoint := range []string{e.blobs, e.tables} {
		if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
			hosts = append(hosts, u.Host)
		}
	}
	text := "storage account"
	if e.account != "" {
		text += fmt.Sprintf(" %q", e.account)
	}
	if len(hosts) > 0 {
		text += " (" + strings.Join(hosts, ", ") + ")"
	}
	return text
}

// knockTime bounds the first knock. Whoever listens answers it within a round trip.
const knockTime = 3 * time.Second

// knock sees that somebody listens at the endpoints, before the SDK's patient tries: a refused
// connection, or a name that does not resolve, is told at once and with its cause. One that is
// merely slow is left to the tries; its error is returned as slow, for should they fail.
func knock(ctx context.Context, urls ...string) (slow, err error) {
	ctx, cancel := context.WithTimeout(ctx, knockTime)
	defer cancel()
	for _, endpoint := range urls {
		host, ok := knockable(endpoint)
		if !ok {
			continue
		}
		c, err := new(net.Dialer).DialContext(ctx, "tcp", host)
		if err == nil {
			_ = c.Close() // nothing was written to it
			continue
		}
		err = fmt.Errorf("connecting to %q: %w", host, err)
		var network net.Error
		if errors.As(err, &network) && network.Timeout() || ctx.Err() != nil {
			return err, nil
		}
		return nil, err
	}
	return nil, nil
}

// knockable is an endpoint's host and port. One behind a proxy cannot be knocked at.
func knockable(endpoint string) (string, bool) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err != nil || proxy != nil {
		return "", false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port), true
}

// service is one of the two that an account has.
type service int

const (
	blobs service = iota
	rows
)

// reach is the first thing that a command asks of the storage: whether it is there.
func (s *session) reach(ctx context.Context, st *stores, services ...service) error {
	var urls []string
	for _, of := range services {
		urls = append(urls, map[service]string{blobs: st.endpoints.blobs, rows: st.endpoints.tables}[of])
	}
	slow, err := knock(ctx, urls...)
	s.slow = slow
	if err != nil {
		return unreachable(err)
	}
	return nil
}

// storageText is the text of an error of the storage: the account first, and the cause of a
// deadline last where it is not in the error itself.
func (s *session) storageText(p *problem) string {
	text := describe(p.err)
	if !p.storage || s.account == "" {
		return text
	}
	if s.slow != nil && errors.Is(p.err, context.DeadlineExceeded) {
		text += ": " + describe(s.slow)
	}
	return visible(s.account) + ": " + text
}
