package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// file is one file of the app.
type file struct {
	name string // slashes between folders
	mode fs.FileMode
	body []byte
}

// The modes are fixed, and not those of this machine's files: the zip must not depend on a
// umask. The host starts the handler, so that it must be executable.
const (
	modeProgram fs.FileMode = 0o755
	modeFile    fs.FileMode = 0o644
)

// functionName is what the host accepts.
var functionName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,127}$`)

// pack builds the handler and writes the folder and the zip.
func pack(ctx context.Context, root, out string, stdout io.Writer) error {
	files, err := descriptions(root)
	if err != nil {
		return err
	}
	program, err := executable(files)
	if err != nil {
		return err
	}
	if err := pageIsBuilt(root); err != nil {
		return err
	}
	body, err := build(ctx, root)
	if err != nil {
		return err
	}
	files = append(files, file{name: program, mode: modeProgram, body: body})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	if err := writeFolder(filepath.Join(out, "app"), files); err != nil {
		return err
	}
	archive, err := zipped(files)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(out, "app.zip"), archive, modeFile); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %d files, %d bytes; app.zip: %d bytes\n", filepath.Join(out, "app"), len(files), size(files), len(archive))
	return err
}

// descriptions are host.json and every function's function.json, one folder below it.
func descriptions(root string) ([]file, error) {
	found, err := filepath.Glob(filepath.Join(root, "functions", "*", "function.json"))
	if err != nil {
		return nil, fmt.Errorf("looking for functions: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("looking for functions: no function.json in the folders of %q", filepath.Join(root, "functions"))
	}
	files, err := readDescription(nil, "host.json", filepath.Join(root, "host.json"))
	for _, from := range found {
		if err != nil {
			return nil, err
		}
		name := filepath.Base(filepath.Dir(from))
		if !functionName.MatchString(name) || strings.EqualFold(name, "host") {
			return nil, fmt.Errorf("naming function %q: want a letter, then letters, digits, _ and -, and not host", name)
		}
		files, err = readDescription(files, name+"/function.json", from)
	}
	return files, err
}

func readDescription(files []file, name, from string) ([]file, error) {
	body, err := os.ReadFile(from)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if !json.Valid(body) {
		return nil, fmt.Errorf("reading %s: it is not JSON", name)
	}
	return append(files, file{name: name, mode: modeFile, body: body}), nil
}

// executable is the name that host.json starts. It is the file's name and nothing more: with a
// path in front, the tools do not set its execute bit.
func executable(files []file) (string, error) {
	var h struct {
		CustomHandler struct {
			Description struct{ DefaultExecutablePath string }
		}
	}
	if err := json.Unmarshal(files[0].body, &h); err != nil {
		return "", fmt.Errorf("reading host.json: %w", err)
	}
	name := h.CustomHandler.Description.DefaultExecutablePath
	if name == "" || strings.ContainsAny(name, `/\`) || name == "host.json" {
		return "", fmt.Errorf("reading host.json: defaultExecutablePath %q: want a file's name without a folder", name)
	}
	return name, nil
}

// pageIsBuilt refuses to make an app whose dashboard would be empty: the handler has whatever is in the
// folder when it is built.
func pageIsBuilt(root string) error {
	if _, err := os.Stat(filepath.Join(root, "functions", "web", "dist", "index.html")); err != nil {
		return fmt.Errorf("building the handler: the dashboard's page is not built; run make web first: %w", err)
	}
	return nil
}

// build makes the handler: static, for the machines that the Functions host runs on, and without
// anything of this machine in it.
func build(ctx context.Context, root string) ([]byte, error) {
	version, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return nil, fmt.Errorf("reading the version: %w", err)
	}
	dir, err := os.MkdirTemp("", "isochrone-pack-")
	if err != nil {
		return nil, fmt.Errorf("building the handler: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "handler")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X main.version="+string(bytes.TrimSpace(version)), "-o", program, "./functions")
	cmd.Dir = root
	// The last of two equal names counts. GOAMD64 and GOFLAGS of this machine would show in the bytes.
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1", "GOFLAGS=")
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the handler: %w\n%s", err, output)
	}
	body, err := os.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("building the handler: %w", err)
	}
	return body, nil
}

func size(files []file) (n int) {
	for _, f := range files {
		n += len(f.body)
	}
	return n
}
