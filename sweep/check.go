package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"isochrone/sweep/answers"
	"isochrone/sweep/config"
)

func newCheck(s *session) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a configuration, and say how much it would measure",
		Long: `check reads a configuration (sweep.yaml unless FILE is given; "-" is standard input) and
reports everything that is wrong with it, a line each. If nothing is, it says what the
configuration makes on an average day of the next 28: payload is what the probes send and get
back, in both directions together, as "sweep plan" counts it.

It needs no storage. The exit code is 1 when there are faults, and when --environment is given
and the file is for another one.`,
		Example: `  sweep check
  sweep check config/prod.yaml --format json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeYAML,
		RunE: func(_ *cobra.Command, args []string) error {
			name, body, c, err := s.readConfig(args)
			if err != nil {
				return err
			}
			if err := s.checkEnvironment(name, c); err != nil {
				return err
			}
			return s.print(format, checkAnswer(name, body, c, answers.EstimateDay(c, s.env.now())))
		},
	}
	formatFlag(cmd, &format)
	return cmd
}

// faults prints what is wrong with a configuration, and is the error that says how much.
func (s *session) faults(name string, err error) error {
	var faults config.Faults
	if !errors.As(err, &faults) {
		return bad("", "checking %q: %w", name, err)
	}
	for _, f := range faults {
		where := name
		if f.Line > 0 {
			where = fmt.Sprintf("%s:%d", name, f.Line)
		}
		_, _ = fmt.Fprintf(s.stderr, "%s: %s\n", visible(where), cut(visible(f.Text), 500))
	}
	return bad("", "%s in %q", plural(len(faults), "fault", "faults"), name)
}

type checkObject struct {
	File        string        `json:"file"`
	Environment string        `json:"environment"`
	SHA256      string        `json:"sha256"`
	Probers     int           `json:"probers"`
	Endpoints   int           `json:"endpoints"`
	Pairs       int           `json:"pairs"`
	Series      int           `json:"series"`
	Runs        float64       `json:"runs_per_day"`
	Samples     float64       `json:"samples_per_day"`
	Payload     *float64      `json:"payload_bytes_per_day"` // nil when one of the probes' is
	Probes      []checkRecord `json:"probes"`
}

type checkRecord struct {
	Probe    string   `json:"probe"`
	Kind     string   `json:"kind"`
	Schedule string   `json:"schedule"`
	Series   int      `json:"series"`
	Slots    float64  `json:"slots_per_day"`
	Runs     float64  `json:"runs_per_day"`
	Samples  float64  `json:"samples_per_day"`
	Payload  *float64 `json:"payload_bytes_per_day"`
}

func checkAnswer(name string, body []byte, c *config.Config, day answers.Day) answer {
	object := checkObject{
		File: name, Environment: c.Environment, SHA256: answers.Hash(body),
		Probers: day.Probers, Endpoints: day.Endpoints, Pairs: day.Pairs, Series: day.Series,
		Runs: day.Runs, Samples: day.Samples, Payload: day.PayloadBytes,
	}
	for _, p := range day.Probes {
		object.Probes = append(object.Probes, checkRecord{
			Probe: p.Probe, Kind: string(p.Kind), Schedule: p.Schedule, Series: p.Series,
			Slots: p.Slots, Runs: p.Runs, Samples: p.Samples, Payload: p.PayloadBytes,
		})
	}
	return answer{object: object, records: object.Probes, text: object.text}
}

func (o checkObject) text(w *bytes.Buffer, st style) {
	fmt.Fprintf(w, "%s has no faults. It is for environment %s; its SHA-256 is\n%s\n\n", visible(o.File), o.Environment, o.SHA256)
	t := table{columns: []column{left("probe"), left("kind"), left("schedule"), number("series"),
		number("slots/day"), number("runs/day"), number("samples/day"), number("payload bytes/day")}}
	for _, p := range o.Probes {
		t.add(p.Probe, p.Kind, p.Schedule, count(p.Series), average(p.Slots), average(p.Runs), average(p.Samples), optionalAverage(p.Payload))
	}
	t.render(w, st)
	ends := plural(o.Probers, "prober", "probers")
	if o.Endpoints > 0 {
		ends += ", " + plural(o.Endpoints, "endpoint", "endpoints")
	}
	fmt.Fprintf(w, "\n%s, %s, %s: %s runs, %s samples and %s a day\n",
		ends, plural(o.Pairs, "ordered pair", "ordered pairs"), count(o.Series)+" series",
		average(o.Runs), average(o.Samples), describePayload(o.Payload != nil, optionalAverage(o.Payload)))
}

func optionalAverage(v *float64) string {
	if v == nil {
		return absent
	}
	return average(*v)
}
