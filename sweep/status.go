package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/answers"
)

// maxLast bounds how many sweeps one question may ask for.
const maxLast = 1000

func newStatus(s *session) *cobra.Command {
	var last int
	var probers bool
	var format string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say how the last sweeps went: planned, received, missing and why",
		Long: `status shows the last sweeps, newest first. Planned is how many runs the configuration that
the sweep was pinned to makes at its slot; received, how many came back in documents, failed
ones too; missing, the rest, with the reasons by source below. A slot at which the app was not
running is "missed". Where a source whose document is not there is silent, the reason says so.

What is missing of the last six hours follows, by prober and with the reason of most of it; documents
that may come yet are left out. "sweep coverage" says it by hour, and what became of received runs.

The probers follow: the age of the last heartbeat that each has stored, and its state against the
configuration. fresh: a sweep measures it. silent: three heartbeats are missing, and a sweep
holds it down. "never registered", "not configured": only one of the two knows it. --probers shows
them alone; in csv, which has one table, that is how to get them.

States of a sweep: planned, dispatched (the probers know of it), complete (nothing more is
awaited), missed. States of missing runs: planned, dispatched (the document is awaited),
expired (it did not come in time; a late one is still taken). Runs that are missing do not
change the exit code.`,
		Example: `  sweep status
  sweep status --last 20 --format csv
  sweep status --probers --format csv`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 1 || last > maxLast {
				return usage("", "--last %d: want 1 to %d", last, maxLast)
			}
			st, err := s.open()
			if err != nil {
				return err
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			now := s.env.now().UTC()
			if err := s.reach(ctx, st, blobs, rows); err != nil {
				return err
			}
			if probers {
				last = 0 // their answer has no sweeps
			}
			status, err := answers.ReadStatus(ctx, st.tables, st.archive, st.environment, last, now)
			if err != nil {
				return unreachable(err)
			}
			view := statusView{environment: st.environment, now: now, status: status, probersOnly: probers}
			if len(status.Sweeps) > 0 {
				view.since = now.Add(-shortfallHours).Truncate(time.Minute)
				if view.shortfalls, err = answers.ReadShortfalls(ctx, st.tables, st.archive, st.environment, status.Probers, view.since, now); err != nil {
					return unreachable(err)
				}
			}
			return s.print(format, view.answer())
		},
	}
	cmd.Flags().IntVar(&last, "last", 5, "how many sweeps")
	cmd.Flags().BoolVar(&probers, "probers", false, "only the probers")
	noFiles(cmd, "last")
	formatFlag(cmd, &format)
	return cmd
}

// statusView turns a status into the three formats.
type statusView struct {
	environment string
	now         time.Time
	status      *answers.Status
	probersOnly bool // --probers
	since       time.Time
	shortfalls  []answers.Shortfall // since then
}

type statusObject struct {
	Environment string        `json:"environment"`
	Asked       time.Time     `json:"asked_at"`
	Newest      *time.Time    `json:"newest_slot"`
	N           int           `json:"n"`
	Simulated   bool          `json:"simulated"` // a model made up one of the sweeps
	Sweeps      []sweepObject `json:"sweeps"`
	// ShortfallSince is null before the first sweep.
	ShortfallSince *time.Time        `json:"shortfall_since"`
	Shortfalls     []shortfallObject `json:"shortfalls"`
	Probers        []proberObject    `json:"probers"`
}

type probersObject struct {
	Environment string         `json:"environment"`
	Asked       time.Time      `json:"asked_at"`
	N           int            `json:"n"`
	Probers     []proberObject `json:"probers"`
}

type sweepObject struct {
	Slot       time.Time   `json:"slot"`
	State      string      `json:"state"`
	ConfigHash *string     `json:"config_sha256"`
	Planned    *int        `json:"planned_runs"`
	Received   *int        `json:"received_runs"`
	Missing    *int        `json:"missing_runs"`
	Reason     *string     `json:"reason"`
	Simulated  bool        `json:"simulated"`
	Gaps       []gapObject `json:"gaps"`
}

type gapObject struct {
	Source string   `json:"source"`
	State  *string  `json:"state"`
	Runs   int      `json:"runs"`
	Probes []string `json:"probes"`
	Reason string   `json:"reason"`
}

// statusRecord is a line of csv: a sweep with one of its gaps, or a sweep alone.
type statusRecord struct {
	Slot       time.Time `json:"slot"`
	State      string    `json:"state"`
	ConfigHash *string   `json:"config_sha256"`
	Planned    *int      `json:"planned_runs"`
	Received   *int      `json:"received_runs"`
	Missing    *int      `json:"missing_runs"`
	Reason     *string   `json:"reason"`
	Simulated  bool      `json:"simulated"`
	GapSource  *string   `json:"gap_source"`
	GapState   *string   `json:"gap_state"`
	GapRuns    *int      `json:"gap_runs"`
	GapProbes  []string  `json:"gap_probes"`
	GapReason  *string   `json:"gap_reason"`
}

