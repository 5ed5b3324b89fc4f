// Command audit lists the licences of everything that the programs are built from, and of the npm
// packages of the dashboard and the local stack, and fails when one does not suit. The list is
// docs/licences.md.
package main

import (
	"bytes"
	"context"
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
	if err == nil {
		err = addPackages(&b, &faults)
	}
	return b.Bytes(), faults, err
}

// addPackages adds the npm packages: those that the dashboard's page is bundled from one by one, since they
// are shipped, all others by licence.
func addPackages(b *bytes.Buffer, faults *[]string) error {
	local, err := read("infra/local/package-lock.json")
	if err != nil {
		return err
	}
	bundled, err := read("functions/web/package-lock.json")
	if err != nil {
		return err
	}
	shipped, tools := split(bundled)
	b.WriteString("\nnpm packages that the dashboard's page is bundled from, or that those name as what they need; the page has their notices.\n\n| package | version | licence |\n|---|---|---|\n")
	for _, p := range shipped {
		fmt.Fprintf(b, "| %s | %s | %s |\n", p.name, p.Version, p.License)
	}
	*faults = append(*faults, unsuited(shipped)...)
	b.WriteString("\nnpm packages that bundle the page, by licence; none is shipped.\n")
	countLicences(b, tools)
	*faults = append(*faults, unsuited(tools)...)
	b.WriteString("\nnpm packages of the local stack, by licence; none is shipped.\n")
	countLicences(b, local)
	*faults = append(*faults, unsuited(local)...)
	return nil
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
