package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/infra/local/stack"
)

// history is how many weeks of simulated history a run begins with; 0: none.
type history int

const maxHistory = 104

func (h *history) String() string { return strconv.Itoa(int(*h)) + "w" }

func (h *history) Set(text string) error {
	weeks, isWeeks := strings.CutSuffix(text, "w")
	n, err := strconv.Atoi(weeks)
	if !isWeeks || err != nil || n < 1 || n > maxHistory {
		return fmt.Errorf("want a number of weeks from 1w to %dw, such as 8w", maxHistory)
	}
	*h = history(n)
	return nil
}

// patience is how long filling the storage may take: some twenty seconds a week where nobody else
// uses the machine.
func (h history) patience() time.Duration { return time.Duration(h) * 5 * time.Minute }

// historyEnvironment is the environment of a stack with history, so that its name says on every page that not
// all of it was measured.
const historyEnvironment = "history"

var environmentLine = regexp.MustCompile(`(?m)^environment:[ \t]*[a-z0-9]+`)

// historical is a configuration in the environment of history.
func historical(body []byte) ([]byte, error) {
	if len(environmentLine.FindAll(body, -1)) != 1 {
		return nil, errors.New("the configuration has no one line \"environment: NAME\", which a run with history needs to replace")
	}
	return environmentLine.ReplaceAll(body, []byte("environment: "+historyEnvironment)), nil
}

// fill fills the storage up to the present minute with the command that a user has for it, hour by hour and by the
// first probe alone: all probes of each minute would take a day. Sweeps come after it, and in other slots.
func (l local) fill(began time.Time) func(context.Context, *stack.Stack) error {
	if l.history == 0 {
		return nil
	}
	return func(ctx context.Context, s *stack.Stack) error {
		args := []string{"simulate", "--weeks", strconv.Itoa(int(l.history)), "--probe", s.Config.Probes[0].Name,
			"--until", time.Now().UTC().Truncate(time.Minute).Format("2006-01-02T15:04Z")}
		l.say("%5.1fs  $ bin/sweep %s", time.Since(began).Seconds(), strings.Join(args, " "))
		cmd := exec.CommandContext(ctx, filepath.Join(l.root, "bin", "sweep"), args...)
		cmd.Env = append(slices.Clone(l.environ), l.settings(s)...)
		cmd.Stdout, cmd.Stderr = l.stdout, l.stderr
		err := cmd.Run()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("it was not over in %s: this machine has too much else to do, or ask for fewer weeks", l.history.patience())
		}
		if err != nil {
			return fmt.Errorf("filling the storage with history: %w", err)
		}
		return nil
	}
}
