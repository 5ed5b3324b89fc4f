package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
)

func newQuarantineRetry(s *session) *cobra.Command {
	r := &retrier{session: s}
	var all bool
	var stage, format string
	cmd := &cobra.Command{
		Use:   "retry SHA... | --all",
		Short: "Take bodies through the same way again",
		Long: `retry takes what lies in quarantine through the same way again. A foreign document is stored as Results
does it, with the parameters that it came with; those of the command line win over them. A prober's
document goes back into the inbox under its own name and is held against its plan once more: one that
is too late stays so.

What is stored leaves quarantine, first the body and then the reason, so that nothing ever lies there
of which nobody knows why. What is refused again stays as it is, and the new reason is shown; the
exit code is 1 then. --dry-run shows what would become of the bodies, and changes nothing.`,
		Example: `  sweep quarantine retry 3f2a9c01 --path peering --at 2026-11-30T10:00:00Z
  sweep quarantine retry --all --stage convert/read --dry-run
  sweep quarantine retry --all`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usage("see: sweep quarantine list", "want the SHA-256 of bodies, or --all")
			}
			if err := r.prepare(cmd); err != nil {
				return err
			}
			held, err := r.chosen(cmd.Context(), args, stage)
			if err != nil {
				return err
			}
			err = r.each(cmd.Context(), held)
			if err != nil && len(r.records) == 0 {
				return err
			}
			// What was done by then is told also when the rest could not be.
			if failed := s.print(format, r.answer(len(held))); err == nil {
				err = failed
			}
			if err != nil {
				return err
			}
			if r.refused > 0 {
				return bad("", "%d of %s refused", r.refused, plural(len(held), "body", "bodies"))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&all, "all", false, "all that lies in quarantine")
	flags.StringVar(&stage, "stage", "", "only what was refused at this stage")
	flags.BoolVar(&r.dry, "dry-run", false, "show what would become of the bodies, and change nothing")
	flags.StringVar(&r.given.Source, "source", "", "of foreign documents: the prober that measured; HOST=NAME,… where a document has several")
	flags.StringVar(&r.given.Target, "target", "", "the prober that was measured, likewise")
	flags.StringVar(&r.given.Path, "path", "", "the path that was measured")
	flags.StringVar(&r.given.Probe, "probe", "", "the probe's name, ext. left out")
	flags.StringVar(&r.given.At, "at", "", "when it was measured, for documents that do not say: a time like 2026-11-30T10:00:00Z")
	flags.StringVar(&r.given.XML, "xml", "", "json: keep XML of no known format, as it is and as JSON beside it")
	completeFlag(cmd, "stage", stages)
	completeFlag(cmd, "source", localProbers)
	completeFlag(cmd, "target", localTargets)
	completeFlag(cmd, "path", localPaths)
	completeFlag(cmd, "probe", localProbes)
	completeFlag(cmd, "xml", func() []string { return []string{ingest.XMLToJSON} })
	noFiles(cmd, "at")
	formatFlag(cmd, &format)
	return cmd
}

// settledAfter is how old a reason without a body must be to be deleted: the reason is written first, and
// the body may be on its way.
const settledAfter = time.Hour

// What became of a body.
const (
	retryStored  = "stored"
	retryWould   = "would be stored"
	retryRefused = "refused"
	retryWaiting = "in the inbox"
	retryGone    = "gone"
)

// retryRecord is what became of a body, as json and csv hold it.
type retryRecord struct {
	SHA256   string  `json:"sha256"`
	Origin   *string `json:"origin"`
	Outcome  string  `json:"outcome"`
	Rows     int     `json:"rows"`
	Document *string `json:"document"`
	Stage    *string `json:"stage"`
	Reason   *string `json:"reason"`
}

// retrier works through bodies. One that is refused does not end the work; a storage that fails does.
type retrier struct {
	*session
	dry      bool
	given    ingest.Parameters // on the command line
	stores   *stores
	ingester *ingest.Ingester
	again    *ingest.Again
	progress *progress
	said     bytes.Buffer
	records  []retryRecord
	refused  int
}

// kept is the archive for bodies that lie in quarantine already: what is refused again stays as it is.
type kept struct{ *archive.Store }

