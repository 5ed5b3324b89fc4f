package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func ask(t *testing.T, url string, body io.Reader) (took, own time.Duration) {
	t.Helper()
	began := time.Now()
	response, err := http.Post(url, "text/plain", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() // it is read
	b, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || len(b) != 7 {
		t.Fatalf("status %s, %d bytes, error %v", response.Status, len(b), err)
	}
	took = time.Since(began)
	var ms float64
	if _, err := fmt.Sscanf(response.Header.Get("Server-Timing"), "total;dur=%f", &ms); err != nil {
		t.Fatalf("Server-Timing %q: %v", response.Header.Get("Server-Timing"), err)
	}
	return took, time.Duration(ms * 1e6)
}

func TestItsOwnTimeIsWithinTheRangeAndTheWhole(t *testing.T) {
	web := httptest.NewServer(&server{least: 20 * time.Millisecond, most: 30 * time.Millisecond, answer: 7})
	defer web.Close()
	for range 5 {
		if took, own := ask(t, web.URL, nil); own < 20*time.Millisecond || own > took {
			t.Errorf("it says that it worked for %s, and all took %s", own, took)
		}
	}
}

// slow is a body that takes its time.
type slow struct{ left int }

func (s *slow) Read(b []byte) (int, error) {
	time.Sleep(100 * time.Millisecond)
	if s.left--; s.left < 0 {
		return 0, io.EOF
	}
	b[0] = 'x'
	return 1, nil
}

func TestItsClockStartsWhenTheBodyHasArrived(t *testing.T) {
	web := httptest.NewServer(&server{answer: 7})
	defer web.Close()
	took, own := ask(t, web.URL, &slow{left: 5})
	if took < 500*time.Millisecond || took-own < 400*time.Millisecond {
		t.Errorf("it says that it worked for %s of %s, of which the body took 500 ms", own, took)
	}
}

type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func TestItSaysWhereItListensAndEndsWhenToldTo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, code := &output{}, make(chan int, 1)
	go func() { code <- run(ctx, []string{"--least", "0s", "--most", "1ms", "--bytes", "7"}, out, out) }()
	said := regexp.MustCompile(`^listening at (http://127\.0\.0\.1:\d+/)\n`)
	for i := 0; !said.MatchString(out.String()); i++ {
		if i == 1000 {
			t.Fatalf("it says %q", out)
		}
		time.Sleep(10 * time.Millisecond)
	}
	ask(t, said.FindStringSubmatch(out.String())[1], nil)
	stop()
	if got := <-code; got != 0 {
		t.Errorf("it ended with code %d: %s", got, out)
	}
}

func TestWhatIsWrongWithItsFlagsIsSaid(t *testing.T) {
	for _, args := range []string{"--least 2s --most 1s", "--most 2m", "--bytes -1", "now", "--loud"} {
		out := &output{}
		if got := run(t.Context(), strings.Fields(args), out, out); got != 2 || out.String() == "" {
			t.Errorf("%q: code %d, %q", args, got, out)
		}
	}
	out := &output{}
	if got := run(t.Context(), []string{"--listen", "127.0.0.1:none"}, out, out); got != 1 || !strings.Contains(out.String(), `listening at "127.0.0.1:none"`) {
		t.Errorf("code %d, %q", got, out)
	}
}
