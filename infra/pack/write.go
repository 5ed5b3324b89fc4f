package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// writeFolder replaces the folder: nothing of an earlier run stays, such as a function that was
// since removed, which the host would go on loading.
func writeFolder(folder string, files []file) error {
	if err := checkOurs(folder); err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("clearing %q: %w", folder, err)
	}
	for _, f := range files {
		name := filepath.Join(folder, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("writing %q: %w", f.name, err)
		}
		if err := writeFile(name, f.body, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// checkOurs refuses to clear a folder that is not an app's.
func checkOurs(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("clearing %q: %w", folder, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "host.json")); err != nil {
		return fmt.Errorf("clearing %q: there is no host.json in it, so it is not an app's folder; choose another", folder)
	}
	return nil
}

// writeFile replaces a file whole, with exactly the given mode.
func writeFile(name string, body []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("writing %q: %w", name, err)
	}
	unfinished := name + ".tmp"
	if err := os.WriteFile(unfinished, body, mode); err != nil {
		return fmt.Errorf("writing %q: %w", name, err)
	}
	if err := os.Chmod(unfinished, mode); err != nil { // whatever the umask is
		return fmt.Errorf("writing %q: %w", name, err)
	}
	if err := os.Rename(unfinished, name); err != nil {
		return fmt.Errorf("writing %q: %w", name, err)
	}
	return nil
}

// The oldest time that a zip can hold; every entry has it.
var zipTime = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// zipped packs the files in their order. There are no entries for folders: the tools make them,
// and an entry would carry modes of its own.
func zipped(files []file) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: zipTime}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, fmt.Errorf("packing %q: %w", f.name, err)
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, fmt.Errorf("packing %q: %w", f.name, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	return out.Bytes(), nil
}
