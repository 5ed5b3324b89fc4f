package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"isochrone/sweep/convert"
	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/ingest"
	"isochrone/sweep/tables"
)

func newConvert(s *session) *cobra.Command {
	c := &converter{session: s}
	var format string
	cmd := &cobra.Command{
		Use:   "convert FILE...",
		Short: "Show the rows that documents would be stored as, and store them with --store",
		Long:  convertLong + formatsKnown(),
		Example: `  sweep convert result.json
  iperf3 -c vm-ne -J | sweep convert - --source westeurope --target northeurope --path peering
  sweep convert results.jtl --source westeurope --target eastus --path public --explain
  sweep convert --store --at mtime --source westeurope --target eastus --path vpn ping/*.txt`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.prepare(cmd); err != nil {
				return err
			}
			for _, name := range args {
				if err := c.file(cmd.Context(), name); err != nil {
					return err
				}
			}
			if err := s.print(format, c.answer()); err != nil {
				return err
			}
			if c.refused > 0 {
				return bad("", "%d of %s refused", c.refused, plural(len(args), "document", "documents"))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&c.store, "store", false, "store the documents, as the Results function does")
	flags.BoolVar(&c.explaining, "explain", false, "show how the document writes each figure, and where")
	flags.StringVar(&c.parameters.Source, "source", "", "the prober that measured; HOST=NAME,… where a document has several")
	flags.StringVar(&c.parameters.Target, "target", "", "the prober that was measured, likewise")
	flags.StringVar(&c.parameters.Path, "path", "", "the path that was measured: public, peering, vpn …")
	flags.StringVar(&c.parameters.Probe, "probe", "", "the probe's name, ext. left out (default the tool's)")
	flags.StringVar(&c.parameters.At, "at", "", "when it was measured, for documents that do not say: a time like 2026-11-30T10:00:00Z, or mtime")
	flags.StringVar(&c.parameters.XML, "xml", "", "json: keep XML of no known format, as it is and as JSON beside it")
	formatFlag(cmd, &format)
	return cmd
}

const convertLong = `convert reads results and shows the rows that they would be stored as: result documents (version
1, JSON or XML), and what other tools print. Files are recognised by what they are and not by
their names, gzipped or not, in UTF-8, UTF-16 or the encoding that their XML names, also as base64;
"-" is standard input.

What did not come from a prober's planned assignment is foreign: its probe is named ext.…, its
slot is the second at which the run began, and it never shows in "sweep matrix". A tool does not
know probers and paths: --source, --target and --path say them. What a tool does not say is absent
in the row. Of a damaged file what can be trusted is converted, and the rest is told with its place.

With --store the documents are stored, in the same way in which the app's Results function does
it: the body goes into the archive, or into quarantine with the reason. Storing a document again
changes nothing.

Without --store no storage is needed. The exit code is 1 when a document was refused; the
others are shown, and stored, all the same.

Other tools' results that are read:

`

// formatsKnown lists the formats, a line each.
func formatsKnown() string {
	var b strings.Builder
	for _, f := range foreign.Formats() {
		fmt.Fprintf(&b, "  %-12s %s\n", f.Name, f.Title)
	}
	return strings.TrimRight(b.String(), "\n")
}

// converter works through documents. A document that is refused is reported and does not end
// the work; a file that cannot be read, or a storage that fails, does.
type converter struct {
	*session
	store, explaining bool
	parameters        ingest.Parameters
	named             string           // the environment that is set, or empty
	ingester          *ingest.Ingester // nil without --store
	progress          *progress
	said              bytes.Buffer // what the ingester has to say of the document at hand
	records           []runRecord
	explained         []explained
	kept              []keptXML
	refused           int
	waiting           int // in the inbox, for the app to store
}

// keptXML is XML of no known format that is, or would be, kept as JSON.
type keptXML struct {
	File string          `json:"file"`
	Blob string          `json:"blob,omitempty"`
	JSON json.RawMessage `json:"json"`
}

func (c *converter) storing() bool { return c.ingester != nil }

// prepare checks the flags and, with --store, reaches for the storage.
func (c *converter) prepare(cmd *cobra.Command) error {
	c.progress = c.session.progress()
	checked := c.parameters
	if checked.At == atMtime {
		checked.At = ""
	}
	if err := checked.Check(); err != nil {
		return usage("", "%w", err)
	}
	if err := c.nameEnvironment(); err != nil || !c.store {
		return err
	}
	st, err := c.session.open()
	if err != nil {
		return err
	}
	c.ingester = &ingest.Ingester{
		Environment: st.environment, Inbox: st.archive, Archive: st.archive, Rows: st.tables, Ledger: st.tables,
		Now: c.env.now, Log: logTo(&c.said),
	}
	ctx, cancel := c.deadline(cmd)
	defer cancel()
	return c.reach(ctx, st, blobs, rows)
}

// logTo keeps what the ingester has to say beyond its answers, fit for a terminal.
func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch {
		case a.Key == slog.TimeKey:
			return slog.Attr{}
		case a.Value.Kind() == slog.KindString:
			a.Value = slog.StringValue(cut(describe(errors.New(a.Value.String())), 300))
		}
		return a
	}}))
}

