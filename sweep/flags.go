package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/config"
)

// oneOf is a flag that takes one word of a list.
type oneOf struct {
	value   *string
	choices []string
}

func (o oneOf) String() string {
	if o.value == nil {
		return ""
	}
	return *o.value
}

func (o oneOf) Type() string { return "word" }

func (o oneOf) Set(v string) error {
	if !slices.Contains(o.choices, v) {
		return errors.New("want one of " + strings.Join(o.choices, ", "))
	}
	*o.value = v
	return nil
}

// choiceFlag gives a command a flag that takes one word of a list, with its completion.
func choiceFlag(cmd *cobra.Command, into *string, name, value string, choices []string, help string) {
	*into = value
	cmd.Flags().Var(oneOf{into, choices}, name, help)
	completeFlag(cmd, name, func() []string { return choices })
}

// completeFlag tells the shell which words fit a flag. The flag exists: the only error there is
// is that it does not, or that it was told twice, and a test completes every flag.
func completeFlag(cmd *cobra.Command, name string, words func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	})
}

// noFiles keeps the shell from offering file names where none fits.
func noFiles(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		completeFlag(cmd, name, func() []string { return nil })
	}
}

func completeYAML(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// The words of the configuration file in the working folder, for completion: asking the storage
// would make the Tab key wait. Without the file, or with one that has faults, there are none.

func localProbers() (ids []string) {
	for _, p := range localConfig().Probers {
		ids = append(ids, p.ID+"\t"+p.Region)
	}
	return ids
}

// localTargets are the probers, and the endpoints.
func localTargets() (names []string) {
	names = localProbers()
	for _, e := range localConfig().Endpoints {
		names = append(names, e.Name+"\tendpoint")
	}
	return names
}

func localProbes() (names []string) {
	for _, p := range localConfig().Probes {
		names = append(names, fmt.Sprintf("%s\t%s, %s", p.Name, p.Spec.Kind, p.Schedule))
	}
	return names
}

func localPaths() (paths []string) {
	for _, p := range localConfig().Probes {
		for _, path := range p.Paths {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

func localConfig() *config.Config {
	info, err := os.Stat(defaultFile)
	if err != nil || info.Size() > config.MaxBytes {
		return &config.Config{}
	}
	body, err := os.ReadFile(defaultFile)
	if err != nil {
		return &config.Config{}
	}
	c, err := config.Parse(body)
	if err != nil {
		return &config.Config{}
	}
	return c
}

// parseTime reads a time as it is written in answers, or to the minute, or the day alone; UTC
// where no zone is given.
func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("time %q: want one such as 2026-11-30T10:20:00Z, 2026-11-30T10:20 or 2026-11-30", s)
}

// maxSince bounds how far back one question may look. Retention is far shorter.
const maxSince = 10 * 366 * 24 * time.Hour

// parseSince reads how far back to look from now on: a duration (90m, 24h, 7d) or a time.
func parseSince(s string, now time.Time) (time.Time, error) {
	d, err := time.ParseDuration(s)
	if days, isDays := strings.CutSuffix(s, "d"); isDays {
		var n int
		if n, err = strconv.Atoi(days); err == nil && n <= int(maxSince/(24*time.Hour)) {
			d = time.Duration(n) * 24 * time.Hour
		} else if err == nil {
			d = maxSince + 1
		}
	}
	if err != nil {
		t, err := parseTime(s)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q: want a duration such as 90m, 24h or 7d, or a time such as 2026-11-30T10:20:00Z", s)
		}
		d = now.Sub(t)
	}
	if d <= 0 || d > maxSince {
		return time.Time{}, fmt.Errorf("%q: want a time that is past, by ten years at the most", s)
	}
	return now.Add(-d), nil
}
