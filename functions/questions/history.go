package questions

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/sweep/answers"
	"isochrone/sweep/reply"
)

// mostHistory is how far back questions about hours look: a year, and what a leap adds.
const mostHistory = 366 * day

var zone = parameter{name: "zone", meaning: "by whose clock", form: form{want: "utc, source or target", choices: clocks()}, fallback: string(answers.ClockUTC), example: "source"}

func clocks() (names []string) {
	for _, c := range answers.ClockNames() {
		names = append(names, string(c))
	}
	return names
}

// historyQuestions are about what pairs were like over a time.
func historyQuestions() []question {
	return []question{
		{name: "trend", summary: "One series over a time, hour by hour: round trips, baseline, changes, slope and daily rhythm.",
			parameters: []parameter{source, target, path, probe, since("28d"), until}, most: mostHistory, answer: reply.Trend{}, ask: askTrend},
		{name: "heatmap", summary: "How far above its baseline one series was, by weekday and hour.",
			parameters: []parameter{source, target, path, probe, since("28d"), until, zone}, most: mostHistory, answer: reply.Heatmap{}, ask: askHeatmap},
		{name: "distribution", summary: "How the round trips of one series are spread.",
			parameters: []parameter{source, target, path, probe, since("7d"), until}, most: mostHistory, answer: reply.Distribution{}, ask: askDistribution},
		{name: "changes", summary: "Where series got another level.",
			parameters: []parameter{source.optional(), target.optional(), path.filter(), probe.filter(), since("7d"), until, seriesLimit, next}, most: 92 * day, answer: reply.Changes{}, ask: askChanges},
		{name: "compare", summary: "By how much one path differs from another, pair by pair, in the slots measured over both.",
			parameters: []parameter{paths, source.optional(), target.optional(), probe, since("7d"), until, limit, next}, most: 31 * day, answer: reply.Compare{}, ask: askCompare},
	}
}

// maxSeries is how many series one page of changes looks at: each is read over its time and 28 days before.
const maxSeries = 100

// seriesLimit is limit where what a page holds is what it looks at.
var seriesLimit = parameter{name: "limit", meaning: "series that one page looks at, " + strconv.Itoa(maxSeries) + " at the most", form: limitForm, fallback: strconv.Itoa(maxSeries), example: "50"}

func (a *asked) series() (q answers.SeriesQuery, err error) {
	q.Since, q.Until = a.since.Truncate(time.Hour), a.until // an hour belongs to the window as a whole
	q.Source, q.Target, q.Path, q.Probe, err = a.pair()
	return q, err
}

func askTrend(ctx context.Context, a *asked) (any, error) {
	q, err := a.series()
	if err != nil {
		return nil, err
	}
	found, err := answers.ReadTrend(ctx, a.rows, a.config, q, a.now)
	if err != nil {
		return nil, err
	}
	return reply.TrendOf(a.environment, found, a.now), nil
}

func askHeatmap(ctx context.Context, a *asked) (any, error) {
	q, err := a.series()
	if err != nil {
		return nil, err
	}
	found, err := answers.ReadHeatmap(ctx, a.rows, a.config, q, answers.Clock(a.text("zone")), a.now)
	if errors.Is(err, answers.ErrNoClock) {
		return nil, badRequest("zone", "ask for utc", "zone is %q, and %v", a.text("zone"), answers.ErrNoClock)
	}
	if err != nil {
		return nil, err
	}
	return reply.HeatmapOf(a.environment, found, a.now), nil
}

func askDistribution(ctx context.Context, a *asked) (any, error) {
	q, err := a.series()
	if err != nil {
		return nil, err
	}
	found, err := answers.ReadDistribution(ctx, a.rows, q, a.now)
	if err != nil {
		return nil, err
	}
	return reply.DistributionOf(a.environment, found, a.now), nil
}

// askChanges looks at some series a page: an empty page need not be the last.
func askChanges(ctx context.Context, a *asked) (any, error) {
	sources, _ := a.places()
	if source := a.values["source"]; source != "" {
		sources = []string{source}
	}
	n, err := strconv.Atoi(a.text("limit"))
	if err != nil || n > maxSeries {
		n = maxSeries
	}
	q := answers.ChangesQuery{Source: a.values["source"], Target: a.values["target"], Path: a.values["path"], Probe: a.values["probe"],
		Since: a.since.Truncate(time.Hour), Until: a.until, After: a.after, MostSeries: n}
	found, err := answers.ReadChanges(ctx, a.rows, sources, q, a.now)
	if err != nil {
		return nil, err
	}
	out := reply.ChangesOf(a.environment, q, found, a.now)
	out.Next = nil
	if found.Next != "" {
		out.Next = a.token(place{After: found.Next})
	}
	return out, nil
}

func askCompare(ctx context.Context, a *asked) (any, error) {
	first, second, _ := strings.Cut(a.text("paths"), ",")
	there := a.allPaths()
	for _, path := range []string{first, second} {
		if !slices.Contains(there, path) {
			return nil, notFound("paths", "path", path, there)
		}
	}
	probe := a.values["probe"]
	if probe == "" {
		probe, _ = answers.DefaultProbe(a.config, first)
	}
	for _, path := range []string{first, second} {
		if there := a.allProbes(path); !slices.Contains(there, probe) {
			return nil, notFound("probe", "probe over path "+path+" by the name", probe, there)
		}
	}
	q := answers.PathQuery{A: first, B: second, Probe: probe, Source: a.values["source"], Target: a.values["target"], Since: a.since, Until: a.until}
	found, err := answers.ReadPathDifferences(ctx, a.rows, q)
	if err != nil {
		return nil, err
	}
	out := reply.CompareOf(a.environment, found, q, a.now)
	out.Pairs, out.Next = page(a, out.Pairs)
	return out, nil
}

// token writes a place, with what all pages share.
func (a *asked) token(p place) *string {
	p.Of, p.Since, p.Until = a.identity(), a.since.Unix(), a.until.Unix()
	b, err := marshal(p)
	if err != nil {
		return nil // it cannot be: strings and numbers
	}
	token := base64.RawURLEncoding.EncodeToString(b)
	return &token
}
