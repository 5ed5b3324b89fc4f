"""Reads series from standard input, as JSON, and answers what numpy, scipy and zoneinfo say of each.

A series has hours (Unix seconds) and values, and the name of a zone.
"""
import datetime
import json
import statistics
import sys
import zoneinfo

import numpy
from scipy import signal, stats


def spread(values):
    if len(values) == 0:
        return None
    return {"n": len(values), "quartiles": [float(q) for q in numpy.percentile(values, [25, 50, 75])]}


def profiles(hours, values, zone):
    clock = [datetime.datetime.fromtimestamp(t, zoneinfo.ZoneInfo(zone)) for t in hours]
    hour = numpy.array([c.hour for c in clock])
    day = numpy.array([c.weekday() for c in clock])
    return (
        [spread(values[hour == h]) for h in range(24)],
        [[spread(values[(day == d) & (hour == h)]) for h in range(24)] for d in range(7)],
    )


def inflation(values, lags):
    """Hamed and Rao's n/n* of the ranks of values, over lags that lags picks of the autocorrelation."""
    n = len(values)
    ranks = stats.rankdata(values)
    ranks = ranks - ranks.mean()
    r = numpy.correlate(ranks, ranks, "full")[n - 1:] / (ranks @ ranks)
    total = sum((n - k) * (n - k - 1) * (n - k - 2) * r[k] for k in lags(r))
    return 1 + 2 / (n * (n - 1) * (n - 2)) * total


def trend(hours, values):
    n = len(values)
    days = (hours - hours[0]) / 86400
    slope, _, low, high = stats.theilslopes(values, days, 0.95)
    rest = values - slope * days
    clock = (hours // 3600) % 24
    for h in range(24):
        if (clock == h).any():
            rest[clock == h] -= numpy.median(rest[clock == h])
    significant = stats.norm.ppf(0.975) / numpy.sqrt(n)

    def first(r):
        for k in range(1, n):
            if r[k] <= significant:
                return range(1, k)
        return range(1, n)

    factor = max(1, inflation(rest, first))
    every = inflation(rest, lambda r: [k for k in range(1, n) if abs(r[k]) > significant])
    score = sum(numpy.sign(values[i + 1:] - values[i]).sum() for i in range(n - 1))
    _, counts = numpy.unique(values, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - (counts * (counts - 1) * (2 * counts + 5)).sum()) / 18
    z = max(abs(score) - 1, 0) / numpy.sqrt(variance * factor)
    return {
        "slope": slope, "low": low, "high": high, "inflation": factor, "inflation_of_every_lag": every,
        "tau": score / (n * (n - 1) / 2), "p": 2 * stats.norm.sf(z), "tau_b": stats.kendalltau(days, values).statistic,
        "tied": bool((counts > 1).any()),
    }


def deviations(hours, values, least):
    known = dict(zip((hours // 3600).tolist(), values.tolist()))

    def of(hour, until):
        weeks = [known[h] for h in range(hour, until - 4 * 168 - 1, -168) if h in known]
        return weeks if len(weeks) >= 3 else None

    out, row = [], []
    for hour, value in known.items():
        own = of(hour - 168, hour)
        found = None
        if own:
            groups = [of(h, hour) for h in range(hour - 168, hour)]
            middles = [statistics.median(g) if g else None for g in groups]  # quicker than numpy's, of so few
            distances = [abs(v - m) for g, m in zip(groups, middles) if g for v in g]
            mad = max(stats.median_abs_deviation(own), statistics.median(distances))
            difference = value - statistics.median(own)
            if difference > 4 * 1.4826 * mad and difference > least:
                found = hour * 3600
        if row and row[-1] != hour * 3600 - 3600 or found is None:
            out, row = out + (row if len(row) >= 3 else []), []
        if found is not None:
            row.append(found)
    return out + (row if len(row) >= 3 else [])


out = []
for case in json.load(sys.stdin):
    hours, values = numpy.array(case["hours"]), numpy.array(case["values"])
    day, week = profiles(hours, values, case["zone"])
    padded = numpy.concatenate([numpy.full(28 * 24 - 1, numpy.inf), values])
    out.append({
        "day": day, "week": week, "trend": trend(hours, values),
        "baseline": numpy.lib.stride_tricks.sliding_window_view(padded, 28 * 24).min(axis=1).tolist(),
        "power": signal.welch(values, nperseg=72, detrend="linear", scaling="spectrum")[1].tolist(),
        "deviations": deviations(hours, values, 0.5),
    })
json.dump(out, sys.stdout)
