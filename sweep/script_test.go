package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire/account"
)

var update = flag.Bool("update", false, "write what the scripts print into their golden files")

// envNow is the clock of the program under test: answers say how old things are.
const envNow = "SWEEP_TEST_NOW"

// scriptNow is three minutes after the newest slot of the scripts.
var scriptNow = time.Date(2026, 11, 30, 10, 23, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	testscript.Main(withAzurite{m}, map[string]func(){"sweep": sweepMain})
}

// withAzurite stops Azurite after the tests, and lets testscript clean up after that.
type withAzurite struct{ *testing.M }

func (w withAzurite) Run() int { return azuritetest.Run(w.M) }

// sweepMain is main with the clock of the scripts.
func sweepMain() {
	now := time.Now
	if s := os.Getenv(envNow); s != "" {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			panic(err)
		}
		now = func() time.Time { return t }
	}
	os.Exit(run(context.Background(), os.Args[1:], environ{get: os.Getenv, stdin: os.Stdin, now: now}, os.Stdout, os.Stderr))
}

// TestScripts runs testdata/*.txt, each in an environment of its own that is named as the script.
func TestScripts(t *testing.T) {
	acc, _ := azuritetest.Environment(t)
	samples, err := filepath.Abs(filepath.Join("convert", "foreign", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	series, err := filepath.Abs(filepath.Join("trend", "testdata", "changepoints"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(account.EnvConnectionString, acc.ConnectionString)
			env.Setenv(account.EnvEnvironment, strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"))
			env.Setenv(envNow, scriptNow.Format(time.RFC3339))
			env.Setenv("SAMPLES", samples)            // what other tools printed
			env.Setenv("SERIES", series)              // round trips with labelled changes
			env.Setenv("GORACE", "atexit_sleep_ms=0") // or each command would wait a second before it ends
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      cmdExits,
			"seed":       cmdSeed,
			"documents":  cmdDocuments,
			"inert":      cmdInert,
			"notrailing": cmdNoTrailing,
			"capture":    cmdCapture,
			"samerows":   cmdSameRows,
			"tamper":     cmdTamper,
			"wrap":       cmdWrap,
			"jtl":        cmdJTL,
		},
	})
}

// cmdExits is "exits CODE COMMAND ARGS…": the command ends with that exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// cmdInert is "inert FILE…": none holds a character that could steer a terminal.
func cmdInert(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		for i, line := range strings.Split(ts.ReadFile(name), "\n") {
			if (visible(line) == line) == neg {
				ts.Fatalf("%s:%d: %q", name, i+1, line)
			}
		}
	}
}

// cmdNoTrailing is "notrailing FILE…": no line ends in a blank.
func cmdNoTrailing(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		for i, line := range strings.Split(ts.ReadFile(name), "\n") {
			if strings.TrimRight(line, " \t\r") != line {
				ts.Fatalf("%s:%d ends in a blank: %q", name, i+1, line)
			}
		}
	}
}

// cmdCapture is "capture NAME FILE": the variable gets the file's text.
func cmdCapture(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// cmdSameRows is "samerows A B": the JSON of convert and of runs hold the same rows, but for the
// blob that holds the document, which is known once it is stored.
func cmdSameRows(ts *testscript.TestScript, neg bool, args []string) {
	rows := make([]map[string]map[string]any, 2)
	for i, name := range args {
		var answer struct {
			Runs []map[string]any `json:"runs"`
		}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &answer))
		rows[i] = map[string]map[string]any{}
		for _, r := range answer.Runs {
			delete(r, "document")
			rows[i][fmt.Sprint(r["target"], r["slot"])] = r
		}
	}
	if len(rows[0]) == 0 {
		ts.Fatalf("%s has no rows", args[0])
	}
	if diff := cmp.Diff(rows[0], rows[1]); diff != "" {
		ts.Fatalf("%s and %s differ:\n%s", args[0], args[1], diff)
	}
}
