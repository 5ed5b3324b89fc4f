package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
)

// block is a fenced block of the README.
type block struct{ language, text string }

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

func readme(t *testing.T) (root string, blocks []block) {
	t.Helper()
	root, err := azuritetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block{m[1], m[2]})
	}
	if len(blocks) < 8 {
		t.Fatalf("found only %d blocks in README.md", len(blocks))
	}
	return root, blocks
}

// lines collects what a program prints, for a reader that waits.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// String is what was printed so far.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Every command of the README runs as it stands there, against the stack that make run starts;
// make test is this.
func TestTheREADMEsCommands(t *testing.T) {
	root, blocks := readme(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()

	run := exec.CommandContext(ctx, "make", "run")
	run.Dir = root
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, printed := &lines{}, make(chan struct{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	run.Stdout, run.Stderr = w, w
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		defer close(printed)
		scan := bufio.NewScanner(r)
		for scan.Scan() {
			out.mu.Lock()
			out.text.WriteString(scan.Text() + "\n")
			out.mu.Unlock()
		}
	}()
	defer func() { _ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }()
	for !strings.Contains(out.String(), "Ctrl-C stops everything.") {
		select {
		case <-printed:
			t.Fatalf("make run ended early:\n%s", out)
		case <-ctx.Done():
			t.Fatalf("make run did not get to its end:\n%s", out)
		case <-time.After(100 * time.Millisecond):
		}
	}

	var script strings.Builder
	script.WriteString("set -euo pipefail\ntrap 'echo \"failed: $BASH_COMMAND\"' ERR\n")
	for _, b := range blocks {
		switch {
		case b.language == "sh" && (b.text == "make run\n" || b.text == "make test\n"):
		case b.language == "sh":
			script.WriteString(b.text)
		case b.language == "python":
			script.WriteString("/usr/bin/python3 - <<'PYTHON'\n" + b.text + "PYTHON\n")
		case b.language == "yaml":
			for _, ask := range []string{"check -", "plan - --at 2026-12-01T02:00:00Z"} {
				script.WriteString("bin/sweep " + ask + " <<'YAML'\n" + b.text + "YAML\n")
			}
		}
	}
	script.WriteString(inline(t, root))
	shell := exec.CommandContext(ctx, "bash", "-c", script.String())
	shell.Dir = root
	answer, err := shell.CombinedOutput()
	if err != nil {
		t.Errorf("the README's commands: %v\n%s", err, answer)
	}
	for _, want := range []string{"westeurope", "ext.by-hand", "ext.iperf3", "does not say its path", "stored", `{"order":{"@id":"7","item":["1","2"]}}`, "complete", "brazilsouth -> southeastasia", "has no faults. It is for environment prod",
		"12 rounds from 02:03:44 to 02:08:54"} {
		if !strings.Contains(string(answer), want) {
			t.Errorf("the README's commands do not print %q:\n%s", want, answer)
		}
	}

	// Ctrl-C at a terminal reaches make and the program alike.
	if err := syscall.Kill(-run.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-printed
	_ = run.Wait() // make says that it was interrupted
	if !strings.Contains(out.String(), "\nstopping\n") {
		t.Errorf("Ctrl-C did not end it in order:\n%s", out)
	}
	if left := stillRunning(t, root); len(left) > 0 {
		t.Errorf("processes are left after Ctrl-C: %q", left)
	}
	if _, err := os.Stat(filepath.Join(root, ".local", "env")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the settings of a stack that has ended are left behind (%v)", err)
	}
	compareShape(t, blocks, "$ bin/sweep matrix --probe udp\n", out.String())
	compareShape(t, blocks, "--- stream of ", string(answer))
}

// inText is how each command that the README names within its text is run: as it stands, with the
// file that the text is about, or (empty) not here, because this test or .ci/run is it.
var inText = map[string]string{
	"make run":                            "",
	"make check":                          "",
	"make fuzz":                           "", // takes a minute a target
	"make help":                           "make help",
	"make deps":                           "make deps",
	"make bench":                          "", // takes longer than a test may
	"make scale":                          "", // likewise
	"make soak":                           "", // likewise; a day of it is a test of its own
	"make experiment NAME=load":           "", // likewise; its package's tests run a short one
	"bin/prober ping":                     "", // a block runs it
	"bin/prober ping --help":              "bin/prober ping --help",
	"bin/prober help":                     "bin/prober help",
	"bin/sweep check":                     "bin/sweep check infra/local/sweep.yaml",
	"bin/sweep plan":                      "bin/sweep plan infra/local/sweep.yaml",
	"bin/sweep config push":               "bin/sweep config push infra/local/sweep.yaml",
	"bin/sweep status":                    "bin/sweep status",
	"bin/sweep runs":                      "bin/sweep runs",
	"bin/sweep quarantine list":           "bin/sweep quarantine list",
	"bin/sweep completion bash --help":    "bin/sweep completion bash --help",
	"make run HISTORY=8w":                 "", // takes minutes; a week of it is a test of its own
	"bin/sweep trend westeurope eastus":   "bin/sweep trend westeurope eastus",
	"bin/sweep heatmap westeurope eastus": "bin/sweep heatmap westeurope eastus",
	"bin/sweep changes --since 7d":        "bin/sweep changes --since 7d",
	"bin/sweep export --grain hour --out hours.csv": "bin/sweep export --grain hour --out .local/hours.csv && rm .local/hours.csv",
	"make run ONCE=1": "make run ONCE=1", // a second copy, beside the one that runs
}

// inline is a script of the commands that the README names within its text. The second copy comes
// last: it takes .local/env over.
func inline(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`((?:make|bin/[a-z]+)(?: [^`]*)?)`").FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	var script strings.Builder
	for command := range named {
		line, known := inText[command]
		switch {
		case !known:
			t.Errorf("the README names %q, and this test does not know how to run it", command)
		case command != "make run ONCE=1":
			script.WriteString(line + "\n")
		}
	}
	for command := range inText {
		if !named[command] {
			t.Errorf("the README does not name %q any more", command)
		}
	}
	return script.String() + inText["make run ONCE=1"] + "\n"
}

// stillRunning lists the processes of this repository's stacks; another clone's do not count.
func stillRunning(t *testing.T, root string) (found []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		command := strings.ReplaceAll(string(raw), "\x00", " ")
		exe, _ := os.Readlink(filepath.Join(filepath.Dir(name), "exe"))
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(name), "cwd"))
		// The storage emulator is node; its folder is named relative to where it was started.
		if strings.HasPrefix(exe, filepath.Join(root, "bin")+"/") || strings.HasPrefix(exe, filepath.Join(root, "dist")+"/") ||
			cwd == root && strings.Contains(command, ".local/run-") {
			found = append(found, command)
		}
	}
	return found
}

var (
	number = regexp.MustCompile(`[-+]?[0-9]+(\.[0-9]+)?~?`) // with the mark of a degraded run, if it is
	blanks = regexp.MustCompile(`[ \t]+`)
	bar    = regexp.MustCompile(`#+$`)
)

// shape is a text without what differs from run to run.
func shape(line string) string {
	return bar.ReplaceAllString(strings.TrimSpace(blanks.ReplaceAllString(number.ReplaceAllString(line, "N"), " ")), "#")
}

// The output that the README shows, in the block that holds the mark, is the output as it is: each of
// its lines was printed, numbers apart.
func compareShape(t *testing.T, blocks []block, mark, printed string) {
	t.Helper()
	have := map[string]bool{}
	for line := range strings.Lines(printed) {
		have[shape(line)] = true
	}
	shown := 0
	for _, b := range blocks {
		if !strings.Contains(b.text, mark) || b.language != "" {
			continue
		}
		for line := range strings.Lines(b.text) {
			if strings.TrimSpace(line) == "…" { // stands for what the README leaves out
				continue
			}
			if shown++; !have[shape(line)] {
				t.Errorf("the README shows a line that is not printed: %q", line)
			}
		}
	}
	if shown < 10 {
		t.Errorf("the README shows only %d lines of the output with %q", shown, mark)
	}
}
