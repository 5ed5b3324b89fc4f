// Package azuritetest gives the tests of one package a real Azurite to share.
//
//	func TestMain(m *testing.M) { azuritetest.Main(m) }
//
//	func TestX(t *testing.T) { acc, env := azuritetest.Environment(t); … }
package azuritetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/prober/wire/account"
)

var shared struct {
	once   sync.Once
	server *azurite.Server
	err    error
	dir    string
}

var environments atomic.Int64

// Main runs a package's tests, and then stops Azurite if one of them started it. It does not
// return.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for a package whose tests have more to clean up: it returns the exit code.
func Run(m *testing.M) int {
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	return code
}

// Environment returns the account of the package's Azurite, started by the first call, and the
// name of an environment that no other test of the package uses.
func Environment(t testing.TB) (account.Account, string) {
	t.Helper()
	shared.once.Do(start)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Account(), fmt.Sprintf("t%d", 100+environments.Add(1))
}

func start() {
	root, err := Root()
	if err != nil {
		shared.err = err
		return
	}
	if shared.dir, shared.err = os.MkdirTemp("", "isochrone-azurite-"); shared.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	shared.server, shared.err = azurite.Start(ctx, azurite.Options{Root: root, Location: shared.dir})
}

// Root is the repository's root: the nearest folder upwards that holds go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository's root: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("finding the repository's root: no go.mod above the working folder")
		}
		dir = up
	}
}
