package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"isochrone/prober/wire"
)

// statusError is an answer that says that the request failed.
type statusError int

func (e statusError) Error() string {
	return fmt.Sprintf("answered with status %d %s", int(e), http.StatusText(int(e)))
}

// httpFailure is the failure code of a request that failed at a stage. A request whose time was up
// timed out, whatever it was doing: its detail says what.
func httpFailure(ctx context.Context, stage int32, err error) wire.Failure {
	var status statusError
	var name *net.DNSError
	deadline, bounded := ctx.Deadline()
	switch {
	case errors.As(err, &status):
		return wire.FailureHTTPStatus
	case errors.Is(err, errForbidden):
		return wire.FailureUnsupported
	case ctx.Err() != nil:
		return failureOf(ctx.Err())
	case bounded && !time.Now().Before(deadline): // the context may notice a moment later
		return wire.FailureTimeout
	case errors.Is(err, errTLS): // also when it was cut: that is how a middlebox refuses a name
		return wire.FailureTLS
	case errors.As(err, &name):
		return wire.FailureDNS
	}
	if f := failureOf(err); f != wire.FailureLocal {
		return f
	}
	switch stage { // net/http has only texts for what is wrong with an answer
	case stageAnswered:
		return wire.FailureProtocol
	case stageAsked:
		return wire.FailureReset
	}
	return wire.FailureLocal
}

// maxURLBytes bounds what is sent in a request's first line.
const maxURLBytes = 2048

// targetURL is what a run asks for.
type targetURL struct {
	url  *url.URL
	name string // without the query, which may hold a key
}

// readURL refuses what an http run cannot ask for.
func readURL(text string) (targetURL, error) {
	if len(text) > maxURLBytes {
		return targetURL{}, fmt.Errorf("the URL has %d bytes: at most %d are allowed", len(text), maxURLBytes)
	}
	u, err := url.Parse(text)
	if err != nil {
		return targetURL{}, errors.New("the URL cannot be read: want https://host/path") // err would show its query
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	t := targetURL{url: u, name: shown.String()}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return t, fmt.Errorf("URL %q: want one that begins with http:// or https://", t.name)
	case u.Hostname() == "" || u.Opaque != "":
		return t, fmt.Errorf("URL %q names no host", t.name)
	case u.User != nil:
		return t, fmt.Errorf("URL %q has a user's name: credentials are not sent", t.name)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return t, fmt.Errorf("URL %q: port %s: want 1 to 65535", t.name, port)
		}
	}
	return t, nil
}
