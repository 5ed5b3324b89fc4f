// Command audit lists the licences of everything that the programs are built from, and of the npm
// packages of the local stack, and fails when one does not suit. The list is docs/licences.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const page = "docs/licences.md"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns 0 when all licences suit and the page lists them, 1 when not, 2 on wrong usage.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("audit", flag.ContinueOnError)
	flags.SetOutput(stderr)
	write := flags.Bool("write", false, "write "+page+" anew")
	if flags.Parse(args) != nil || flags.NArg() > 0 {
		return 2
	}
	text, faults, err := list()
	if err == nil && *write {
		err = os.WriteFile(page, text, 0o644)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "audit: %v\n", err)
		return 1
	}
	_, _ = stdout.Write(text)
	if old, err := os.ReadFile(page); err != nil || !bytes.Equal(old, text) {
		faults = append(faults, page+" is not what is built: run make audit WRITE=1")
	}
	for _, f := range faults {
		_, _ = fmt.Fprintf(stderr, "audit: %s\n", f)
	}
	return min(len(faults), 1)
}

// list makes the page, and says which licences do not suit.
func list() (text []byte, faults []string, err error) {
	var b bytes.Buffer
	b.WriteString("# Licences\n\nWhat the programs are built from, test tools apart; made by `make audit WRITE=1`, checked by `make audit`.\n\n| Go module | version | licence |\n|---|---|---|\n")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "./prober", "./sweep", "./functions").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("listing the modules of the programs: %w", err)
	}
	modules := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(modules)
	for _, line := range slices.Compact(modules) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		licence := licenceIn(f[2])
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f[0], f[1], licence)
		if !suits[licence] {
			faults = append(faults, fmt.Sprintf("module %s: licence %q does not suit, or is not known", f[0], licence))
		}
	}
	npm, more, err := packages("infra/local/package-lock.json")
	b.WriteString(npm)
	return b.Bytes(), append(faults, more...), err
}

// licenceIn is the licence of a module's folder: of its own text, or of that of the module above it.
func licenceIn(dir string) string {
	for range 4 {
		for _, name := range []string{"LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING"} {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				return recognise(string(text))
			}
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// excepted are npm packages whose licence has no name of its own, and why they suit.
var excepted = map[string]string{"http://geraintluff.github.io/tv4/LICENSE.txt": "public domain, or MIT at choice; in the storage emulator alone, which nothing of ours ships"}

// packages counts the npm packages of a lock file by licence: they run the storage emulator and are
// shipped with nothing.
func packages(lock string) (text string, faults []string, err error) {
	body, err := os.ReadFile(lock)
	if err != nil {
		return "", nil, fmt.Errorf("reading the npm packages: %w", err)
	}
	var l struct {
		Packages map[string]struct{ License string }
	}
	if err := json.Unmarshal(body, &l); err != nil {
		return "", nil, fmt.Errorf("reading %q: %w", lock, err)
	}
	count := map[string]int{}
	for name, p := range l.Packages {
		if name == "" {
			continue
		}
		count[p.License]++
		if !suits[p.License] && excepted[p.License] == "" {
			faults = append(faults, fmt.Sprintf("npm package %s: licence %q does not suit, or is not known", name, p.License))
		}
	}
	text = "\nnpm packages of the local stack, by licence; none is shipped.\n\n| licence | packages | |\n|---|---|---|\n"
	var names []string
	for n := range count {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		text += fmt.Sprintf("| %s | %d | %s |\n", n, count[n], excepted[n])
	}
	slices.Sort(faults)
	return text, faults, nil
}
