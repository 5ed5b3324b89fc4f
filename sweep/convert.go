package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/convert"
	"isochrone/sweep/ingest"
	"isochrone/sweep/tables"
)

func newConvert(s *session) *cobra.Command {
	var store bool
	var format string
	cmd := &cobra.Command{
		Use:   "convert FILE...",
		Short: "Show the rows that documents would be stored as, and store them with --store",
		Long: `convert reads result documents (version 1, JSON or XML, gzipped or not; recognised by what they
are and not by their names; "-" is standard input) and shows the rows that they would be stored
as. What did not come from a prober's planned assignment is foreign: its probe is named ext.…,
its slot is the second at which the run began, and it never shows in "sweep matrix".

With --store the documents are stored, in the same way in which the app's Results function does
it: the body goes into the archive, or into quarantine with the reason. Storing a document again
changes nothing.

Without --store no storage is needed. The exit code is 1 when a document was refused; the
others are shown, and stored, all the same.`,
		Example: `  sweep convert result.json
  curl -s https://example.com/result.xml | sweep convert - --format csv
  sweep convert --store results/*.json.gz`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := converter{session: s}
			if store {
				if err := c.open(); err != nil {
					return err
				}
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			if store {
				if err := s.reach(ctx, c.stores, blobs, rows); err != nil {
					return err
				}
			}
			for _, name := range args {
				if err := c.file(ctx, name); err != nil {
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
	cmd.Flags().BoolVar(&store, "store", false, "store the documents, as the Results function does")
	formatFlag(cmd, &format)
	return cmd
}

// converter works through documents. A document that is refused is reported and does not end
// the work; a file that cannot be read, or a storage that fails, does.
type converter struct {
	*session
	ingester *ingest.Ingester // nil without --store
	stores   *stores          // nil without --store
	said     bytes.Buffer     // what the ingester has to say of the document at hand
	records  []runRecord
	refused  int
	waiting  int // in the inbox, for the app to store
}

func (c *converter) open() error {
	st, err := c.session.open()
	if err != nil {
		return err
	}
	c.ingester = &ingest.Ingester{
		Environment: st.environment, Inbox: st.archive, Archive: st.archive, Rows: st.tables, Ledger: st.tables,
		Now: c.env.now, Log: logTo(&c.said),
	}
	c.stores = st
	return nil
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

func (c *converter) file(ctx context.Context, name string) error {
	body, err := c.readFile(name, wire.MaxDocumentBytes)
	var p *problem
	if errors.As(err, &p) && p.code == exitBad {
		c.refuse(name, err)
		return nil
	} else if err != nil {
		return err
	}
	records, err := c.convert(ctx, body)
	if err != nil && c.ingester == nil {
		c.refuse(name, err)
		return nil
	}
	if c.ingester != nil { // what cannot be converted goes there too: quarantine keeps it
		return c.store(ctx, name, body, records)
	}
	c.records = append(c.records, records...)
	return nil
}

// convert says what would be stored of a document: exactly what Results accepts is accepted.
func (c *converter) convert(ctx context.Context, body []byte) ([]runRecord, error) {
	environment := ""
	if c.environment != "" || c.env.get(account.EnvEnvironment) != "" {
		var err error
		if environment, err = c.environmentName(); err != nil {
			return nil, err
		}
	} else { // without a setting, the document's own
		d, err := convert.Document(body)
		if err != nil {
			return nil, err
		}
		environment = d.Environment
	}
	converting := ingest.Ingester{Environment: environment, Now: c.env.now}
	results, err := converting.Convert(ctx, body, ingest.Parameters{})
	if refused, ok := errors.AsType[*ingest.Refused](err); ok {
		return nil, errors.New(refused.Reason)
	}
	if err != nil {
		return nil, err
	}
	records := make([]runRecord, len(results))
	for i := range results {
		records[i] = runRecordOfResult(&results[i])
	}
	return records, nil
}

func (c *converter) store(ctx context.Context, name string, body []byte, records []runRecord) error {
	c.said.Reset()
	outcome, err := c.ingester.Foreign(ctx, body, ingest.Parameters{})
	var refused *ingest.Refused
	if !errors.As(err, &refused) { // of a refusal the log says the same as the answer
		// Nothing is left to tell anyone when standard error cannot be written.
		_, _ = c.stderr.Write(c.said.Bytes())
	}
	switch {
	case errors.As(err, &refused):
		c.refuse(name, errors.New(refused.Reason))
		return nil
	case err != nil:
		return unreachable(fmt.Errorf("storing %q: %w", name, err))
	case !outcome.Stored:
		c.waiting++
		c.warn("%s is in the inbox; the app stores it at its next Ingest", visible(titled(name)))
	}
	for i := range records {
		records[i].Document = optional(outcome.Document)
	}
	c.records = append(c.records, records...)
	return nil
}

func (c *converter) refuse(name string, err error) {
	c.refused++
	c.warn("%s: %s", visible(titled(name)), describe(err))
}

type convertObject struct {
	Stored  bool        `json:"stored"`
	Refused int         `json:"refused"`
	N       int         `json:"n"`
	Runs    []runRecord `json:"runs"`
}

func (c *converter) answer() answer {
	records := c.records
	if records == nil {
		records = []runRecord{}
	}
	stored := c.ingester != nil && c.waiting == 0
	return answer{
		object:  convertObject{stored, c.refused, len(records), records},
		records: records,
		text: func(w *bytes.Buffer, st style) {
			if len(records) > 0 {
				runTable(records, tables.RunQuery{}).render(w, st)
				describeDegraded(w, records)
				w.WriteByte('\n')
			}
			verb := "would be stored"
			if c.ingester != nil {
				verb = "handed to the storage"
			}
			fmt.Fprintf(w, "n = %s %s; times are UTC, %s is absent\n", plural(len(records), "row", "rows"), verb, absent)
		},
	}
}
