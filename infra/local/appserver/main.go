// Command appserver is a web server whose own time is known: the other end of experiments that tell
// the network's time from a server's. It works on every request for a time drawn anew from a range,
// and says in Server-Timing how long that really took, from the body's last byte to the answer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run serves until ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("appserver", flag.ContinueOnError)
	f.SetOutput(stderr)
	listen := f.String("listen", "127.0.0.1:0", "host:port to listen at; port 0: any that is free")
	var s server
	f.DurationVar(&s.least, "least", time.Millisecond, "shortest time that a request is worked on")
	f.DurationVar(&s.most, "most", 50*time.Millisecond, "longest time that a request is worked on")
	f.IntVar(&s.answer, "bytes", 100, "of an answer's body")
	if err := f.Parse(args); err != nil {
		return 2
	}
	if f.NArg() > 0 || s.least < 0 || s.most < s.least || s.most > time.Minute || s.answer < 0 || s.answer > maxBytes {
		_, _ = fmt.Fprintf(stderr, "appserver: want --least and --most from 0 to 1m, the least no more than the most, --bytes up to %d, and no arguments\n", maxBytes)
		return 2
	}
	if err := s.serve(ctx, *listen, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "appserver: %s\n", err)
		return 1
	}
	return 0
}

// maxBytes bounds a request's and an answer's body.
const maxBytes = 1 << 20

type server struct {
	least, most time.Duration
	answer      int // bytes of body
}

func (s *server) serve(ctx context.Context, address string, stdout io.Writer) error {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening at %q: %w", address, err)
	}
	web := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if _, err := fmt.Fprintf(stdout, "listening at http://%s/\n", l.Addr()); err != nil {
		return errors.Join(fmt.Errorf("saying where it listens: %w", err), l.Close())
	}
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving at %q: %w", address, err)
	}
	return nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBytes)); err != nil {
		http.Error(w, "the body is too large, or was cut", http.StatusBadRequest)
		return
	}
	began := time.Now() // what the body takes on its way is the network's
	time.Sleep(s.least + rand.N(s.most-s.least+1))
	body := make([]byte, s.answer)
	w.Header().Set("Content-Type", "application/octet-stream") // else it is guessed, after the clock stopped
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Server-Timing", "total;dur="+strconv.FormatFloat(float64(time.Since(began))/float64(time.Millisecond), 'f', 6, 64))
	_, _ = w.Write(body) // who asked may be gone
}
