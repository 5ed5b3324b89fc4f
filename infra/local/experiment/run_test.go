package experiment

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/infra/local/stack"
	"isochrone/infra/local/wan"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == wan.RelayArgument { // this program, started by package wan
		os.Exit(wan.RelayMain(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const (
	quickConfig = `
version: 1
environment: quick
loopback: true
timing: {lead: 3s, late: 10s, grace: 5s}
probers:
  - region: westeurope
    addresses: {public: [10.90.0.11/32], vpn: [10.92.0.11/32]}
  - region: northeurope
    addresses: {public: [10.90.0.12/32], vpn: [10.92.0.12/32]}
endpoints:
  - {name: web-public, url: "http://10.90.0.13:8080/", path: public}
  - {name: web-vpn, url: "http://10.92.0.13:8080/", path: vpn}
probes:
  - {name: tcp, kind: tcp, schedule: "0 3 * * *", paths: [public, vpn], from: [westeurope], to: [northeurope], count: 500, interval: 5ms, timeout: 1s, warmup: 2, request: 8192}
  - {name: http, kind: http, schedule: "0 3 * * *", paths: [public, vpn], from: [westeurope], to: [web-public, web-vpn], connection: keep-alive, count: 40, interval: 80ms, timeout: 1s, warmup: 2}
`
	quickNetwork = `
version: 1
delays: none
default: {delay: 5ms}
pairs:
  - {from: westeurope, to: northeurope, path: vpn, both: true, delay: 15ms}
  - {from: westeurope, to: web, path: vpn, both: true, delay: 25ms, rate: 100M}
`
)

// workshop is a root with what was built, an experiment's files, and the storage emulator.
func workshop(t *testing.T, ctx context.Context, name string) string {
	t.Helper()
	real, err := azuritetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	app := filepath.Join(root, "dist", "app")
	for binary, folder := range map[string]string{"dist/app/handler": "./functions", "bin/prober": "./prober", "bin/sweep": "./sweep"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(root, binary), folder)
		cmd.Dir = real
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", folder, err, out)
		}
	}
	functions, err := filepath.Glob(filepath.Join(real, "functions", "*", "function.json"))
	if err != nil || len(functions) == 0 {
		t.Fatal(functions, err)
	}
	files := map[string]string{filepath.Join(real, "host.json"): filepath.Join(app, "host.json")}
	for _, f := range functions {
		files[f] = filepath.Join(app, filepath.Base(filepath.Dir(f)), "function.json")
	}
	for from, to := range files {
		body, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		write(t, to, string(body))
	}
	folder := filepath.Join(root, "docs", "experiments", name)
	write(t, filepath.Join(folder, configFile), quickConfig)
	write(t, filepath.Join(folder, networkFile), quickNetwork)
	write(t, filepath.Join(folder, readmeFile), measuredBegins+measuredEnds)
	if err := os.MkdirAll(filepath.Join(root, "infra"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(real, "infra", "local"), filepath.Join(root, "infra", "local")); err != nil {
		t.Fatal(err)
	}
	return root
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// An experiment of two phases, from the start of the stack to the README: two paths between two
// probers, and two to a service, each path with the delay that its network gives it.
func TestAnExperimentRunsToItsEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	root := workshop(t, ctx, "quick")
	e := Experiment{
		Name:      "quick",
		Phases:    [][]string{{"tcp"}, {"http"}},
		Machines:  map[string]string{"westeurope": "large"},
		Services:  []stack.Service{{Name: "web", Paths: []string{"vpn", "public"}, Port: 8080, Handler: http.NotFoundHandler()}},
		Questions: [][]string{{"runs", "--probe", "tcp", "--path", "vpn", "--since", "1h"}},
	}
	e.Services[0].Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "here") })
	e.Tables = func(ctx context.Context, r *Results) ([]Table, error) {
		for _, c := range []struct {
			probe, to, path string
			applied         float64 // ms
		}{{"tcp", "northeurope", "public", 10}, {"tcp", "northeurope", "vpn", 30}, {"http", "web", "public", 10}, {"http", "web", "vpn", 50}} {
			x, ok := r.find(c.probe, "westeurope", c.path)
			if !ok || x.machine != "large" {
				t.Errorf("%+v: found %t on machine %q", c, ok, x.machine)
				continue
			}
			if _, least, _ := extent(x.Samples); least < c.applied || least > c.applied+10 {
				t.Errorf("%+v: a smallest round trip of %.2f ms", c, least)
			}
			if applied, err := r.applied(ctx, "westeurope", c.to, c.path); err != nil || applied < c.applied || applied > c.applied+10 {
				t.Errorf("%+v: applied %.2f ms, %v", c, applied, err)
			}
		}
		a, _ := r.find("tcp", "westeurope", "vpn")
		b, _ := r.find("tcp", "westeurope", "public")
		median, low, high, ok := difference(a.Samples, b.Samples)
		if !ok || median < 17 || median > 23 || low > median || high < median {
			t.Errorf("the paths differ by %.2f ms (%.2f to %.2f), want 20", median, low, high)
		}
		return []Table{{Title: "What came of it:", Columns: []string{"a"}}}, nil
	}
	var out, faults bytes.Buffer
	err := e.Run(ctx, Options{Root: root, Dir: t.TempDir(), Environ: os.Environ(), Write: true, Stdout: &out, Stderr: &faults, Progress: func(stack.Progress) {}})
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, &out, &faults)
	}
	for _, says := range []string{"sweep 2 of 2: http", "$ bin/sweep runs --probe tcp --path vpn --since 1h", "westeurope", "What came of it:", "stopping"} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("it does not say %q:\n%s\n%s", says, &out, &faults)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, e.file(readmeFile)))
	if err != nil || !strings.Contains(string(text), "What came of it:") {
		t.Errorf("%v, the README is %q", err, text)
	}
}
