// Package answers turns questions about what was measured into typed answers: the latest round
// trip and loss between all probers, the runs of a series, how the last sweeps went, and what a
// configuration will cost. It prints nothing; the command line and the web pages do.
//
// Every total in an answer is computed when it is asked for, from the configuration and the
// rows. Nothing here counts up.
package answers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"isochrone/sweep/config"
)

// ErrNoConfig says that an environment has no configuration yet.
var ErrNoConfig = errors.New("the environment has no configuration")

// Configs is where an environment's configuration is kept. archive.Store satisfies it. Config
// may change at any time; a pinned configuration never does.
type Configs interface {
	Config(ctx context.Context) (body []byte, found bool, err error)
	PinnedConfig(ctx context.Context, hash string) (body []byte, found bool, err error)
}

// Hash is a configuration's SHA-256 in hexadecimal: the name under which sweeps pin it.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// ReadConfig reads the configuration that the environment runs on. The error is ErrNoConfig,
// wrapped, when there is none, and holds config.Faults when it cannot be used. A configuration
// of another environment is refused.
func ReadConfig(ctx context.Context, from Configs, environment string) (*config.Config, error) {
	body, found, err := from.Config(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of environment %q: %w", environment, err)
	}
	if !found {
		return nil, fmt.Errorf("reading the configuration of environment %q: %w", environment, ErrNoConfig)
	}
	return parseFor(environment, body)
}

func parseFor(environment string, body []byte) (*config.Config, error) {
	c, err := config.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of environment %q: %w", environment, err)
	}
	if c.Environment != environment {
		return nil, fmt.Errorf("reading the configuration of environment %q: it is for environment %q", environment, c.Environment)
	}
	return c, nil
}
