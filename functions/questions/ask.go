package questions

import (
	"context"
	"time"

	"isochrone/sweep/answers"
	"isochrone/sweep/reply"
	"isochrone/sweep/tables"
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

func askAlerts(ctx context.Context, a *asked) (any, error) {
	q := answers.AlertQuery{Kind: tables.AlertKind(a.values["kind"]), Since: a.since, Until: a.until, Open: a.values["state"] == openAlerts}
	found, err := answers.ReadAlerts(ctx, a.rows, q)
	if err != nil {
		return nil, err
	}
	out := reply.AlertsOf(a.environment, q, found, a.now)
	out.Alerts, out.Next = page(a, out.Alerts)
	return out, nil
}
