package main

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/doctor"
)

func newDoctor(s *session) *cobra.Command {
	var format string
	var all bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that an environment needs, and say what to do about what is wrong",
		Long: `doctor looks at the access to the storage and its roles, the clocks, the configuration, the
probers' heartbeats, the address at which each is measured on each path, the schedule and the age
of the last sweep, at what waits: documents in the inbox, hours to be computed, what was
refused, and at the alerts that are open. It changes nothing.

Each finding is ok, a warning, a fault (the environment does not measure as it should, or will
lose something), or unknown (it could not be looked at), and says what to do. Names of addresses
are resolved from here, which need not be what the app sees.

The exit code is 1 when there is a fault, or something is unknown.`,
		Example: `  sweep doctor
  sweep doctor --all
  sweep doctor --format json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := s.open()
			if err != nil {
				return err
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			if err := s.reach(ctx, st, blobs, rows); err != nil {
				return err
			}
			d := doctor.Doctor{Environment: st.environment, Blobs: st.archive, Rows: st.tables, Resolver: net.DefaultResolver, Now: s.env.now}
			o := doctorAnswer(st.environment, s.env.now().UTC(), d.Examine(ctx))
			o.all = all
			if err := s.print(format, answer{object: o, records: o.Findings, text: o.text}); err != nil {
				return err
			}
			if n := o.Faults + o.Unknown; n > 0 {
				return bad("", "%s, %d unknown", plural(o.Faults, "fault", "faults"), o.Unknown)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "in the table also what is in order")
	formatFlag(cmd, &format)
	return cmd
}

type doctorObject struct {
	Environment string          `json:"environment"`
	Asked       time.Time       `json:"asked_at"`
	N           int             `json:"n"`
	Faults      int             `json:"faults"`
	Warnings    int             `json:"warnings"`
	Unknown     int             `json:"unknown"`
	Findings    []findingRecord `json:"findings"`

	all bool
}

type findingRecord struct {
	Check   string  `json:"check"`
	Subject *string `json:"subject"`
	State   string  `json:"state"`
	Text    string  `json:"finding"`
	Remedy  *string `json:"remedy"`
}

func doctorAnswer(environment string, now time.Time, findings []doctor.Finding) doctorObject {
	o := doctorObject{Environment: environment, Asked: now, N: len(findings), Findings: []findingRecord{}}
	for _, f := range findings {
		o.Findings = append(o.Findings, findingRecord{f.Check, optional(f.Subject), string(f.State), findingText(f), optional(f.Remedy)})
		switch f.State {
		case doctor.Fault:
			o.Faults++
		case doctor.Warning:
			o.Warnings++
		case doctor.Unknown:
			o.Unknown++
		}
	}
	return o
}

func findingText(f doctor.Finding) string {
	if f.Err == nil {
		return f.Text
	}
	return f.Text + ": " + cut(describe(f.Err), 500)
}

func (o doctorObject) text(w *bytes.Buffer, st style) {
	t := table{columns: []column{left("check"), left("of"), left("state"), left("finding")}}
	todo := remedies{}
	for _, f := range o.Findings {
		if f.State == string(doctor.OK) && !o.all {
			continue
		}
		state := cell{text: f.State}
		if f.State != string(doctor.OK) {
			state.tone = alarm
			todo.add(f)
		}
		t.rows = append(t.rows, []cell{{text: f.Check}, {text: orEmpty(f.Subject)}, state, {text: visible(f.Text)}})
	}
	fmt.Fprintf(w, "environment %s at %s\n", o.Environment, stamp(o.Asked))
	if len(t.rows) > 0 {
		w.WriteString("\n")
		t.render(w, st)
	}
	if len(todo.order) > 0 {
		w.WriteString("\nwhat to do\n")
	}
	for _, remedy := range todo.order {
		fmt.Fprintf(w, "  %s: %s\n", visible(strings.Join(todo.of[remedy], ", ")), remedy)
	}
	fmt.Fprintf(w, "\nn = %s: %s, %s, %d unknown\n", plural(o.N, "finding", "findings"), plural(o.Faults, "fault", "faults"), plural(o.Warnings, "warning", "warnings"), o.Unknown)
}

// remedies are what there is to do, each once, and for what.
type remedies struct {
	order []string
	of    map[string][]string
}

func (r *remedies) add(f findingRecord) {
	if f.Remedy == nil {
		return
	}
	if r.of == nil {
		r.of = map[string][]string{}
	}
	of := orEmpty(f.Subject)
	if of == "" {
		of = f.Check
	}
	if r.of[*f.Remedy] == nil {
		r.order = append(r.order, *f.Remedy)
	}
	r.of[*f.Remedy] = append(r.of[*f.Remedy], of)
}
