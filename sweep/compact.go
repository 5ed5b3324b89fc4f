package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/compact"
)

func newCompact(s *session) *cobra.Command {
	c := &compacting{session: s}
	var from, to, format string
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Make the lake's files of the stored samples, and delete raw samples that it holds",
		Long: `compact does what the Compact function does: of each day that is over and has changed it makes one Parquet
file a prober and probe of the raw samples, in the lake. Files whose inputs have not changed are not written.
Raw samples of days that ended more than nine days ago are deleted, when the lake has been read and
holds them; documents never are. It may run beside the function, and be cut off: made again, it does the
rest.

Without --apply nothing is written or deleted, and the answer says what would be.

With --backfill every day that has samples is looked at, whether it was marked as changed or not. It is
what a lake wants once that was emptied, or that is older than this program. --from and --to limit the
days, with --backfill or without; --to is left out.`,
		Example: `  sweep compact
  sweep compact --apply
  sweep compact --backfill --from 2026-11-01 --to 2026-12-01 --apply --yes --format json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.prepare(cmd, from, to); err != nil {
				return err
			}
			report, err := c.run(cmd.Context())
			if failed := s.print(format, compactAnswer(c, report, err == nil)); err == nil {
				err = failed
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&c.scope.All, "backfill", false, "look at all days, not only those that have changed")
	flags.StringVar(&from, "from", "", "the first day, such as 2026-11-30")
	flags.StringVar(&to, "to", "", "the end, a day that is left out")
	flags.StringVar(&c.folder, "folder", "", "for temporary files: some 30 bytes a sample of the largest file (default: the system's)")
	flags.BoolVar(&c.apply, "apply", false, "write, and delete")
	flags.BoolVar(&c.yes, "yes", false, "do not ask before --apply writes and deletes")
	noFiles(cmd, "from", "to")
	formatFlag(cmd, &format)
	return cmd
}

// compacting is one invocation of compact.
type compacting struct {
	*session
	scope      compact.Scope
	folder     string
	apply, yes bool
	stores     *stores
	progress   *progress
	compactor  *compact.Compactor
}

// prepare checks the flags and reaches for the storage.
func (c *compacting) prepare(cmd *cobra.Command, from, to string) (err error) {
	for _, f := range []struct {
		name, text string
		into       *time.Time
	}{{"from", from, &c.scope.Since}, {"to", to, &c.scope.Until}} {
		if f.text == "" {
			continue
		}
		if *f.into, err = parseTime(f.text); err != nil {
			return usage("", "--%s %w", f.name, err)
		}
		if !f.into.Equal(f.into.Truncate(24 * time.Hour)) {
			return usage("", "--%s %s is no whole day, UTC", f.name, stamp(*f.into))
		}
	}
	if from != "" && to != "" && !c.scope.Since.Before(c.scope.Until) {
		return usage("", "--from %s is not before --to %s", stamp(c.scope.Since), stamp(c.scope.Until))
	}
	if c.yes && !c.apply {
		return usage("", "--yes is for --apply")
	}
	if c.apply && !c.yes && !c.canAsk() {
		return usage("", "--apply needs --yes where nobody can be asked: standard input is no terminal")
	}
	if c.stores, err = c.session.open(); err != nil {
		return err
	}
	c.progress = c.session.progress()
	c.compactor = &compact.Compactor{Lake: c.stores.archive, Marks: c.stores.tables, Now: c.env.now, Log: slog.New(slog.DiscardHandler), Folder: c.folder,
		Progress: func(p compact.Progress) {
			c.progress.say("%s day %s of %s, %s of %s, %s rows", gauge(float64(p.Done), float64(p.Of)), count(p.Done+1), count(p.Of),
				p.Day.Day.Format(time.DateOnly), p.Day.Source, count(int(p.Rows)))
		}}
	ctx, cancel := c.deadline(cmd)
	defer cancel()
	return c.reach(ctx, c.stores, blobs, rows)
}

// run compacts; where the operator is to be asked first, once to see what there is to ask.
func (c *compacting) run(ctx context.Context) (compact.Report, error) {
	if c.apply && c.yes {
		return c.pass(ctx, true)
	}
	report, err := c.pass(ctx, false)
	if !c.apply || err != nil || report.Written+report.Deleted == 0 {
		return report, err
	}
	yes, err := c.ask(report)
	if err != nil || !yes {
		return report, err
	}
	return c.pass(ctx, true)
}

func (c *compacting) pass(ctx context.Context, apply bool) (compact.Report, error) {
	c.scope.Apply = apply
	report, err := c.compactor.Run(ctx, c.scope)
	c.progress.clear()
	if err != nil {
		return report, unreachable(err)
	}
	return report, nil
}

// ask asks whether to write.
func (c *compacting) ask(r compact.Report) (bool, error) {
	_, err := fmt.Fprintf(c.stderr, "environment %s: write %s, delete %s (%s)? [y/N] ", visible(c.stores.environment),
		plural(r.Written, "lake file", "lake files"), plural(r.Deleted, "raw file", "raw files"), megabytes(r.Freed))
	if err != nil {
		return false, &problem{code: exitUnreachable, err: fmt.Errorf("asking: %w", err)}
	}
	line, err := bufio.NewReader(io.LimitReader(c.env.stdin, 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, usage("", "reading the answer: %w", err)
	}
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
}
