package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"isochrone/sweep/config"
	"isochrone/sweep/reply"
)

// recoveryView turns a recovery into the formats.
type recoveryView struct{ *reply.Recovery }

// recoveryRecord is a line of csv: an hour at which a seed can begin, with what holds for all of them.
type recoveryRecord struct {
	Environment      string    `json:"environment"`
	Source           string    `json:"source"`
	Target           string    `json:"target"`
	Path             string    `json:"path"`
	Simulated        bool      `json:"simulated"`
	Since            time.Time `json:"since"`
	Until            time.Time `json:"until"`
	ChangeBPS        float64   `json:"change_rate_bps"`
	SizeBytes        float64   `json:"size_bytes"`
	WindowS          float64   `json:"window_s"`
	OutageS          float64   `json:"outage_s"`
	ThroughputHours  int       `json:"throughput_hours"`
	P5BPS            *float64  `json:"throughput_p5_bps"`
	P50BPS           *float64  `json:"throughput_p50_bps"`
	Sustained        *bool     `json:"sustained"`
	RPOS             *float64  `json:"rpo_s"`
	CommitN          int       `json:"commit_n"`
	CommitP50US      *float64  `json:"commit_p50_us"`
	CommitP99US      *float64  `json:"commit_p99_us"`
	CatchUpS         *float64  `json:"catch_up_s"`
	WindowLimitedBPS *float64  `json:"window_limited_bps"`
	StartHour        int       `json:"seed_start_hour"`
	HourN            int       `json:"seed_hour_n"`
	SeedS            *float64  `json:"seed_s"`
	Fits             *bool     `json:"seed_fits"`
}

func (v recoveryView) answer() answer {
	records := []recoveryRecord{}
	for _, s := range v.Seed {
		records = append(records, recoveryRecord{v.Environment, v.Source, v.Target, v.Path, v.Simulated, v.Since, v.Until, v.ChangeBPS, v.SizeBytes, v.WindowS, v.OutageS,
			v.Throughput.N, v.Throughput.P5BPS, v.Throughput.P50BPS, v.Sustained, v.RPOS, v.Commit.N, v.Commit.P50US, v.Commit.P99US, v.CatchUpS, v.WindowLimitedBPS,
			s.StartHour, s.N, s.Seconds, s.Fits})
	}
	return answer{object: v.Recovery, records: records, text: v.text, drawing: v.draw}
}

// verdict is the exit code: whether a copy keeps up.
func (v recoveryView) verdict() error {
	switch {
	case v.Sustained == nil:
		return bad("see the findings, and sweep coverage for what was measured", "it cannot be told whether the line sustains %s", rateText(v.ChangeBPS))
	case !*v.Sustained:
		return bad("lower the change rate, or give the line more", "the line does not sustain %s: its 5 %% quantile is %s", rateText(v.ChangeBPS), rateText(*v.Throughput.P5BPS))
	}
	return nil
}

func (v recoveryView) text(w *bytes.Buffer, st style) {
	made := ""
	if v.Simulated {
		made = ", simulated"
	}
	fmt.Fprintf(w, "a copy from %s to %s over path %s, environment %s, %s to %s%s\n", v.Source, v.Target, v.Path, v.Environment, stamp(v.Since), stamp(v.Until), made)
	fmt.Fprintf(w, "changes at %s; a seed of %s within %s; an outage of %s\n\n", rateText(v.ChangeBPS), config.FormatBytes(int64(v.SizeBytes)), spanText(v.WindowS), spanText(v.OutageS))
	v.figures().render(w, st)
	w.WriteString("\na seed, by the hour at which it begins (UTC)\n")
	t := &table{columns: []column{number("hour"), number("measured hours"), number("takes h"), left("within " + spanText(v.WindowS))}}
	for _, s := range v.Seed {
		fits := cell{text: absent, tone: subdued}
		if s.Fits != nil && *s.Fits {
			fits = cell{text: "yes"}
		} else if s.Fits != nil {
			fits = cell{text: "no", tone: alarm}
		}
		t.rows = append(t.rows, []cell{{text: fmt.Sprintf("%02d", s.StartHour)}, {text: count(s.N)}, {text: decimal(s.Seconds, 1.0/3600, 2)}, fits})
	}
	t.render(w, st)
	for _, f := range v.Findings {
		fmt.Fprintf(w, "\nnote: %s\n", f.Text)
	}
	probe := "no probe"
	if v.ThroughputProbe != nil {
		probe = "probe " + *v.ThroughputProbe
	}
	fmt.Fprintf(w, "\nn = %s with throughput (%s), %s of probe %s; from, to: intervals at 95 %%\n", plural(v.Throughput.N, "hour", "hours"), probe,
		plural(v.Commit.N, "round trip", "round trips"), v.Probe)
}

// figures are one a line, because each has its own unit.
func (v recoveryView) figures() *table {
	t := &table{columns: []column{left("figure"), left("unit"), number("value"), number("from"), number("to")}}
	line := func(name, unit string, factor float64, digits int, value, low, high *float64) {
		t.add(name, unit, decimal(value, factor, digits), decimal(low, factor, digits), decimal(high, factor, digits))
	}
	tp, c := &v.Throughput, &v.Commit
	line("throughput, 5 % quantile", "Mbit/s", 1e-6, 1, tp.P5BPS, tp.P5LowBPS, tp.P5HighBPS)
	line("throughput, median", "Mbit/s", 1e-6, 1, tp.P50BPS, tp.P50LowBPS, tp.P50HighBPS)
	sustained := absent
	if v.Sustained != nil {
		sustained = map[bool]string{true: "yes", false: "no"}[*v.Sustained]
	}
	t.add("changes sustained", "", sustained, "", "")
	line("RPO", "s", 1, 3, v.RPOS, nil, nil)
	line("synchronous commit, median", "ms", 1e-3, 3, c.P50US, c.P50LowUS, c.P50HighUS)
	line("synchronous commit, p99", "ms", 1e-3, 3, c.P99US, c.P99LowUS, c.P99HighUS)
	line("catch-up after the outage", "s", 1, 1, v.CatchUpS, v.CatchUpLowS, v.CatchUpHighS)
	line("ceiling of one connection", "Mbit/s", 1e-6, 1, v.WindowLimitedBPS, nil, nil)
	return t
}

func rateText(bps float64) string { return decimal(&bps, 1e-6, 1) + " Mbit/s" }

// spanText is a duration as a person writes it.
func spanText(s float64) string {
	text := time.Duration(s * float64(time.Second)).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if cut, ok := strings.CutSuffix(text, zero); ok {
			text = cut + zero[:1]
		}
	}
	return text
}
