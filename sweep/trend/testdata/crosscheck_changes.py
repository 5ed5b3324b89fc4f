"""Reads cases as JSON from standard input and answers what scipy and the definitions say of each.

A case has two samples a and b, and a floor. The answer has the p-value of Student's t-test with equal
variances, the same with the pooled standard deviation taken for the floor at least, and the
energy statistic of Matteson and James (2014), added up over all pairs, for every split of
a and b joined.
"""
import json
import sys

import numpy
from scipy import stats


def energy(x, y):
    n, m = len(x), len(y)
    across = sum(abs(u - v) for u in x for v in y)
    first = sum(abs(x[i] - x[k]) for i in range(n) for k in range(i + 1, n))
    second = sum(abs(y[i] - y[k]) for i in range(m) for k in range(i + 1, m))
    e = 2 * across / (n * m)
    if n > 1:
        e -= first / (n * (n - 1) / 2)
    if m > 1:
        e -= second / (m * (m - 1) / 2)
    return e * n * m / (n + m)


out = []
for case in json.load(sys.stdin):
    a, b = numpy.array(case["a"]), numpy.array(case["b"])
    freedom = len(a) + len(b) - 2
    pooled = numpy.sqrt((a.var() * len(a) + b.var() * len(b)) / freedom)
    t = (a.mean() - b.mean()) / (max(pooled, case["floor"]) * numpy.sqrt(1 / len(a) + 1 / len(b)))
    joined = list(a) + list(b)
    out.append({
        "p": float(stats.ttest_ind(a, b, equal_var=True).pvalue),
        "floored": float(2 * stats.t.sf(abs(t), freedom)),
        "energy": [float(energy(joined[:k], joined[k:])) for k in range(1, len(joined))] if len(joined) <= 60 else [],
    })
json.dump(out, sys.stdout)