func (v statusView) answer() answer {
	probers := proberObjects(v.status.Probers)
	if v.probersOnly {
		only := probersObject{v.environment, v.now, len(probers), probers}
		return answer{object: only, records: probers, text: only.text}
	}
	object := statusObject{Environment: v.environment, Asked: v.now, N: len(v.status.Sweeps), Sweeps: []sweepObject{}, Probers: probers,
		ShortfallSince: utc(v.since), Shortfalls: shortfallObjects(v.shortfalls)}
	records := []statusRecord{}
	for _, sw := range v.status.Sweeps {
		if object.Newest == nil {
			object.Newest = utc(sw.Slot)
		}
		o := sweepObject{Slot: sw.Slot.UTC(), State: string(sw.State), ConfigHash: optional(sw.ConfigHash),
			Reason: optional(joinNotEmpty(sw.Reason, sw.Note)), Simulated: sw.Simulated, Gaps: []gapObject{}}
		if sw.Runs != nil {
			o.Planned, o.Received, o.Missing = &sw.Runs.Planned, &sw.Runs.Received, &sw.Runs.Missing
		}
		line := statusRecord{Slot: o.Slot, State: o.State, ConfigHash: o.ConfigHash, Planned: o.Planned, Received: o.Received,
			Missing: o.Missing, Reason: o.Reason, Simulated: o.Simulated}
		object.Simulated = object.Simulated || o.Simulated
		for _, g := range sw.Gaps {
			o.Gaps = append(o.Gaps, gapObject{g.Source, optional(string(g.State)), g.Runs, g.Probes, g.Reason})
			of := line
			of.GapSource, of.GapState, of.GapRuns, of.GapProbes, of.GapReason = &g.Source, optional(string(g.State)), &g.Runs, g.Probes, &g.Reason
			records = append(records, of)
		}
		if len(sw.Gaps) == 0 {
			records = append(records, line)
		}
		object.Sweeps = append(object.Sweeps, o)
	}
	return answer{object: object, records: records, text: func(w *bytes.Buffer, st style) { object.text(w, st) }, simulated: object.Simulated}
}

func joinNotEmpty(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "; ")
}

func (o statusObject) text(w *bytes.Buffer, st style) {
	if o.N == 0 {
		fmt.Fprintf(w, "environment %s has had no sweep in the last 62 days\n", o.Environment)
		if len(o.Probers) > 0 {
			proberTable(w, st, o.Probers)
		}
		w.WriteString("\nn = 0 sweeps\n")
		return
	}
	sweeps := table{columns: []column{left("slot (UTC)"), left("state"), number("planned runs"), number("received"), number("missing"), left("reason")}}
	gaps := table{columns: []column{left("slot (UTC)"), left("source"), number("missing runs"), left("state"), left("probes"), left("reason")}}
	for _, sw := range o.Sweeps {
		missing := cell{text: optionalCount(sw.Missing)}
		if sw.Missing != nil && *sw.Missing > 0 {
			missing.tone = alarm
		}
		sweeps.rows = append(sweeps.rows, []cell{{text: stamp(sw.Slot)}, {text: sw.State}, {text: optionalCount(sw.Planned)},
			{text: optionalCount(sw.Received)}, missing, {text: joinNotEmpty(orEmpty(sw.Reason), wordIf(sw.Simulated, "simulated"))}})
		for _, g := range sw.Gaps {
			state := absent
			if g.State != nil {
				state = *g.State
			}
			gaps.add(stamp(sw.Slot), g.Source, count(g.Runs), state, strings.Join(g.Probes, " "), g.Reason)
		}
	}
	fmt.Fprintf(w, "sweeps of environment %s, newest first\n", o.Environment)
	sweeps.render(w, st)
	if len(gaps.rows) > 0 {
		fmt.Fprintf(w, "\nmissing, by source and reason\n")
		gaps.render(w, st)
	}
	shortfallTable(w, st, o)
	if len(o.Probers) > 0 {
		proberTable(w, st, o.Probers)
	}
	fmt.Fprintf(w, "\nn = %s; newest slot %s, %s\n", plural(o.N, "sweep", "sweeps"), stamp(*o.Newest), ago(o.Asked.Sub(*o.Newest)))
}

func (o probersObject) text(w *bytes.Buffer, st style) {
	fmt.Fprintf(w, "environment %s\n", o.Environment)
	if o.N > 0 {
		proberTable(w, st, o.Probers)
	}
	fmt.Fprintf(w, "\nn = %s at %s\n", plural(o.N, "prober", "probers"), stamp(o.Asked))
}

func wordIf(is bool, word string) string {
	if is {
		return word
	}
	return ""
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
