package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/spf13/cobra"

	"isochrone/prober/wire/account"
	"isochrone/sweep/answers"
	"isochrone/sweep/archive"
)

func newConfig(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Push the configuration of an environment, or show it",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage("see: sweep config --help", "config needs a command: push or show")
		},
	}
	cmd.AddCommand(newConfigPush(s), newConfigShow(s))
	return cmd
}

func newConfigPush(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "push FILE",
		Short: "Make a configuration the one that the environment runs on",
		Long: `push checks a configuration, stores it, and prints its SHA-256. The next sweep runs on it;
a sweep that is under way keeps the one that it began with.

A configuration with faults, or for another environment than the setting's, is refused with
exit code 1, and nothing is changed.`,
		Example: `  sweep config push sweep.yaml
  ISOCHRONE_ENVIRONMENT=prod sweep config push config/prod.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeYAML,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, body, c, err := s.readConfig(args)
			if err != nil {
				return err
			}
			st, err := s.open()
			if err != nil {
				return err
			}
			if c.Environment != st.environment {
				return bad("nothing was pushed; set "+account.EnvEnvironment+" or correct the file",
					"%q is for environment %q, and the setting says %q", name, c.Environment, st.environment)
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			if err := s.reach(ctx, st, blobs); err != nil {
				return err
			}
			if err := pushConfig(ctx, st.archive, body); err != nil {
				return unreachable(err)
			}
			if err := s.write(fmt.Appendln(nil, answers.Hash(body))); err != nil {
				return err
			}
			s.warn("environment %q runs on %s from its next sweep on", st.environment, visible(name))
			return nil
		},
	}
}

// pushConfig stores a configuration. It makes the containers only where they are missing: in
// Azure the templates have made them, and the operator may not.
func pushConfig(ctx context.Context, store *archive.Store, body []byte) error {
	err := store.PutConfig(ctx, body)
	var response *azcore.ResponseError
	if errors.As(err, &response) && response.ErrorCode == "ContainerNotFound" {
		if err := store.Ensure(ctx); err != nil {
			return err
		}
		err = store.PutConfig(ctx, body)
	}
	return err
}

func newConfigShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "show [SHA256]",
		Short: "Print the configuration that the environment runs on, or one that a sweep ran on",
		Long: `show prints the configuration that the environment runs on, byte for byte unless standard
output is a terminal. With the SHA-256 that "sweep status" shows for a sweep, it prints the
one that this sweep ran on.`,
		Example: `  sweep config show > sweep.yaml
  sweep config show 0b3ee8f10d8d3b2f2f1c5d7b6f7a2d0c9c6f1c7b3a0a8a2f4f3a5a7d9e1b2c3d`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := s.open()
			if err != nil {
				return err
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			if err := s.reach(ctx, st, blobs); err != nil {
				return err
			}
			body, err := storedConfig(ctx, st, args)
			if err != nil {
				return err
			}
			if _, terminal := s.terminal(); terminal {
				body = visibleLines(body)
			}
			return s.write(body)
		},
	}
}

func storedConfig(ctx context.Context, st *stores, args []string) ([]byte, error) {
	if len(args) == 0 {
		body, found, err := st.archive.Config(ctx)
		if err != nil {
			return nil, unreachable(err)
		}
		if !found {
			return nil, unreachable(fmt.Errorf("reading the configuration of environment %q: %w", st.environment, answers.ErrNoConfig))
		}
		return body, nil
	}
	hash := args[0]
	if b, err := hex.DecodeString(hash); err != nil || len(b) != 32 || strings.ToLower(hash) != hash {
		return nil, usage(`"sweep status --format json" shows those of the last sweeps`, "%q is not a SHA-256 of 64 lower-case hexadecimal digits", hash)
	}
	body, found, err := st.archive.PinnedConfig(ctx, hash)
	if err != nil {
		return nil, unreachable(err)
	}
	if !found {
		return nil, bad("", "no sweep of environment %q ran on configuration %s", st.environment, hash)
	}
	return body, nil
}

// visibleLines makes a text of several lines fit for a terminal.
func visibleLines(body []byte) []byte {
	lines := strings.Split(string(body), "\n")
	for i, line := range lines {
		lines[i] = visible(strings.TrimSuffix(line, "\r"))
	}
	return []byte(strings.Join(lines, "\n"))
}
