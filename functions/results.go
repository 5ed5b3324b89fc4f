package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"isochrone/functions/host"
	"isochrone/prober/wire"
	"isochrone/sweep/convert"
	"isochrone/sweep/ingest"
)

// retryAfter is what a sender is told when storage cannot be reached, in seconds.
const retryAfter = "30"

// problem is the body of every answer that is not a success.
type problem struct {
	Error  string `json:"error"`
	Where  string `json:"where,omitempty"`
	Remedy string `json:"remedy,omitempty"`

	status int
	logged bool // by ingest, with the reason, when it was quarantined
}

// accepted is the body of a success.
type accepted struct {
	// Stored is false when the document is safe and waits to be converted.
	Stored   bool   `json:"stored"`
	Document string `json:"document,omitempty"`
	Rows     int    `json:"rows"`
	// Format is the tool's that wrote it, and JSON the blob that holds unknown XML as JSON.
	Format string `json:"format,omitempty"`
	JSON   string `json:"json,omitempty"`
	// Left is what could not be read of the document, the first of LeftCount parts.
	Left      []leftOut `json:"left_out,omitempty"`
	LeftCount int       `json:"left_out_count,omitempty"`
}

// leftOut is a part of a document that could not be read.
type leftOut struct {
	Line   int    `json:"line,omitempty"`
	Byte   *int64 `json:"byte,omitempty"`
	Where  string `json:"where,omitempty"`
	Reason string `json:"reason"`
}

func acceptedOf(o ingest.Outcome) accepted {
	a := accepted{Stored: o.Stored, Document: o.Document, Rows: o.Rows, Format: o.Format, JSON: o.JSON, LeftCount: o.LeftCount}
	for i := range o.Left {
		f := &o.Left[i]
		left := leftOut{Line: f.Line, Where: f.Where, Reason: f.Reason}
		if f.Offset >= 0 {
			left.Byte = &f.Offset
		}
		a.Left = append(a.Left, left)
	}
	return a
}

// results serves POST /api/results: a document from whoever has the function's key. It answers
// 201 when the rows are stored, 202 when the document is kept and will be converted later, 408 when
// its sender is too slow, and 503 when storage could not keep it. The query is never logged: it may hold the key.
func (a *app) results(w http.ResponseWriter, r *http.Request) {
	log := host.Log(r.Context())
	outcome, bytes, p := a.take(w, r)
	if p != nil {
		attributes := []any{"status", p.status, "bytes", bytes}
		if !p.logged {
			attributes = append(attributes, "error", p.Error, "where", p.Where)
		}
		log.Warn("document not taken", attributes...)
		switch p.status {
		case http.StatusServiceUnavailable:
			w.Header().Set("Retry-After", retryAfter)
		case http.StatusMethodNotAllowed:
			w.Header().Set("Allow", http.MethodPost)
		case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
			w.Header().Set("Connection", "close") // the rest of the body is not read
		}
		if p.status == http.StatusServiceUnavailable { // what storage said is for the log
			p.Error = "storage could not keep the document"
		}
		writeJSON(w, p.status, p)
		return
	}
	log.Info("document taken", "stored", outcome.Stored, "document", outcome.Document, "format", outcome.Format, "rows", outcome.Rows, "left_out", outcome.LeftCount, "bytes", bytes)
	status := http.StatusCreated
	if !outcome.Stored {
		status = http.StatusAccepted
	}
	writeJSON(w, status, acceptedOf(outcome))
}

// take reads and hands over the document; bytes is the body's length as far as it was read.
func (a *app) take(w http.ResponseWriter, r *http.Request) (outcome ingest.Outcome, bytes int, p *problem) {
	// What is not read here the server reads before the connection's next request.
	if err := a.bound(w, r); err != nil {
		return outcome, 0, refusal(err)
	}
	if r.Method != http.MethodPost {
		return outcome, 0, &problem{status: http.StatusMethodNotAllowed, Error: "this resource takes documents by POST alone"}
	}
	parameters, p := readParameters(r)
	if p != nil {
		return outcome, 0, p
	}
	select {
	case a.bodies <- struct{}{}:
		defer func() { <-a.bodies }()
	case <-r.Context().Done():
		return outcome, 0, refusal(r.Context().Err())
	}
	body, err := a.read(w, r)
	if err != nil {
		return outcome, len(body), a.bodyProblem(err)
	}
	// The sender has an answer while it still waits for one: kept, or to be sent again.
	ctx, cancel := context.WithTimeout(r.Context(), a.storeTimeout)
	defer cancel()
	g, err := a.ingester(ctx, host.Log(r.Context()))
	if err == nil {
		outcome, err = g.Foreign(ctx, body, parameters)
	}
	if err != nil {
		return ingest.Outcome{}, len(body), refusal(err)
	}
	return outcome, len(body), nil
}

