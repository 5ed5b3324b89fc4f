package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"isochrone/infra/local/azurite"
)

// withEmulator has something measured on a storage emulator of its own, which begins empty. dir is a folder for the
// time of it.
func (b *bench) withEmulator(ctx context.Context, measure func(server *azurite.Server, dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "isochrone-bench-azurite-")
	if err != nil {
		return fmt.Errorf("making a folder for the emulator: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, err := azurite.Start(ctx, azurite.Options{Root: b.root, Location: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	return measure(server, dir)
}
