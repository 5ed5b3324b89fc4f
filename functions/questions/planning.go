package questions

import (
	"context"
	"slices"
	"strconv"
	"time"

	"isochrone/sweep/answers"
	"isochrone/sweep/config"
	"isochrone/sweep/reply"
)

var (
	from       = parameter{name: "from", meaning: "prober whose data is to be copied", form: nameForm, required: true, example: "westeurope"}
	changeRate = parameter{name: "change_rate", meaning: "at which data changes at the source", form: rateForm, required: true, example: "20MB/s"}
	size       = parameter{name: "size", meaning: "what a seed or a backup copies", form: sizeForm, required: true, example: "2TB"}
	window     = parameter{name: "window", meaning: "time in which that must be done", form: durationForm, fallback: "4h", example: "4h"}
	outage     = parameter{name: "outage", meaning: "how long the line is away", form: durationForm, fallback: "30m", example: "30m"}
	tcpWindow  = parameter{name: "tcp_window", meaning: "what one connection may have under way; without it half of Linux's largest receive buffer", form: sizeForm, fallback: answers.DefaultTCPWindow, example: "16MiB"}

	minKM           = parameter{name: "min_km", meaning: "least distance", form: kilometreForm, example: "500"}
	p95Below        = parameter{name: "p95_below", meaning: "greatest 95 % quantile of the round trip at the busiest hour", form: durationForm, example: "30ms"}
	throughputAbove = parameter{name: "throughput_above", meaning: "least throughput to the place", form: rateForm, example: "1Gbps"}
	sameGeography   = parameter{name: "same_geography", meaning: "only places of the same geography satisfy", form: booleanForm, fallback: "false", example: "true"}
)

// planningQuestions are about copies of data that somebody wants to keep elsewhere.
func planningQuestions() []question {
	return []question{
		{name: "recovery", summary: "What copying a prober's data to another's place would be like: RPO, commits, catch-up after an outage, seeds.",
			parameters: []parameter{source, target, path, probe, changeRate, size, window, outage, tcpWindow, since("28d"), until}, most: 92 * day, answer: reply.Recovery{}, ask: askRecovery},
		{name: "rank", summary: "Which places would do for a copy, by distance, round trip and throughput.",
			parameters: []parameter{from, path, probe, minKM, p95Below, throughputAbove, sameGeography, since("7d"), until}, most: answers.RecoveryDays * day, answer: reply.Rank{}, ask: askRank},
	}
}

// The values below were checked when the question was parsed: what cannot be read is not there.

func (a *asked) bps(name string) *float64 {
	if v, err := config.ParseRate(a.text(name)); err == nil {
		return &v
	}
	return nil
}

func (a *asked) duration(name string) time.Duration {
	d, _ := parseBack(a.text(name))
	return d
}

func (a *asked) bytes(name string) float64 {
	v, _ := config.ParseSize(a.text(name))
	return v
}

func askRecovery(ctx context.Context, a *asked) (any, error) {
	q := answers.RecoveryQuery{Since: a.since.Truncate(time.Hour), Until: a.until, ChangeBPS: *a.bps(changeRate.name), SizeBytes: a.bytes(size.name),
		Window: a.duration(window.name), Outage: a.duration(outage.name), TCPWindowBytes: a.bytes(tcpWindow.name)}
	var err error
	if q.Source, q.Target, q.Path, q.Probe, err = a.pair(); err != nil {
		return nil, err
	}
	q.Throughput, _ = answers.DefaultThroughput(a.config, q.Path)
	found, err := answers.ReadRecovery(ctx, a.rows, q, a.now)
	if err != nil {
		return nil, err
	}
	return reply.RecoveryOf(a.environment, found, a.now), nil
}

func askRank(ctx context.Context, a *asked) (any, error) {
	q := answers.RankQuery{From: a.values["from"], Since: a.since.Truncate(time.Hour), Until: a.until, ThroughputBPS: a.bps(throughputAbove.name), SameGeography: a.text(sameGeography.name) == "true"}
	var err error
	if q.Path, q.Probe, err = a.combination(); err != nil {
		return nil, err
	}
	if p, _ := a.config.Prober(q.From); len(p.Addresses[q.Path]) == 0 {
		return nil, notFound("path", "path of prober "+q.From+" by the name", q.Path, pathsOf(p))
	}
	q.Throughput, _ = answers.DefaultThroughput(a.config, q.Path)
	if km, err := strconv.ParseFloat(a.text(minKM.name), 64); err == nil {
		q.MinKM = &km
	}
	if d := a.duration(p95Below.name); d > 0 {
		us := float64(d) / float64(time.Microsecond)
		q.P95BelowUS = &us
	}
	found, err := answers.ReadRank(ctx, a.rows, a.config, q, a.now)
	if err != nil {
		return nil, err
	}
	return reply.RankOf(a.environment, found, a.now), nil
}

func pathsOf(p config.Prober) (paths []string) {
	for path := range p.Addresses {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}