// Quarantine implements ingest.Archive.
func (kept) Quarantine(_ context.Context, _ time.Time, origin string, _ []byte, _ string, _ inbox.Reason) (string, error) {
	return origin, nil
}

func (r *retrier) prepare(cmd *cobra.Command) (err error) {
	if err := r.given.Check(); err != nil {
		return usage("", "%w", err)
	}
	if r.stores, err = r.session.open(); err != nil {
		return err
	}
	st := r.stores
	r.ingester = &ingest.Ingester{Environment: st.environment, Inbox: st.archive, Archive: kept{st.archive}, Rows: st.tables, Ledger: st.tables,
		Now: r.env.now, Log: logTo(&r.said)}
	r.again = ingest.NewAgain(st.environment, st.archive, r.env.now)
	r.progress = r.session.progress()
	ctx, cancel := r.deadline(cmd)
	defer cancel()
	return r.reach(ctx, st, blobs, rows)
}

// each retries bodies, one after the other.
func (r *retrier) each(ctx context.Context, held []inbox.Held) error {
	defer r.progress.clear()
	for i, h := range held {
		r.progress.say("%s %s of %s", gauge(float64(i), float64(len(held))), count(i), plural(len(held), "body", "bodies"))
		if err := r.one(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// chosen reads which bodies to retry. Of all the one that was refused first goes first: of two that have
// a run in common it is stored, as it would have been.
func (r *retrier) chosen(ctx context.Context, args []string, stage string) (out []inbox.Held, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if len(args) == 0 {
		out, err := r.held(ctx, r.stores, heldQuery{stage: stage}, "")
		slices.Reverse(out)
		return out, err
	}
	for _, sha := range args {
		held, err := r.bySHA(ctx, r.stores, sha)
		if err != nil {
			return nil, err
		}
		for _, h := range held {
			if stage == "" || h.Why.Stage == stage {
				out = append(out, h)
			}
		}
	}
	return out, nil
}

// one retries a body within its time.
func (r *retrier) one(ctx context.Context, h inbox.Held) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	record := retryRecord{SHA256: h.SHA256, Origin: optional(h.Why.Origin)}
	err := r.try(ctx, h, &record)
	if no, ok := errors.AsType[*ingest.Refused](err); ok {
		record.Outcome, record.Stage, record.Reason = retryRefused, optional(no.Stage), &no.Reason
		r.refused++
		err = nil
	}
	if err != nil {
		return unreachable(fmt.Errorf("retrying %s: %w", h.SHA256[:shortSHA], err))
	}
	if !r.dry && (record.Outcome == retryStored || record.Outcome == retryGone && r.env.now().Sub(h.Why.When) > settledAfter) {
		if err := r.stores.archive.Unquarantine(ctx, h); err != nil {
			return unreachable(err)
		}
	}
	r.records = append(r.records, record)
	return nil
}

func stays(stage, format string, args ...any) error {
	return &ingest.Refused{Stage: stage, Reason: fmt.Sprintf(format, args...)}
}

func (r *retrier) try(ctx context.Context, h inbox.Held, record *retryRecord) error {
	switch {
	case h.Name == "":
		record.Outcome = retryGone
		return nil
	case h.Why.Origin == "":
		return stays("", "%s: nobody knows where it came from; store it with: sweep quarantine show %s --body > FILE; sweep convert --store FILE", h.Why.Text, h.SHA256[:shortSHA])
	case h.Why.Stage == "size":
		return stays("size", "only its beginning may have been kept: have it sent again, in parts")
	}
	body, found, err := r.stores.archive.ReadHeld(ctx, h)
	if err != nil {
		return err
	}
	if !found {
		record.Outcome = retryGone
		return nil
	}
	r.said.Reset()
	if strings.HasPrefix(h.Why.Origin, wire.InboxForeignFolder+"/") {
		return r.foreign(ctx, h, body, record)
	}
	return r.planned(ctx, h, body, record)
}

// settle says what became of a body that was handed to the ingester.
func (r *retrier) settle(out ingest.Outcome, err error, record *retryRecord) error {
	if err != nil {
		return err
	}
	record.Outcome, record.Rows, record.Document = retryStored, out.Rows, optional(out.Document)
	if !out.Stored {
		record.Outcome = retryWaiting
		// Nothing is left to tell anyone when standard error cannot be written.
		_, _ = r.stderr.Write(r.said.Bytes())
	}
	return nil
}

// parameters are those that a body came with, and those of the command line in their place.
func (r *retrier) parameters(h inbox.Held) ingest.Parameters {
	p := ingest.ParametersOf(h.Why.Parameters)
	for name, value := range map[string]string{"source": r.given.Source, "target": r.given.Target, "path": r.given.Path,
		"probe": r.given.Probe, "at": r.given.At, "xml": r.given.XML} {
		if value != "" {
			p.Set(name, value)
		}
	}
	return p
}

func (r *retrier) foreign(ctx context.Context, h inbox.Held, body []byte, record *retryRecord) error {
	p := r.parameters(h)
	if !r.dry {
		out, err := r.ingester.Foreign(ctx, body, p)
		return r.settle(out, err, record)
	}
	c, err := r.ingester.Convert(ctx, body, p)
	if err != nil {
		return err
	}
	ds, err := r.stores.tables.CompareRuns(ctx, c.Results)
	if err != nil {
		return err
	}
	sum := inbox.ForeignSum(body, p.Meta())
	for _, d := range ds {
		if d.Document != "" && !strings.Contains(d.Document, "/"+sum+".") {
			return stays("conflict", "a run of its series in the same second is stored already, and is never replaced: from %q", d.Document)
		}
	}
	record.Outcome, record.Rows = retryWould, len(c.Results)
	return nil
}

func (r *retrier) planned(ctx context.Context, h inbox.Held, body []byte, record *retryRecord) error {
	c, leave, err := r.again.Waiting(ctx, h.Why.Origin, body)
	if err != nil {
		return err
	}
	leave() // nothing but its names is looked at from here on
	if len(c.Results) > 0 {
		first := &c.Results[0]
		stored, found, err := r.stores.archive.DocumentOf(ctx, first.Series.Source, first.Slot, first.Assignment)
		if err != nil {
			return err
		}
		if found && !bytes.Equal(stored, body) {
			return stays("conflict", "another document of its assignment is stored, and samples are never counted twice")
		}
	}
	if r.dry {
		record.Outcome, record.Rows = retryWould, len(c.Results)
		return nil
	}
	it, err := r.stores.archive.Return(ctx, h.Why.Origin, body)
	if errors.Is(err, inbox.ErrWaiting) {
		record.Outcome = retryWaiting
		return nil
	}
	if err != nil {
		return err
	}
	out, err := r.ingester.Retake(ctx, it)
	return r.settle(out, err, record)
}

type retryObject struct {
	Environment string        `json:"environment"`
	DryRun      bool          `json:"dry_run"`
	N           int           `json:"n"`
	Refused     int           `json:"refused"`
	Bodies      []retryRecord `json:"bodies"`
}

func (r *retrier) answer(of int) answer {
	records := r.records
	if records == nil {
		records = []retryRecord{}
	}
	return answer{object: retryObject{r.stores.environment, r.dry, len(records), r.refused, records}, records: records, text: func(w *bytes.Buffer, st style) {
		if len(records) > 0 {
			t := &table{columns: []column{left("sha256"), left("origin"), left("outcome"), number("rows")}}
			for i := range records {
				t.add(records[i].SHA256[:shortSHA], orAbsent(value(records[i].Origin)), records[i].Outcome, count(records[i].Rows))
			}
			t.render(w, st)
			w.WriteByte('\n')
		}
		for i := range records { // whole, for a person to act on
			if why := records[i].Reason; why != nil {
				fmt.Fprintf(w, "%s: %s\n", records[i].SHA256[:shortSHA], describe(errors.New(*why)))
			}
		}
		if left := of - len(records); left > 0 {
			fmt.Fprintf(w, "it ended early: %s not retried\n", plural(left, "body was", "bodies were"))
		}
		fmt.Fprintf(w, "n = %s of environment %s; what is not stored stays in quarantine\n", plural(len(records), "body", "bodies"), r.stores.environment)
	}}
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
