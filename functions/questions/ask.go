package questions

import (
	"context"
	"slices"
	"strings"
	"time"

	"isochrone/sweep/answers"
	"isochrone/sweep/reply"
)

func askOverview(_ context.Context, a *asked) (any, error) {
	return reply.OverviewOf(answers.OverviewOf(a.config), a.now), nil
}

func askMatrix(ctx context.Context, a *asked) (any, error) {
	path, probe, err := a.combination()
	if err != nil {
		return nil, err
	}
	m, err := answers.ReadMatrix(ctx, a.rows, a.config, path, probe, a.now)
	if err != nil {
		return nil, err
	}
	return reply.MatrixAnswerOf(m, a.regions(), a.now), nil
}

func askProbers(ctx context.Context, a *asked) (any, error) {
	found, err := answers.ReadProbers(ctx, a.rows, a.blobs, a.config, a.environment, a.now)
	if err != nil {
		return nil, err
	}
	regions := map[string]string{}
	for _, p := range a.config.Probers {
		regions[p.ID] = p.Region
	}
	return reply.ProbersOf(a.environment, found, regions, a.now), nil
}

func askCoverage(ctx context.Context, a *asked) (any, error) {
	q := answers.CoverageQuery{Prober: a.values["source"], Path: a.values["path"], Probe: a.values["probe"],
		Since: a.since.Truncate(time.Hour), Until: a.until}
	found, err := answers.ReadCoverage(ctx, a.rows, a.blobs, a.environment, q, a.now)
	if err != nil {
		return nil, err
	}
	out := reply.CoverageOf(a.environment, found, q, a.now)
	out.Probers, out.Next = page(a, out.Probers)
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
