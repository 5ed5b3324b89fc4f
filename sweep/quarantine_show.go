package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"isochrone/sweep/inbox"
)

func newQuarantineShow(s *session) *cobra.Command {
	var body bool
	var format string
	cmd := &cobra.Command{
		Use:   "show SHA",
		Short: "Show why a body was refused, or the body itself",
		Long: `show prints the whole reason for which a body was refused, and the parameters that it came with. SHA is
the body's SHA-256, or enough of its first digits.

With --body it writes the body to standard output, byte for byte, to be sent into a file or another
program. On a terminal only text is shown, and what could steer the terminal is escaped.`,
		Example: `  sweep quarantine show 3f2a9c01
  sweep quarantine show 3f2a9c01 --body > result.json.gz`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := s.open()
			if err != nil {
				return err
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			held, err := s.bySHA(ctx, st, args[0])
			if err != nil {
				return err
			}
			if !body {
				return s.print(format, heldDetail(st.environment, held))
			}
			for _, h := range held {
				if h.Name == "" {
					continue
				}
				b, found, err := st.archive.ReadHeld(ctx, h)
				if err != nil {
					return unreachable(err)
				}
				if found {
					return s.writeBody(b)
				}
			}
			return bad("", "%s: %w", held[0].SHA256[:shortSHA], errNoBody)
		},
	}
	cmd.Flags().BoolVar(&body, "body", false, "write the body itself, byte for byte")
	formatFlag(cmd, &format)
	return cmd
}

// writeBody writes a body that anybody may have sent.
func (s *session) writeBody(b []byte) error {
	if _, terminal := s.terminal(); !terminal {
		return s.write(b)
	}
	text, ok := printable(b)
	if !ok {
		return bad("send it into a file: sweep quarantine show … --body > FILE", "the body is no text that a terminal could show (%s)", plural(len(b), "byte", "bytes"))
	}
	return s.write([]byte(text))
}

// printable is a text as a terminal may show it; false where it is not one: not UTF-8, or with many
// characters that are not to be printed.
func printable(b []byte) (string, bool) {
	if !utf8.Valid(b) {
		return "", false
	}
	all, odd := 0, 0
	for _, r := range string(b) {
		all++
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			odd++
		}
	}
	if odd > all/10 {
		return "", false
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		lines[i] = visible(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n") + "\n", true
}

// heldDetail shows all that is known of a body.
func heldDetail(environment string, held []inbox.Held) answer {
	records := make([]heldRecord, len(held))
	for i := range held {
		records[i] = heldRecordOf(&held[i])
	}
	return answer{object: heldObject{environment, len(records), len(records), records}, records: records,
		text: func(w *bytes.Buffer, _ style) {
			for i := range held {
				if i > 0 {
					w.WriteByte('\n')
				}
				describeHeld(w, &held[i], &records[i])
			}
		}}
}

func describeHeld(w *bytes.Buffer, h *inbox.Held, r *heldRecord) {
	line := func(name, value string) { fmt.Fprintf(w, "%-11s %s\n", name, orAbsent(visible(value))) }
	line("sha256", h.SHA256)
	line("blob", h.Name)
	if h.Name != "" {
		line("size", plural(int(h.Size), "byte", "bytes"))
	}
	line("came", h.Day.Format(time.DateOnly))
	line("refused", stamp(h.Why.When))
	line("origin", h.Why.Origin)
	line("stage", h.Why.Stage)
	line("attempts", count(h.Why.Attempts))
	for i, p := range r.Parameters {
		name := "parameters"
		if i > 0 {
			name = ""
		}
		line(name, p)
	}
	for i, text := range strings.Split(h.Why.Text, "\n") {
		name := "reason"
		if i > 0 {
			name = ""
		}
		line(name, text)
	}
}
