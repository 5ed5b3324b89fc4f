package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/answers"
	"isochrone/sweep/config"
)

// maxNext bounds how many slots one question may ask for.
const maxNext = 1440

func newPlan(s *session) *cobra.Command {
	var at, format string
	var next int
	cmd := &cobra.Command{
		Use:   "plan [FILE]",
		Short: "Say what a configuration would run, for how long, and how many bytes",
		Long: `plan reads a configuration (sweep.yaml unless FILE is given; "-" is standard input) and says
what would run at the next slots at which anything is due, if every prober were up: by probe
the runs (one for each ordered pair and path), the assignments that they travel in, their
samples without warm-up, how long a run takes at most, and the bytes that are sent and got back,
warm-up included, in both directions together: of tcp the payload above TCP, the session's
handshake included; of udp and icmp whole IPv4 packets; of connect none, for a handshake carries
no payload; of bulk kinds the most that they may send (max_bytes). Of http nobody can say, for the
server decides what it answers: absent.

For bulk probes it also says in how many rounds the runs are made, no prober in two runs of a round,
and how long all of them take with the gaps that latency runs need; and for each slot what its bulk
runs may send of the budgets of a sweep and a month. What other slots of the month before --at sent
it cannot know; the slots that it looks at are added up.

It needs no storage. The exit code is 1 when the file has faults, and when --environment is
given and the file is for another one.`,
		Example: `  sweep plan
  sweep plan --at 2026-12-24T18:00:00Z --next 6
  sweep plan config/prod.yaml --format csv`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeYAML,
		RunE: func(_ *cobra.Command, args []string) error {
			from := s.env.now()
			if at != "" {
				var err error
				if from, err = parseTime(at); err != nil {
					return usage("", "--at: %w", err)
				}
			}
			if next < 1 || next > maxNext {
				return usage("", "--next %d: want 1 to %d", next, maxNext)
			}
			name, _, c, err := s.readConfig(args)
			if err != nil {
				return err
			}
			if err := s.checkEnvironment(name, c); err != nil {
				return err
			}
			forecasts, err := answers.Estimate(c, from, next)
			if err != nil {
				return bad("", "%w", err)
			}
			return s.print(format, planAnswer(c, from, forecasts))
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "look from this time on, such as 2026-11-30T10:20:00Z (default now)")
	cmd.Flags().IntVar(&next, "next", 1, "how many slots to look at")
	noFiles(cmd, "at", "next")
	formatFlag(cmd, &format)
	return cmd
}

type planObject struct {
	Environment string    `json:"environment"`
	From        time.Time `json:"from"`
	Slots       int       `json:"slots"`
	Runs        int       `json:"runs"`
	Payload     *int64    `json:"payload_bytes"` // nil when one of the probes' is
	// The budgets are nil in a configuration without bulk probes.
	BudgetSweep *int64       `json:"budget_sweep_bytes"`
	BudgetMonth *int64       `json:"budget_month_bytes"`
	Probes      []planRecord `json:"probes"`
	Bulk        []planBulk   `json:"bulk"`
}

// planBulk is the bulk runs of one slot.
type planBulk struct {
	Slot       time.Time `json:"slot"`
	Rounds     int       `json:"rounds"`
	Begin      time.Time `json:"begin"`
	End        time.Time `json:"end"`
	Bytes      int64     `json:"bytes"`
	MonthBytes int64     `json:"month_bytes"` // with the slots of the month before it, in this answer
	OverBudget int       `json:"over_budget_runs"`
}

type planRecord struct {
	Slot        time.Time `json:"slot"`
	Probe       string    `json:"probe"`
	Kind        string    `json:"kind"`
	Runs        int       `json:"runs"`
	Assignments int       `json:"assignments"`
	Samples     int       `json:"samples"`
	Duration    float64   `json:"duration_s"`
	Payload     *int64    `json:"payload_bytes"`
	// Of bulk probes; nil for others.
	Rounds *int     `json:"rounds"`
	Whole  *float64 `json:"whole_s"`
}

func planAnswer(c *config.Config, from time.Time, forecasts []answers.Forecast) answer {
	var payload int64
	object := planObject{Environment: c.Environment, From: from.UTC(), Slots: len(forecasts), Payload: &payload, Probes: []planRecord{}, Bulk: []planBulk{}}
	if b := c.Budget; b.Sweep > 0 {
		object.BudgetSweep, object.BudgetMonth = &b.Sweep, &b.Month
	}
	for _, f := range forecasts {
		for _, p := range f.Probes {
			object.Runs += p.Runs
			if p.PayloadBytes != nil {
				payload += *p.PayloadBytes
			} else {
				object.Payload = nil
			}
			record := planRecord{
				Slot: f.Slot.UTC(), Probe: p.Probe, Kind: string(p.Kind), Runs: p.Runs, Assignments: p.Assignments,
				Samples: p.Samples, Duration: p.Duration.Seconds(), Payload: p.PayloadBytes,
			}
			if p.Rounds > 0 {
				whole := p.Whole.Seconds()
				record.Rounds, record.Whole = &p.Rounds, &whole
			}
			object.Probes = append(object.Probes, record)
		}
		if b := f.Bulk; b != nil {
			object.Bulk = append(object.Bulk, planBulk{Slot: f.Slot.UTC(), Rounds: b.Rounds, Begin: b.Begin, End: b.End, Bytes: b.Bytes,
				MonthBytes: b.MonthBytes, OverBudget: b.OverBudget})
		}
	}
	return answer{object: object, records: object.Probes, text: object.text}
}

func (o planObject) text(w *bytes.Buffer, st style) {
	if o.Slots == 0 {
		fmt.Fprintf(w, "Nothing is due in the eight years from %s on.\n", stamp(o.From))
		return
	}
	t := table{columns: []column{left("slot (UTC)"), left("probe"), left("kind"), number("runs"), number("assignments"),
		number("samples"), number("longest run s"), number("payload bytes")}}
	if len(o.Bulk) > 0 {
		t.columns = append(t.columns, number("rounds"), number("all rounds s"))
	}
	for _, p := range o.Probes {
		cells := []string{stamp(p.Slot), p.Probe, p.Kind, count(p.Runs), count(p.Assignments), count(p.Samples),
			decimal(&p.Duration, 1, 2), optionalBytes(p.Payload)}
		if len(o.Bulk) > 0 {
			rounds := absent
			if p.Rounds != nil {
				rounds = count(*p.Rounds)
			}
			cells = append(cells, rounds, decimal(p.Whole, 1, 2))
		}
		t.add(cells...)
	}
	t.render(w, st)
	o.bulkText(w)
	fmt.Fprintf(w, "\n%s of environment %s from %s on: %s, %s\n", plural(o.Slots, "slot", "slots"),
		o.Environment, stamp(o.From), plural(o.Runs, "run", "runs"), describePayload(o.Payload != nil, optionalBytes(o.Payload)))
}

// bulkText says of each slot what its bulk runs take of time and budget.
func (o planObject) bulkText(w *bytes.Buffer) {
	for i, b := range o.Bulk {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s bulk runs: %s from %s to %s, %s; up to %s of the %s of a sweep, %s of the %s of a month\n", stamp(b.Slot),
			plural(b.Rounds, "round", "rounds"), b.Begin.Format(time.TimeOnly), b.End.Format(time.TimeOnly), b.End.Sub(b.Begin).Round(time.Second),
			config.FormatBytes(b.Bytes), config.FormatBytes(*o.BudgetSweep), config.FormatBytes(b.MonthBytes), config.FormatBytes(*o.BudgetMonth))
		if b.OverBudget > 0 {
			fmt.Fprintf(w, "%s the month's budget is used up: %s not made\n", stamp(b.Slot), plural(b.OverBudget, "bulk run is", "bulk runs are"))
		}
	}
}

func optionalBytes(n *int64) string {
	if n == nil {
		return absent
	}
	return count(*n)
}

// describePayload says how many bytes are sent, where that is known.
func describePayload(known bool, bytes string) string {
	if !known {
		return "an unknown payload (http: the server decides what it answers)"
	}
	return bytes + " payload bytes"
}
