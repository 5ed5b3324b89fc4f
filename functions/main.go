// Command handler is Isochrone's Functions app: the custom handler that the Azure Functions host
// starts and calls. It serves seven functions: Sweep (timer) plans a slot and tells the probers,
// Ingest (timer) stores what they delivered, Results (HTTP) takes documents of others, Rollup (timer)
// makes hours and profiles of what is stored, Compact (timer) makes the lake's files of its samples, Query
// (HTTP) answers questions about what was measured, and Dashboard (HTTP) is the page that asks them.
//
// Settings (environment): ISOCHRONE_ENVIRONMENT, the storage settings of package account,
// SWEEP_SCHEDULE, INGEST_SCHEDULE, ROLLUP_SCHEDULE and COMPACT_SCHEDULE (NCRONTAB, which the host reads
// too), GOGC and GOMEMLIMIT (see memory.go), and ISOCHRONE_FUNCTION_TIMEOUT where host.json's functionTimeout is overridden. The host sets
// FUNCTIONS_CUSTOMHANDLER_PORT.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // probe schedules may name a zone, and the host's image need not have them
)

// version is set when the program is built.
var version = "dev"

func main() {
	setMemory(os.Getenv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// grace is how long invocations may go on once the program was told to end. Their contexts have
// ended by then, and whatever is left half done is resumed by the next tick.
const grace = 5 * time.Second

// run serves until ctx ends. It returns 0 when it was told to end, 1 when it could not serve,
// and 2 when it was called wrongly.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		_, _ = fmt.Fprintf(stderr, "handler: argument %q: it takes none; the Functions host starts it, and its settings are environment variables\n", args[0])
		return 2
	}
	s, err := readSettings(getenv)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "handler: reading the settings:\n%v\n", err)
		return 1
	}
	// The host reads standard output as information and standard error as errors; levels and ids
	// are in the lines themselves.
	log := slog.New(slog.NewJSONHandler(stdout, nil))
	if err := serve(ctx, newApp(s, time.Now, log)); err != nil {
		log.Error("handler ended", "error", err)
		return 1
	}
	return 0
}

// serve listens only now, when every request can be answered: the host takes the open port for
// readiness.
func serve(ctx context.Context, a *app) error {
	listener, err := net.Listen("tcp", a.settings.Address)
	if err != nil {
		return fmt.Errorf("listening for the Functions host: %w", err)
	}
	server := &http.Server{
		Handler:           a.handler(),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    256 << 10, // of a caller's own, beside what front end and host add
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
	a.log.Info("ready", "address", listener.Addr().String(), "version", version, "environment", a.settings.Environment)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving the Functions host: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		return errors.Join(fmt.Errorf("ending: %w", err), server.Close())
	}
	return nil
}
