package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/wire"
	"isochrone/sweep/ingest"
	"isochrone/sweep/replay"
)

func newReplay(s *session) *cobra.Command {
	c := &replaying{session: s}
	var from, to, format string
	cmd := &cobra.Command{
		Use:   "replay --from TIME --to TIME",
		Short: "Make rows and Parquet files of archived documents again, after a converter was fixed",
		Long: `replay converts the archived documents of a window of time once more, probers' and foreign ones, with the
programs as they are now, and holds what comes of them against what is stored: the rows column by
column, the Parquet files byte for byte. What is equal is not touched.

Without --apply nothing is written, and the answer says what would change. With it rows are replaced,
added, and deleted where the document does not come to them any more; files are replaced; the newest
runs follow; and the hours and days are marked for recomputation. A replay that was cut off is made
again from the beginning, and does the rest.

Documents that cannot be converted now are told, and nothing of them is touched: the exit code is 1 then.
Runs that expired have no document and stay as they are, and so does what lies in quarantine.

The window is of slots, from --from up to --to, which is left out. Times are UTC unless they say
otherwise, as 2026-11-30T11:00+01:00 does. A foreign document has the day under which it is archived:
it is replayed if the window holds all of that day, or one of the document's runs.`,
		Example: `  sweep replay --from 2026-11-30 --to 2026-12-01
  sweep replay --from 2026-11-30T10:00 --to 2026-11-30T11:00 --source westeurope --format json
  sweep replay --from 2026-11-01 --to 2026-12-01 --format-of iperf3 --format-of fping --apply`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.prepare(cmd, from, to); err != nil {
				return err
			}
			report, err := c.run(cmd.Context())
			if report != nil {
				if failed := s.print(format, replayView{c, report, err == nil}.answer()); err == nil {
					err = failed
				}
			}
			if err != nil {
				return err
			}
			if report.RefusedCount > 0 {
				return bad("", "%d of %s cannot be converted now", report.RefusedCount, plural(report.Documents, "document", "documents"))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "the first slot: a time such as 2026-11-30T10:00 or 2026-11-30")
	flags.StringVar(&to, "to", "", "the end, a slot that is left out")
	flags.StringVar(&c.scope.Source, "source", "", "only documents of this prober")
	flags.StringSliceVar(&c.scope.Formats, "format-of", nil, "only documents of this tool; several with commas, or repeated; isochrone is our own, xml what nobody knows")
	flags.BoolVar(&c.apply, "apply", false, "write what differs")
	flags.BoolVar(&c.yes, "yes", false, "do not ask before writing")
	completeFlag(cmd, "source", localProbers)
	completeFlag(cmd, "format-of", ingest.Formats)
	noFiles(cmd, "from", "to")
	formatFlag(cmd, &format)
	return cmd
}

// replaying is one invocation of replay.
type replaying struct {
	*session
	scope      replay.Scope
	apply, yes bool
	stores     *stores
	replayer   *replay.Replayer
	progress   *progress
	written    bool // something may have been
}

// prepare checks the flags and reaches for the storage.
func (c *replaying) prepare(cmd *cobra.Command, from, to string) (err error) {
	for _, f := range []struct {
		name, text string
		into       *time.Time
	}{{"from", from, &c.scope.From}, {"to", to, &c.scope.To}} {
		if f.text == "" {
			return usage("see: sweep replay --help", "--%s is missing: want the window of slots to replay", f.name)
		}
		if *f.into, err = parseTime(f.text); err != nil {
			return usage("", "--%s %w", f.name, err)
		}
	}
	if !c.scope.From.Before(c.scope.To) {
		return usage("", "--from %s is not before --to %s", stamp(c.scope.From), stamp(c.scope.To))
	}
	if c.scope.To.Sub(c.scope.From) > maxSince {
		return usage("", "--from %s lies more than ten years before --to", stamp(c.scope.From))
	}
	if c.scope.Source != "" {
		if err := wire.ValidateName("source", c.scope.Source); err != nil {
			return usage("", "--source: %w", err)
		}
	}
	for _, f := range c.scope.Formats {
		if !slices.Contains(ingest.Formats(), f) {
			return usage("want one of "+strings.Join(ingest.Formats(), ", "), "--format-of %q is not known", visible(f))
		}
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
	st := c.stores
	c.progress = c.session.progress()
	c.replayer = &replay.Replayer{Archive: st.archive, Rows: st.tables, Converter: ingest.NewAgain(st.environment, st.archive, c.env.now), Patience: c.timeout,
		Progress: func(p replay.Progress) {
			done := float64(p.Days) + float64(p.Documents)/float64(max(p.OfDay, 1))
			c.progress.say("%s %s of %s of %s, day %d of %d", gauge(done, float64(p.Of)), count(p.Documents), plural(p.OfDay, "document", "documents"),
				p.Day.Format(time.DateOnly), p.Days+1, p.Of)
		}}
	ctx, cancel := c.deadline(cmd)
	defer cancel()
	return c.reach(ctx, st, blobs, rows)
}

// run replays; where the operator is to be asked first, once to see what there is to ask.
func (c *replaying) run(ctx context.Context) (*replay.Report, error) {
	if !c.apply || c.yes {
		return c.pass(ctx, c.apply)
	}
	report, err := c.pass(ctx, false)
	if err != nil || report.Differing == 0 {
		return report, err
	}
	yes, err := c.ask(report)
	if err != nil || !yes {
		return report, err
	}
	return c.pass(ctx, true)
}

func (c *replaying) pass(ctx context.Context, apply bool) (*replay.Report, error) {
	report, err := c.replayer.Run(ctx, c.scope, apply)
	c.progress.clear()
	c.written = apply
	if err != nil {
		return &report, unreachable(err)
	}
	return &report, nil
}

// ask asks whether to write.
func (c *replaying) ask(r *replay.Report) (bool, error) {
	_, err := fmt.Fprintf(c.stderr, "environment %s: %s, %s and %s of %s differ. Write them? [y/N] ", visible(c.stores.environment),
		plural(total(r.Rows), "row", "rows"), plural(total(r.Latest), "newest run", "newest runs"), plural(total(r.Files), "file", "files"),
		plural(r.Differing, "document", "documents"))
	if err != nil {
		return false, &problem{code: exitUnreachable, err: fmt.Errorf("asking: %w", err)}
	}
	line, err := bufio.NewReader(io.LimitReader(c.env.stdin, 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, usage("", "reading the answer: %w", err)
	}
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
}

func total(c replay.Changes) int { return c.Changed + c.Added + c.Removed }
