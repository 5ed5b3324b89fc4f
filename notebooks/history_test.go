package notebooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire/account"
	"isochrone/sweep/rollup"
	"isochrone/sweep/simulate"
	"isochrone/sweep/tables"
)

// The history's three weeks: clocks change in Europe on 26 October, in America on 2 November, in Singapore never.
var (
	until = time.Date(2025, 11, 10, 0, 0, 0, 0, time.UTC)
	since = until.AddDate(0, 0, -21)
	// lakeFrom is the first of the two days that the lake has: more would take minutes on the emulator.
	lakeFrom = until.AddDate(0, 0, -2)
)

// history is an environment with a history that a model made up, filled once by the command that users fill theirs with.
type history struct {
	account     account.Account
	environment string
	truth       simulate.Truth
	store       *tables.Store
}

var filled struct {
	once   sync.Once
	is     *history
	folder string // of the program, and of its configuration
}

func TestMain(m *testing.M) {
	code := azuritetest.Run(m)
	if filled.folder != "" {
		_ = os.RemoveAll(filled.folder)
	}
	os.Exit(code)
}

// simulated is the history that all tests read.
func simulated(t *testing.T) *history {
	t.Helper()
	filled.once.Do(func() { filled.is = fill(t) })
	if filled.is == nil {
		t.Fatal("the history could not be made: see the first test that failed")
	}
	return filled.is
}

func fill(t *testing.T) *history {
	t.Helper()
	h := &history{}
	h.account, h.environment = azuritetest.Environment(t)
	var err error
	filled.folder, err = os.MkdirTemp("", "isochrone-notebooks-")
	must(t, err)
	text, err := os.ReadFile("testdata/sweep.yaml")
	must(t, err)
	config := filepath.Join(filled.folder, "sweep.yaml")
	must(t, os.WriteFile(config, bytes.ReplaceAll(text, []byte("ENVIRONMENT"), []byte(h.environment)), 0o600))
	run(t, nil, "go", "build", "-o", filled.folder, "../sweep")

	simulate := []string{"simulate", "--config", config, "--weeks", "3", "--until", until.Format("2006-01-02"), "--seed", "1", "--format", "json"}
	must(t, json.Unmarshal(h.sweep(t, append(simulate, "--explain")...), &h.truth))
	h.sweep(t, append(simulate, "--no-rollup", "--no-compact")...)
	h.sweep(t, "compact", "--from", lakeFrom.Format("2006-01-02"), "--apply", "--yes")

	h.store, err = tables.Open(h.account, h.environment)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r := rollup.Roller{Hours: h.store, Profiles: h.store, Now: func() time.Time { return until }, Log: slog.New(slog.DiscardHandler)} // profiles are of its day
	_, err = r.Run(ctx)
	must(t, err)
	return h
}

// settings are those of the environment, as every program of the project takes them.
func (h *history) settings() []string {
	return []string{account.EnvEnvironment + "=" + h.environment, account.EnvConnectionString + "=" + h.account.ConnectionString}
}

// sweep runs the command line on the history. That an answer is bad, which is exit code 1, is no failure of the test.
func (h *history) sweep(t *testing.T, args ...string) []byte {
	t.Helper()
	return run(t, h.settings(), filepath.Join(filled.folder, "sweep"), args...)
}

// hours are the hours of a series, oldest first.
func (h *history) hours(t *testing.T, source, target, probe string, since time.Time) (out []tables.Hour) {
	t.Helper()
	for hour, err := range h.store.Hours(t.Context(), tables.HourQuery{Source: source, Target: target, Path: "public", Probe: probe, Since: since, Until: until}) {
		must(t, err)
		out = append(out, hour)
	}
	slices.SortFunc(out, func(a, b tables.Hour) int { return a.Begin.Compare(b.Begin) })
	if len(out) == 0 {
		t.Fatalf("no hours of %s to %s", source, target)
	}
	return out
}

// step is the pair whose route changes in the middle of a week, and by how much.
func (h *history) step(t *testing.T) (simulate.Step, simulate.Pair) {
	t.Helper()
	if len(h.truth.Steps) != 1 || h.truth.Steps[0].At.Weekday() != time.Wednesday {
		t.Fatalf("the model's steps are %v: want one, on a Wednesday", h.truth.Steps)
	}
	s := h.truth.Steps[0]
	return s, h.pair(t, s.Source, s.Target)
}

// pair is what the model says of a pair.
func (h *history) pair(t *testing.T, source, target string) simulate.Pair {
	t.Helper()
	for _, p := range h.truth.Pairs {
		if p.Source == source && p.Target == target {
			return p
		}
	}
	t.Fatalf("the model has no %s to %s", source, target)
	return simulate.Pair{}
}

// run runs a program within a time, and returns what it printed.
func run(t *testing.T, settings []string, program string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), settings...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if bad := (*exec.ExitError)(nil); errors.As(err, &bad) && bad.ExitCode() == 1 && len(out) > 0 && filepath.Base(program) == "sweep" {
		return out
	}
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(program), strings.Join(args, " "), err, out, stderr.String())
	}
	return out
}
