package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"isochrone/infra/local/child"
	"isochrone/prober/wire/account"
)

// startupBarMS is what the Functions host should wait at the most for the handler's first answer.
const startupBarMS = 50

// startup measures from the start of the packaged handler's process to its answer to GET /.
func (b *bench) startup(ctx context.Context, dir string) error {
	if err := b.pack(ctx, dir); err != nil {
		return err
	}
	var all []float64
	for i := range b.rounds {
		took, err := b.firstAnswer(ctx, filepath.Join(dir, "app", "handler"))
		if err != nil {
			return err
		}
		all = append(all, took.Seconds()*1000)
		b.say("round %d: the handler answers GET / %.1f ms after its start", i+1, took.Seconds()*1000)
	}
	b.figure("handler_first_answer", median(all), "ms", atMost(startupBarMS))
	return nil
}

func (b *bench) firstAnswer(ctx context.Context, handler string) (time.Duration, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a port for the handler: %w", err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		return 0, fmt.Errorf("finding a port for the handler: %w", err)
	}
	cmd := exec.Command(handler)
	cmd.Env = []string{"FUNCTIONS_CUSTOMHANDLER_PORT=" + strconv.Itoa(port), account.EnvEnvironment + "=dev",
		account.EnvConnectionString + "=" + b.server.Account().ConnectionString, "SWEEP_SCHEDULE=0 */10 * * * *", "INGEST_SCHEDULE=0 * * * * *", "ROLLUP_SCHEDULE=0 5 * * * *", "COMPACT_SCHEDULE=0 35 * * * *"}
	exited := make(chan struct{})
	began := time.Now()
	if err := child.Start(cmd, func() { close(exited) }); err != nil {
		return 0, fmt.Errorf("starting the handler: %w", err)
	}
	defer func() { _ = child.Signal(cmd, syscall.SIGKILL); <-exited }()
	client := http.Client{Timeout: 5 * time.Second}
	for ctx.Err() == nil {
		answer, err := client.Get("http://127.0.0.1:" + strconv.Itoa(port) + "/")
		if err == nil {
			took := time.Since(began)
			return took, answer.Body.Close()
		}
		select {
		case <-exited:
			return 0, fmt.Errorf("starting the handler: it ended: %s", cmd.ProcessState)
		case <-time.After(200 * time.Microsecond):
		}
	}
	return 0, ctx.Err()
}
