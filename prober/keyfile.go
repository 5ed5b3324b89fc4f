package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"isochrone/prober/wire"
)

// readKeyFile reads a shared secret: the file's text without the white space around it. warning is
// for people, and empty when nothing is wrong with the file.
func readKeyFile(name string) (secret []byte, warning string, err error) {
	const remedy = "make one with: prober reflect --new-key FILE"
	f, err := os.Open(name)
	if err != nil {
		return nil, "", usage(remedy, "reading the key: %w", err)
	}
	defer f.Close() // it is only read from
	info, err := f.Stat()
	if err != nil {
		return nil, "", usage(remedy, "reading the key: %w", err)
	}
	if info.IsDir() {
		return nil, "", usage(remedy, "reading the key: %q is a folder", name)
	}
	b, err := io.ReadAll(io.LimitReader(f, 2*wire.MaxSecretBytes))
	if err != nil {
		return nil, "", usage(remedy, "reading the key: %w", err)
	}
	secret = bytes.TrimSpace(b)
	if n := len(secret); n < wire.MinSecretBytes || n > wire.MaxSecretBytes {
		return nil, "", usage(remedy, "the key in %q has %d bytes: want %d to %d, drawn at random", name, n, wire.MinSecretBytes, wire.MaxSecretBytes)
	}
	// On Windows the mode says nothing of who may read.
	if runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		warning = fmt.Sprintf("%q may be read by others on this machine (mode %04o): whoever has the key can use the reflector; run: chmod 600 %s", name, info.Mode().Perm(), name)
	}
	return secret, warning, nil
}

// writeKeyFile draws a new secret, 256 bits as text, into a file that only its owner may read. It
// never replaces a file: another machine may hold the key that is in it.
func writeKeyFile(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usage("give a name that is free, or remove the file if no other machine uses its key", "making a key: %q is there already", name)
	}
	if err != nil {
		return usage("", "making a key: %w", err)
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	_, err = fmt.Fprintln(f, base64.RawURLEncoding.EncodeToString(b[:]))
	if err = errors.Join(err, f.Close()); err != nil {
		return failed("", "making a key: %w", errors.Join(err, os.Remove(name)))
	}
	return nil
}
