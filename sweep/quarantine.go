package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/inbox"
)

func newQuarantine(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quarantine",
		Short: "Show what was refused, and try it again",
		Long: `quarantine holds what came and could not be stored: each body whole, and why it was refused. Nothing of
it has rows. When what was wrong has been put right (a program that was updated, a parameter that was
missing) "sweep quarantine retry" takes a body through the same way again.`,
		Example: `  sweep quarantine list --since 7d
  sweep quarantine show 3f2a9c01
  sweep quarantine retry --all --stage convert/read --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage("see: sweep quarantine --help", "quarantine needs a command: list, show or retry")
		},
	}
	cmd.AddCommand(newQuarantineList(s), newQuarantineShow(s), newQuarantineRetry(s))
	return cmd
}

func newQuarantineList(s *session) *cobra.Command {
	var q heldQuery
	var since, until, format string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what lies in quarantine, newest first",
		Long: `list shows what lies in quarantine: when it was refused, the beginning of the body's SHA-256, its size,
the stage at which it was refused, where it came from, and why. The newest comes first, by the day on
which it came and then by when it was refused.`,
		Example: `  sweep quarantine list
  sweep quarantine list --since 7d --stage plan
  sweep quarantine list --limit 0 --format csv > quarantine.csv`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			now := s.env.now().UTC()
			if since != "" {
				if q.since, err = parseSince(since, now); err != nil {
					return usage("", "--since %w", err)
				}
			}
			if until != "" {
				if q.until, err = parseTime(until); err != nil {
					return usage("", "--until %w", err)
				}
			}
			if q.limit < 0 {
				return usage("", "--limit %d: want 0 or more", q.limit)
			}
			st, err := s.open()
			if err != nil {
				return err
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			held, err := s.held(ctx, st, q, "")
			if err != nil {
				return err
			}
			return s.print(format, heldView{st.environment, q, held}.answer())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "", "only what was refused since then: a duration such as 24h or 7d, or a time")
	flags.StringVar(&until, "until", "", "only what was refused before this time")
	flags.StringVar(&q.stage, "stage", "", "only what was refused at this stage, such as plan, too_late, convert/read or foreign")
	flags.IntVar(&q.limit, "limit", 50, "the most to show; 0 shows all")
	noFiles(cmd, "since", "until", "limit")
	completeFlag(cmd, "stage", stages)
	formatFlag(cmd, &format)
	return cmd
}

// stages are those of ingest's refusals, for completion: a word that is not among them finds nothing.
func stages() []string {
	return []string{"size", "attempts", "panic", "name", "convert/recognise", "convert/unpack", "convert/read", "convert/check", "convert/results",
		"too_late", "too_early", "plan", "conflict", "foreign", "store"}
}

// heldQuery says what of the quarantine to show. Empty fields stand for all.
type heldQuery struct {
	since, until time.Time
	stage        string
	limit        int
}

// waitedMost is how long before its refusal a body may have come: its folder has the day on which it came.
// Documents wait in the inbox for minutes, after an outage for days.
const waitedMost = 31 * 24 * time.Hour

func (q heldQuery) fits(h inbox.Held) bool {
	switch {
	case q.stage != "" && h.Why.Stage != q.stage:
		return false
	case !q.since.IsZero() && h.Why.When.Before(q.since):
		return false
	}
	return q.until.IsZero() || h.Why.When.Before(q.until)
}

// held reads what of the quarantine fits, with a prefix of the body's hash if one is given.
func (s *session) held(ctx context.Context, st *stores, q heldQuery, prefix string) (out []inbox.Held, err error) {
	if err := s.reach(ctx, st, blobs); err != nil {
		return nil, err
	}
	from := q.since
	if !from.IsZero() {
		from = from.Add(-waitedMost)
	}
	for h, err := range st.archive.Quarantined(ctx, from, prefix) {
		if err != nil {
			return nil, unreachable(err)
		}
		if q.fits(h) {
			out = append(out, h)
		}
	}
	return out, nil
}

// bySHA finds what lies in quarantine under the beginning of a hash: one body, perhaps of several days.
func (s *session) bySHA(ctx context.Context, st *stores, prefix string) ([]inbox.Held, error) {
	prefix = strings.ToLower(prefix)
	if len(prefix) < 4 || len(prefix) > 64 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, usage("see: sweep quarantine list", "%q: want the body's SHA-256 in hexadecimal, or the first digits of it, four at least", visible(prefix))
	}
	held, err := s.held(ctx, st, heldQuery{}, prefix)
	if err != nil {
		return nil, err
	}
	if len(held) == 0 {
		return nil, bad("see: sweep quarantine list", "nothing in quarantine begins with %q", prefix)
	}
	for _, h := range held {
		if h.SHA256 != held[0].SHA256 {
			return nil, bad("give more digits", "several bodies begin with %q: %s and %s", prefix, held[0].SHA256, h.SHA256)
		}
	}
	return held, nil
}

// heldRecord is what lies in quarantine as json and csv hold it.
type heldRecord struct {
	Refused    *time.Time `json:"refused_at"`
	Came       string     `json:"came_on"`
	SHA256     string     `json:"sha256"`
	Size       *int64     `json:"size_bytes"` // null: only the reason is left
	Stage      *string    `json:"stage"`
	Origin     *string    `json:"origin"`
	Attempts   int        `json:"attempts"`
	Parameters []string   `json:"parameters"`
	Reason     string     `json:"reason"`
	Blob       *string    `json:"blob"`
}

func heldRecordOf(h *inbox.Held) heldRecord {
	r := heldRecord{Refused: utc(h.Why.When), Came: h.Day.Format(time.DateOnly), SHA256: h.SHA256, Stage: optional(h.Why.Stage), Origin: optional(h.Why.Origin),
		Attempts: h.Why.Attempts, Parameters: []string{}, Reason: h.Why.Text, Blob: optional(h.Name)}
	if h.Name != "" {
		r.Size = &h.Size
	}
	for _, name := range slices.Sorted(maps.Keys(h.Why.Parameters)) {
		r.Parameters = append(r.Parameters, name+"="+h.Why.Parameters[name])
	}
	return r
}

// shortSHA is enough of a hash to tell bodies apart.
const shortSHA = 12

type heldObject struct {
	Environment string       `json:"environment"`
	N           int          `json:"n"`
	Total       int          `json:"total"`
	Quarantined []heldRecord `json:"quarantined"`
}

// heldView turns a list into the three formats.
type heldView struct {
	environment string
	query       heldQuery
	held        []inbox.Held
}

func (v heldView) answer() answer {
	shown := v.held
	if v.query.limit > 0 && len(shown) > v.query.limit {
		shown = shown[:v.query.limit]
	}
	records := []heldRecord{}
	for i := range shown {
		records = append(records, heldRecordOf(&shown[i]))
	}
	return answer{object: heldObject{v.environment, len(records), len(v.held), records}, records: records,
		text: func(w *bytes.Buffer, st style) { v.text(w, st, shown) }}
}

func (v heldView) text(w *bytes.Buffer, st style, shown []inbox.Held) {
	fmt.Fprintf(w, "quarantine of environment %s\n", v.environment)
	if len(shown) > 0 {
		t := &table{columns: []column{left("refused"), left("sha256"), number("bytes"), left("stage"), left("origin"), left("reason")}}
		for i := range shown {
			h := &shown[i]
			size := absent
			if h.Name != "" {
				size = count(h.Size)
			}
			t.add(stamp(h.Why.When), h.SHA256[:shortSHA], size, orAbsent(h.Why.Stage), orAbsent(h.Why.Origin), h.Why.Text)
		}
		t.render(w, st)
	}
	fmt.Fprintf(w, "\nn = %s of %s; times are UTC, %s is absent\n", count(len(shown)), plural(len(v.held), "body", "bodies"), absent)
	if len(shown) < len(v.held) {
		fmt.Fprintf(w, "older ones are left out: raise --limit\n")
	}
}

// errNoBody says that only the reason is left of what lay in quarantine.
var errNoBody = errors.New("only its reason is left")
