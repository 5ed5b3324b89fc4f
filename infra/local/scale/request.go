package main

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// kind is what the service charges a request as.
type kind int

// The kinds of requests.
const (
	tableBatch kind = iota
	tableWrite
	tableRead
	tableDelete
	blobWrite
	blobRead
	blobList
	blobDelete
	blobOther // properties, metadata, leases
	kinds
)

var kindNames = [kinds]string{"batches", "row writes", "row reads", "row deletes", "blob writes", "blob reads", "blob lists", "blob deletes", "blob others"}

// kindOf tells the kind of a request. The service's table of operations says what each is charged as:
// metadata and properties are others.
func kindOf(method string, u *url.URL, table bool) kind {
	q := u.Query()
	switch {
	case table && strings.HasSuffix(u.Path, "/$batch"):
		return tableBatch
	case table && method == http.MethodGet:
		return tableRead
	case table && method == http.MethodDelete:
		return tableDelete
	case table:
		return tableWrite
	case q.Get("comp") == "list" || q.Get("restype") == "container" && method == http.MethodPut:
		return blobList // making a container is charged as listing one
	case q.Get("comp") != "" && q.Get("comp") != "block" && q.Get("comp") != "blocklist", method == http.MethodHead:
		return blobOther
	case method == http.MethodDelete:
		return blobDelete
	case method == http.MethodGet:
		return blobRead
	}
	return blobWrite
}

// request is one that storage has answered.
type request struct {
	kind    kind
	path    string
	in, out int64 // bytes of bodies, as storage sees them
	at      time.Time
}

// usage is what requests come to.
type usage struct {
	count   [kinds]int
	in, out int64
}

func sum(rs []request) (u usage) {
	for _, r := range rs {
		u.count[r.kind]++
		u.in += r.in
		u.out += r.out
	}
	return u
}

func (u usage) requests() (n int) {
	for _, c := range u.count {
		n += c
	}
	return n
}
