package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"isochrone/sweep/ingest"
)

// sender is a sender of one document, on a connection of its own.
type sender struct {
	net.Conn
	answer chan answered
}

type answered struct {
	status int
	body   string
	closed bool // after the answer, by the other side
	err    error
}

// send begins a request whose body is body and then a byte every few milliseconds.
func send(t *testing.T, server *httptest.Server, request, body string, every time.Duration) sender {
	t.Helper()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s := sender{c, make(chan answered, 1)}
	if _, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: x\r\n%s", request, body); err != nil {
		t.Fatal(err)
	}
	go func() {
		r := bufio.NewReader(c)
		var a answered
		var answer *http.Response
		if answer, a.err = http.ReadResponse(r, nil); a.err == nil {
			var b []byte
			b, a.err = io.ReadAll(answer.Body)
			a.status, a.body = answer.StatusCode, string(b)
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			_, err := r.ReadByte()
			a.closed = err != nil && !isTimeout(err)
		}
		s.answer <- a
	}()
	if every > 0 {
		go func() {
			for {
				time.Sleep(every)
				if _, err := c.Write([]byte(" ")); err != nil {
					return
				}
			}
		}()
	}
	return s
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

func (s sender) wait(t *testing.T) answered {
	t.Helper()
	select {
	case a := <-s.answer:
		return a
	case <-time.After(10 * time.Second):
		t.Fatal("no answer within 10 s")
		return answered{}
	}
}

// As many senders as there is room for send a byte now and then, or nothing at all.
func TestSlowSendersAreCutOffAndKeepNobodyOut(t *testing.T) {
	f := &fake{outcome: ingest.Outcome{Stored: true, Rows: 1}}
	a, _ := faked(t, f, time.Now())
	a.settings.Timeout, a.bodyTimeout = 30*time.Second, 300*time.Millisecond
	server := httptest.NewServer(a.handler())
	t.Cleanup(server.Close) // after the connections are
	begun := time.Now()
	var slow []sender
	for i := range maxBodies {
		body := []string{"Content-Length: 1000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n3e8\r\n{"}[i%2]
		slow = append(slow, send(t, server, "POST /api/results", body, []time.Duration{10 * time.Millisecond, 0}[i/2]))
	}
	for len(a.bodies) < maxBodies {
		time.Sleep(time.Millisecond)
		if time.Since(begun) > 5*time.Second {
			t.Fatal("the slow ones have not taken all places")
		}
	}
	good := send(t, server, "POST /api/results", "Content-Length: 7\r\n\r\n{\"a\":1}", 0)
	for i, s := range slow {
		got := s.wait(t)
		var said struct{ Error, Remedy string }
		if err := json.Unmarshal([]byte(got.body), &said); err != nil || got.status != http.StatusRequestTimeout || !got.closed ||
			!strings.Contains(said.Error, "300ms") || said.Remedy == "" {
			t.Errorf("slow sender %d: %+v", i, got)
		}
	}
	if took := time.Since(begun); took < a.bodyTimeout {
		t.Errorf("they were cut off after %s: before %s", took, a.bodyTimeout)
	}
	if _, err := good.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")); err != nil {
		t.Error(err)
	}
	if got := good.wait(t); got.status != http.StatusCreated || string(f.body) != `{"a":1}` {
		t.Errorf("the good sender: %+v", got)
	}
}

// What the app refuses unread holds no connection for ever either.
func TestSlowSendersOfWhatIsRefusedAreCutOff(t *testing.T) {
	a, _ := faked(t, &fake{}, time.Now())
	a.bodyTimeout = 200 * time.Millisecond
	server := httptest.NewServer(a.handler())
	t.Cleanup(server.Close) // after the connections are
	for request, want := range map[string]int{"PUT /api/results": http.StatusMethodNotAllowed, "POST /api/results?sorce=a": http.StatusBadRequest} {
		if got := send(t, server, request, "Content-Length: 1000\r\n\r\n{", 10*time.Millisecond).wait(t); got.status != want || !got.closed {
			t.Errorf("%s: %+v, want %d and the connection closed", request, got, want)
		}
	}
}

// slowFake takes its time, unless the request is given up.
type slowFake struct {
	fake
	takes time.Duration
}

func (f *slowFake) Foreign(ctx context.Context, body []byte, p ingest.Parameters) (ingest.Outcome, error) {
	select {
	case <-time.After(f.takes):
		return f.fake.Foreign(ctx, body, p)
	case <-ctx.Done():
		return ingest.Outcome{}, ctx.Err()
	}
}

// The deadline is the body's alone: storing may take longer, and the connection serves on.
func TestTheTimeForTheBodyDoesNotEndTheStoring(t *testing.T) {
	f := &slowFake{fake: fake{outcome: ingest.Outcome{Stored: true}}, takes: 400 * time.Millisecond}
	a, _ := faked(t, &f.fake, time.Now())
	a.ingester = func(context.Context, *slog.Logger) (ingester, error) { return f, nil }
	a.bodyTimeout = 100 * time.Millisecond
	server := httptest.NewServer(a.handler())
	t.Cleanup(server.Close)
	for _, body := range []string{"{}", "", "{}"} { // on one connection
		answer, err := server.Client().Post(server.URL+"/api/results", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusCreated {
			t.Errorf("body %q: answered %d", body, answer.StatusCode)
		}
		time.Sleep(2 * a.bodyTimeout)
	}
}

// hanging is a storage that does not answer.
type hanging struct{ *fake }

func (hanging) Foreign(ctx context.Context, _ []byte, _ ingest.Parameters) (ingest.Outcome, error) {
	<-ctx.Done()
	return ingest.Outcome{}, ctx.Err()
}

func TestASenderHasAnAnswerWhileStorageHangs(t *testing.T) {
	a, _ := faked(t, &fake{}, time.Now())
	a.storeTimeout = 50 * time.Millisecond
	a.ingester = func(context.Context, *slog.Logger) (ingester, error) { return hanging{&fake{}}, nil }
	w := post(a, "/api/results", "{}")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("answered %d, Retry-After %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
}
