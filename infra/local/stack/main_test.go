package stack_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/infra/local/stack"
	"isochrone/infra/local/wan"
)

// built is where TestMain has put the programs and the app, built with the race detector when
// the test itself is.
var built struct{ root, dir string }

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == wan.RelayArgument { // this program, started by package wan
		os.Exit(wan.RelayMain(os.Stdin, os.Stdout, os.Stderr))
	}
	code, err := func() (int, error) {
		var err error
		if built.root, err = azuritetest.Root(); err != nil {
			return 0, err
		}
		if built.dir, err = os.MkdirTemp("", "isochrone-stack-"); err != nil {
			return 0, err
		}
		if err := build(); err != nil {
			return 0, err
		}
		return m.Run(), nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

func build() error {
	app := filepath.Join(built.dir, "app")
	for binary, folder := range map[string]string{filepath.Join(app, "handler"): "./functions", filepath.Join(built.dir, "prober"): "./prober", filepath.Join(built.dir, "sweep"): "./sweep"} {
		args := append([]string{"build"}, raceFlag...)
		cmd := exec.Command("go", append(args, "-o", binary, folder)...)
		cmd.Dir = built.root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", folder, err, out)
		}
	}
	functions, err := filepath.Glob(filepath.Join(built.root, "functions", "*", "function.json"))
	if err != nil {
		return err
	}
	files := map[string]string{filepath.Join(built.root, "host.json"): filepath.Join(app, "host.json")}
	for _, f := range functions {
		files[f] = filepath.Join(app, filepath.Base(filepath.Dir(f)), "function.json")
	}
	for from, to := range files {
		body, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, body, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// testConfig is a configuration of n probers, on addresses 127.0.0.1x, with quick probes that
// are due every minute.
func testConfig(environment string, regions []string, late, grace time.Duration) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "version: 1\nenvironment: %s\nloopback: true\ntiming: {lead: 3s, late: %s, grace: %s}\nprobers:\n", environment, late, grace)
	for i, r := range regions {
		fmt.Fprintf(&b, "  - region: %s\n    addresses: {public: [127.0.0.%d/32]}\n", r, 11+i)
	}
	b.WriteString(`probes:
  - {name: tcp-64, kind: tcp, schedule: "* * * * *", paths: [public], count: 100, interval: 5ms, timeout: 1s, warmup: 3, request: 64, response: 16}
  - {name: connect, kind: connect, schedule: "* * * * *", paths: [public], count: 30, interval: 10ms, timeout: 1s, warmup: 1}
`)
	return b.Bytes()
}

var fiveRegions = []string{"westeurope", "northeurope", "eastus", "southeastasia", "brazilsouth"}

// start starts a stack and stops it when the test ends. change may be nil.
func start(t *testing.T, config []byte, change func(*stack.Options)) *stack.Stack {
	t.Helper()
	o := stack.Options{
		Root: built.root, Dir: t.TempDir(), Prober: filepath.Join(built.dir, "prober"), AppDir: filepath.Join(built.dir, "app"), Config: config,
		SweepSchedule:  "0 0 0 1 1 *", // only when the test fires it
		IngestSchedule: "*/2 * * * * *",
		Poll:           250 * time.Millisecond, Heartbeat: time.Second,
		Log: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	s, err := stack.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// testLog sends a log's lines to the test's.
type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(string(bytes.TrimSpace(b)))
	return len(b), nil
}
