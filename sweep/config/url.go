package config

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// MaxURLBytes is the longest URL of an endpoint.
const MaxURLBytes = 2 << 10

// SplitURL checks the form of a URL that an http probe asks for, and takes host and port out of it:
// http or https, no user information, no fragment, and nothing that would have to be escaped. Its
// errors do not repeat the URL.
func SplitURL(text string) (host string, port int, err error) {
	const want = "want an http or https URL, such as https://api.example.com/health"
	if len(text) > MaxURLBytes {
		return "", 0, fmt.Errorf("has %d bytes; want at most %d", len(text), MaxURLBytes)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }); i >= 0 {
		return "", 0, fmt.Errorf("holds a blank, or what is not ASCII, at character %d: escape it (RFC 3986), and write a host in its ASCII form", i+1)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "" {
		return "", 0, errors.New(want) // without the parser's words: they repeat the URL
	}
	if u.User != nil {
		return "", 0, errors.New("holds a user name or password, which plans and assignments would show: leave it out")
	}
	if u.Fragment != "" || strings.Contains(text, "#") {
		return "", 0, errors.New("holds a fragment (#…), which is never sent: leave it out")
	}
	switch given := u.Port(); {
	case given != "":
		port, err = strconv.Atoi(given)
		if err != nil || port < 1 || port > 65535 {
			return "", 0, fmt.Errorf("port %s: want 1 to 65535", quote(given))
		}
	case strings.HasSuffix(u.Host, ":"):
		return "", 0, errors.New("has a colon and no port: leave it out, or add the port")
	case u.Scheme == "https":
		port = 443
	default:
		port = 80
	}
	return u.Hostname(), port, nil
}

func (e *Endpoint) setURL(text string, loopback bool) error {
	host, port, err := SplitURL(text)
	if err != nil {
		return err
	}
	e.Port = port
	e.Host, err = endpointHost(host, loopback)
	return err
}
