package main

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func assemble(t *testing.T, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"-root", root, "-out", out}, &stdout, &stderr); code != 0 {
		t.Fatalf("code %d: %s", code, &stderr)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wanted are the files of the app, in order, with their modes.
func wanted() (names []string, modes map[string]fs.FileMode) {
	for _, function := range []string{"Compact", "Dashboard", "Ingest", "Query", "Results", "Rollup", "Sweep"} {
		names = append(names, function+"/function.json")
	}
	modes = map[string]fs.FileMode{"handler": 0o755, "host.json": 0o644}
	for _, name := range names {
		modes[name] = 0o644
	}
	return append(names, "handler", "host.json"), modes
}

func TestThePackage(t *testing.T) {
	out := t.TempDir()
	assemble(t, out)
	first := read(t, filepath.Join(out, "app.zip"))

	t.Run("two runs give the same bytes", func(t *testing.T) {
		assemble(t, out) // over what is there
		if !bytes.Equal(first, read(t, filepath.Join(out, "app.zip"))) {
			t.Error("the zips differ")
		}
	})

	names, modes := wanted()
	t.Run("the zip holds exactly the files, sorted, with their modes and no folders", func(t *testing.T) {
		z, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
		if err != nil {
			t.Fatal(err)
		}
		if len(z.File) != len(names) {
			t.Fatalf("%d entries, want %d", len(z.File), len(names))
		}
		for i, f := range z.File {
			if f.Name != names[i] || f.Mode() != modes[f.Name] || !f.Modified.Equal(zipTime) {
				t.Errorf("entry %d: %s, mode %o, time %s", i, f.Name, f.Mode(), f.Modified)
			}
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(body, read(t, filepath.Join(out, "app", f.Name))) {
				t.Errorf("%s: the zip and the folder differ (%v)", f.Name, err)
			}
		}
	})

	t.Run("the folder holds exactly the files, with their modes", func(t *testing.T) {
		seen := 0
		err := filepath.WalkDir(filepath.Join(out, "app"), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(filepath.Join(out, "app"), name)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if mode, ok := modes[filepath.ToSlash(rel)]; !ok || info.Mode().Perm() != mode {
				t.Errorf("%s with mode %o", rel, info.Mode().Perm())
			}
			seen++
			return nil
		})
		if err != nil || seen != len(names) {
			t.Errorf("%d files, want %d (%v)", seen, len(names), err)
		}
	})

	t.Run("host.json starts the handler by its name", func(t *testing.T) {
		var h struct {
			CustomHandler struct {
				Description struct{ DefaultExecutablePath string }
			}
		}
		if err := json.Unmarshal(read(t, filepath.Join(out, "app", "host.json")), &h); err != nil {
			t.Fatal(err)
		}
		program := h.CustomHandler.Description.DefaultExecutablePath
		if info, err := os.Stat(filepath.Join(out, "app", program)); program != filepath.Base(program) || err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("defaultExecutablePath %q: %v", program, err)
		}
	})

	t.Run("the handler is a static program for Linux on amd64 and names nothing of this machine", func(t *testing.T) {
		name := filepath.Join(out, "app", "handler")
		f, err := elf.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		if f.Machine != elf.EM_X86_64 {
			t.Errorf("machine %s", f.Machine)
		}
		if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
			t.Errorf("it needs %q (%v)", libraries, err)
		}
		here, err := filepath.Abs(root)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(read(t, name), []byte(here)) {
			t.Errorf("it contains %q", here)
		}
	})
}

// source makes a repository that fails before anything is built.
func source(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhatCannotBeAnAppIsRefused(t *testing.T) {
	const goodHost = `{"customHandler":{"description":{"defaultExecutablePath":"handler"}}}`
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"no functions":       {map[string]string{"host.json": goodHost}, "no function.json"},
		"no host.json":       {map[string]string{"functions/A/function.json": "{}"}, "host.json"},
		"host.json no JSON":  {map[string]string{"host.json": "{", "functions/A/function.json": "{}"}, "not JSON"},
		"function no JSON":   {map[string]string{"host.json": goodHost, "functions/A/function.json": "{,}"}, "A/function.json"},
		"name":               {map[string]string{"host.json": goodHost, "functions/1st/function.json": "{}"}, `"1st"`},
		"name of the host":   {map[string]string{"host.json": goodHost, "functions/Host/function.json": "{}"}, `"Host"`},
		"no executable":      {map[string]string{"host.json": "{}", "functions/A/function.json": "{}"}, "defaultExecutablePath"},
		"page not built":     {map[string]string{"host.json": goodHost, "functions/A/function.json": "{}"}, "run make web first"},
		"executable by path": {map[string]string{"host.json": strings.Replace(goodHost, "handler\"}", "./handler\"}", 1), "functions/A/function.json": "{}"}, "defaultExecutablePath"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			out := filepath.Join(t.TempDir(), "dist")
			code := run(t.Context(), []string{"-root", source(t, c.files), "-out", out}, &stdout, &stderr)
			if code != 1 || !strings.Contains(stderr.String(), c.says) {
				t.Errorf("code %d, %q; want 1 and %q", code, &stderr, c.says)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestAFolderThatIsNoAppIsNotCleared(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "app")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(folder, "letters.txt")
	if err := os.WriteFile(precious, []byte("dear"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeFolder(folder, nil); err == nil {
		t.Error("it was cleared")
	}
	if string(read(t, precious)) != "dear" {
		t.Error("the file is gone")
	}
}

func TestWhatAnEarlierRunLeftIsRemoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "app")
	old := []file{{name: "host.json", mode: modeFile}, {name: "Gone/function.json", mode: modeFile}}
	if err := writeFolder(folder, old); err != nil {
		t.Fatal(err)
	}
	if err := writeFolder(folder, old[:1]); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "Gone")); err == nil {
		t.Error("the function that was removed is still there")
	}
}

func TestArgumentsAreFlagsAlone(t *testing.T) {
	var stdout, stderr bytes.Buffer
	for _, args := range [][]string{{"dist"}, {"-nothing"}} {
		if code := run(t.Context(), args, &stdout, &stderr); code != 2 {
			t.Errorf("%q: code %d, want 2", args, code)
		}
	}
}
