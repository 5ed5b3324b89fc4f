package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"isochrone/prober/wire/account"
)

// build makes the handler as make package does.
func build(t *testing.T) string {
	t.Helper()
	handler := filepath.Join(t.TempDir(), "handler")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", handler, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the handler: %v\n%s", err, out)
	}
	return handler
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// start starts the handler, and measures from the start of the process to its first answer.
func start(t *testing.T, handler string) (took time.Duration, cmd *exec.Cmd, url string) {
	t.Helper()
	port := strconv.Itoa(freePort(t))
	cmd = exec.Command(handler)
	cmd.Env = []string{account.EnvEnvironment + "=dev", account.EnvAccountName + "=isochronedev", envPort + "=" + port,
		envSweepSchedule + "=0 */10 * * * *", envIngestSchedule + "=0 * * * * *", envRollupSchedule + "=0 5 * * * *", envCompactSchedule + "=0 35 * * * *"}
	url = "http://127.0.0.1:" + port + "/"
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for time.Since(begun) < 10*time.Second {
		answer, err := http.Get(url)
		if err != nil {
			time.Sleep(200 * time.Microsecond) // not listening yet
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("GET / answered %d", answer.StatusCode)
		}
		return time.Since(begun), cmd, url
	}
	t.Fatal("the handler did not answer within 10 s")
	return 0, nil, ""
}

// The host waits for GET / each time that it starts an instance. The best of several starts is
// taken: other programs can make a start slower, and nothing can make it faster than it is.
func TestTheHandlerAnswersWithin50msOfItsStart(t *testing.T) {
	handler := build(t)
	var took []time.Duration
	for range 10 {
		d, cmd, _ := start(t, handler)
		took = append(took, d)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}
	slices.Sort(took)
	t.Logf("start to 200: best %s, median %s, worst %s", took[0], took[len(took)/2], took[len(took)-1])
	if took[0] > 50*time.Millisecond {
		t.Errorf("the best of %d starts took %s, want at most 50ms", len(took), took[0])
	}
}

func TestTheHandlerEndsOnSIGTERMWithCode0(t *testing.T) {
	handler := build(t)
	_, cmd, _ := start(t, handler)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it did not end")
	}
}

func TestServeSaysWhereItListensAndFailsOnATakenPort(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() { code <- run(ctx, nil, environment(envPort, "0"), w, os.Stderr) }()
	var line struct{ Msg, Address string }
	if err := json.NewDecoder(bufio.NewReader(r)).Decode(&line); err != nil || line.Msg != "ready" {
		t.Fatalf("first line %+v (%v)", line, err)
	}
	answer, err := http.Get("http://" + line.Address + "/")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	_, port, err := net.SplitHostPort(line.Address)
	if err != nil {
		t.Fatal(err)
	}
	if c := run(t.Context(), nil, environment(envPort, port), w, os.Stderr); c != 1 {
		t.Errorf("on a taken port it returned %d, want 1", c)
	}
	cancel()
	if c := <-code; c != 0 {
		t.Errorf("told to end it returned %d, want 0", c)
	}
	_, _ = w.Close(), r.Close()
}