// file converts one document.
func (c *converter) file(ctx context.Context, name string) error {
	src, closed, err := c.source(name)
	if err != nil {
		return err
	}
	defer closed()
	body, converted, err := c.read(ctx, src)
	c.progress.clear()
	if err != nil && !refusal(err) {
		return usage("", "reading %q: %w", titled(name), err)
	}
	if err != nil && (body == nil || !c.storing()) {
		c.refuse(name, reason(err))
		return nil
	}
	var records []runRecord
	if converted != nil {
		for i := range converted.Results {
			records = append(records, runRecordOfResult(&converted.Results[i]))
		}
		c.tell(name, converted)
	}
	kept := keptXML{File: titled(name)}
	if c.storing() { // what cannot be converted goes there too: quarantine keeps it
		outcome, err := c.put(ctx, src, body)
		if err != nil || outcome == nil {
			return err
		}
		for i := range records {
			records[i].Document = optional(outcome.Document)
		}
		kept.Blob = outcome.JSON
	}
	if converted != nil && converted.JSON != nil {
		kept.JSON = converted.JSON
		c.kept = append(c.kept, kept)
	}
	if c.explaining && converted != nil && converted.Explained != nil {
		for i := range records {
			c.explained = append(c.explained, explain(len(c.records)+i+1, &converted.Results[i], converted.Explained[i])...)
		}
	}
	c.records = append(c.records, records...)
	return nil
}

// refusal says whether an error is the document's fault.
func refusal(err error) bool {
	_, refused := errors.AsType[*ingest.Refused](err)
	_, unread := errors.AsType[*convert.Refusal](err)
	return refused || unread
}

// reason is a refusal without the status that HTTP would have.
func reason(err error) error {
	if r, ok := errors.AsType[*ingest.Refused](err); ok {
		return errors.New(r.Reason)
	}
	return err
}

// tell says what of a document was left out.
func (c *converter) tell(name string, of *ingest.Converted) {
	for i := range of.Left {
		c.warn("%s: left out: %s", visible(titled(name)), describe(&of.Left[i]))
	}
	if more := of.LeftCount - len(of.Left); more > 0 {
		c.warn("%s: %d more parts were left out", visible(titled(name)), more)
	}
}

// put stores a document. Without an outcome it was refused, and is in quarantine.
func (c *converter) put(ctx context.Context, src *source, body []byte) (*ingest.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	c.said.Reset()
	outcome, err := c.ingester.Foreign(ctx, body, src.Parameters)
	var refused *ingest.Refused
	if !errors.As(err, &refused) { // of a refusal the log says the same as the answer
		// Nothing is left to tell anyone when standard error cannot be written.
		_, _ = c.stderr.Write(c.said.Bytes())
	}
	switch {
	case errors.As(err, &refused):
		c.refuse(src.name, errors.New(refused.Reason))
		return nil, nil
	case err != nil:
		return nil, unreachable(fmt.Errorf("storing %q: %w", src.name, err))
	case !outcome.Stored:
		c.waiting++
		c.warn("%s is in the inbox; the app stores it at its next Ingest", visible(titled(src.name)))
	}
	return &outcome, nil
}

func (c *converter) refuse(name string, err error) {
	c.refused++
	c.warn("%s: %s", visible(titled(name)), describe(err))
}

type convertObject struct {
	Stored    bool        `json:"stored"`
	Refused   int         `json:"refused"`
	N         int         `json:"n"`
	Runs      []runRecord `json:"runs"`
	Explained []explained `json:"explained,omitempty"`
	XML       []keptXML   `json:"xml,omitempty"`
}

func (c *converter) answer() answer {
	records := c.records
	if records == nil {
		records = []runRecord{}
	}
	a := answer{
		object:  convertObject{Stored: c.storing() && c.waiting == 0, Refused: c.refused, N: len(records), Runs: records, XML: c.kept},
		records: records,
		text:    func(w *bytes.Buffer, st style) { c.text(w, st, records) },
	}
	if c.explaining {
		o := a.object.(convertObject)
		o.Explained = c.explained
		a.object, a.records = o, c.explained
	}
	return a
}

func (c *converter) text(w *bytes.Buffer, st style, records []runRecord) {
	if len(records) > 0 {
		runTable(records, tables.RunQuery{}).render(w, st)
		describeDegraded(w, records)
		w.WriteByte('\n')
	}
	if c.explaining && len(c.explained) > 0 {
		explainTable(w, st, c.explained)
		w.WriteByte('\n')
	}
	for i := range c.kept {
		fmt.Fprintf(w, "%s: XML of no known format, kept as it is and as JSON\n", visible(c.kept[i].File))
	}
	verb := "would be stored"
	if c.storing() {
		verb = "handed to the storage"
	}
	fmt.Fprintf(w, "n = %s %s; times are UTC, %s is absent\n", plural(len(records), "row", "rows"), verb, absent)
}