// bound gives the rest of the request until bodyTimeout from now to arrive. The request's context
// ends no read, only the connection's deadline does.
func (a *app) bound(w http.ResponseWriter, r *http.Request) error {
	deadline := time.Now().Add(a.bodyTimeout) // by the connection's clock, not the app's
	if at, ok := r.Context().Deadline(); ok && at.Before(deadline) {
		deadline = at
	}
	if err := http.NewResponseController(w).SetReadDeadline(deadline); err != nil {
		return fmt.Errorf("bounding the time for the body: %w", err)
	}
	return nil
}

// read reads the body, in bounded time and memory: a place in bodies is held meanwhile.
func (a *app) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := a.bound(w, r); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxDocumentBytes))
	if err != nil {
		return body, err
	}
	// After the body's end, which an empty one had before it came here, the server reads on to notice
	// when the sender is gone. A deadline that passes while the document is stored would look like it.
	return body, http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// readParameters reads the query and the headers that matter. Unknown parameters are refused, so
// that a misspelt one is not silently left out; code and clientId are the host's own.
func readParameters(r *http.Request) (ingest.Parameters, *problem) {
	bad := func(where, format string, args ...any) (ingest.Parameters, *problem) {
		return ingest.Parameters{}, &problem{status: http.StatusBadRequest, Error: fmt.Sprintf(format, args...), Where: where,
			Remedy: "the query takes source, target, path, probe, at and xml, once each"}
	}
	var p ingest.Parameters
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return bad("query", "the query cannot be read") // without its text: it may hold the key
	}
	for name, values := range query {
		if strings.EqualFold(name, "code") || strings.EqualFold(name, "clientId") {
			continue
		}
		if !p.Set(name, values[0]) {
			return bad("query", "there is no parameter %.40q", name)
		}
		if len(values) > 1 {
			return bad("query parameter "+name, "it is given %d times", len(values))
		}
		var one ingest.Parameters
		one.Set(name, values[0])
		if err := one.Check(); err != nil {
			return bad("query parameter "+name, "%v", err)
		}
	}
	switch e := strings.ToLower(r.Header.Get("Content-Encoding")); e {
	case "", "identity", "gzip", "x-gzip": // gzip is recognised by content
		return p, nil
	default:
		return ingest.Parameters{}, &problem{status: http.StatusUnsupportedMediaType, Error: fmt.Sprintf("Content-Encoding %.40q cannot be read", e),
			Where: "header Content-Encoding", Remedy: "send the document plain or gzipped"}
	}
}

func (a *app) bodyProblem(err error) *problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &problem{status: http.StatusRequestEntityTooLarge, Error: fmt.Sprintf("the body has more than %d bytes", large.Limit),
			Remedy: "gzip the document, or split it into several"}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &problem{status: http.StatusRequestTimeout, Error: fmt.Sprintf("the body did not arrive in time: it may take %s", a.bodyTimeout),
			Remedy: "gzip the document, split it into several, or send it over a faster line"}
	}
	return &problem{status: http.StatusBadRequest, Error: "the body could not be read to its end", Remedy: "send it again"}
}

// refusal turns an error of ingest into an answer.
func refusal(err error) *problem {
	var refused *ingest.Refused
	if !errors.As(err, &refused) {
		return &problem{status: http.StatusServiceUnavailable, Error: err.Error(), Remedy: "send it again later; sending it twice stores it once"}
	}
	p := &problem{logged: true, status: refused.Status, Error: refused.Reason}
	if r, ok := errors.AsType[*convert.Refusal](refused); ok {
		p.Error, p.Where, p.Remedy = r.Text, r.Place(), r.Remedy
	}
	return p
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil { // it cannot be: the bodies are strings, numbers and truth values
		status, b = http.StatusInternalServerError, []byte(`{"error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(b) // a sender that has gone learns nothing more
}
