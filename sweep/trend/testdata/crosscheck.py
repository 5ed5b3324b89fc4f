"""Reads cases as JSON from standard input and answers what scipy says of each.

A case has values a, and b or none, and shifts at which the hypothesis is tested that the true
difference is the shift. The answer has the estimate, by its definition, and the p-values.
"""
import json
import sys

import numpy
from scipy import stats

out = []
for case in json.load(sys.stdin):
    a = numpy.array(case["a"])
    if case["b"] is None:
        i, j = numpy.triu_indices(len(a))
        estimate = numpy.median((a[i] + a[j]) / 2)
        exact = "exact" if len(a) <= 50 else "approx"
        p = [stats.wilcoxon(a - x, method=exact, correction=True).pvalue for x in case["shifts"]]
    else:
        b = numpy.array(case["b"])
        estimate = numpy.median(numpy.subtract.outer(a, b))
        exact = "exact" if max(len(a), len(b)) <= 40 else "asymptotic"
        p = [stats.mannwhitneyu(a - x, b, method=exact, use_continuity=True).pvalue for x in case["shifts"]]
    out.append({"estimate": float(estimate), "p": [float(v) for v in p]})
json.dump(out, sys.stdout)
