package web_test

import (
	"math"
	"net/url"
	"time"
)

// object is a JSON object.
type object = map[string]any

// now is when the fixtures were made.
var now = time.Date(2026, time.November, 30, 12, 3, 7, 0, time.UTC)

func headOf(samples, runs, hours any) object {
	return object{"environment": "test", "simulated": false, "generated_at": now, "rests_on": object{"samples": samples, "runs": runs, "hours": hours}}
}

func with(head object, more object) object {
	for k, v := range more {
		head[k] = v
	}
	return head
}

var spans = map[string]int{"24h": 24, "7d": 7 * 24, "28d": 28 * 24, "90d": 90 * 24, "365d": 365 * 24}

// median is the pair's usual hour, in µs: a floor, a rhythm of 2 ms with its crest at 15:00, and 3.1 ms more from
// the step on.
func median(t, step time.Time) float64 {
	v := 80_000 + 1_000*(1+math.Cos(2*math.Pi*(float64(t.Hour())-15)/24)) + 40*float64(t.Unix()/3600*7%11)
	if !t.Before(step) {
		v += 3_100
	}
	return v
}

// trend is a pair's history of the asked time: it has a step after five eighths of it, and from one half on a
// gap of a twelfth of it.
func trend(v url.Values) object {
	n := spans[v.Get("since")]
	until := now.Truncate(time.Hour)
	since := until.Add(-time.Duration(n) * time.Hour)
	step := since.Add(time.Duration(n*5/8) * time.Hour)
	kind, bulk := "tcp", v.Get("probe") == "nightly"
	if bulk {
		kind = "throughput"
	}
	var hours []object
	for i := range n {
		t := since.Add(time.Duration(i) * time.Hour)
		if i >= n/2 && i < n/2+n/12 || bulk && t.Hour() != 2 {
			continue
		}
		h := object{"t": t, "n": 1200, "runs": 6, "degraded": false, "simulated": false, "loss_ratio": 0.0005, "loss_ratio_low": 0, "loss_ratio_high": 0.003,
			"min_us": nil, "p50_us": nil, "p90_us": nil, "p99_us": nil, "baseline_us": nil, "excess_us": nil, "up_bps": nil, "down_bps": nil}
		if m := median(t, step); bulk {
			h["runs"], h["up_bps"], h["down_bps"] = 1, 1.2e9-1e4*m+4e7*float64(i%5), 0.9e9-5e3*m
		} else {
			base := 79_900.0
			if !t.Before(step) {
				base += 3_100
			}
			h["min_us"], h["p50_us"], h["p90_us"], h["p99_us"], h["baseline_us"], h["excess_us"] = base, m, m+900, m+2_500+float64(t.Unix()/3600%17)*150, base, m-base
		}
		hours = append(hours, h)
	}
	return with(headOf(len(hours)*1200, len(hours)*6, len(hours)), object{
		"series": object{"source": v.Get("source"), "target": v.Get("target"), "path": v.Get("path"), "probe": v.Get("probe"), "kind": kind},
		"since":  since, "until": until, "hours_in_window": n, "hours_with_data": len(hours), "newest_hour": until.Add(-time.Hour), "behind": false,
		"zones": object{"source": "Europe/Amsterdam", "target": "America/New_York"}, "hours": hours, "quantiles": quantiles(len(hours) * 1200),
		"changes": []object{{"t": step, "before_us": 81_100, "after_us": 84_200, "p": 3e-9, "kind": "rerouted"}},
		"trend":   object{"slope_us_per_day": 12.4, "low": -3.1, "high": 40.2, "p": 0.21, "n": len(hours)},
		"diurnal": nil, "diurnal_refused": "a gap of 56 hours: over 3 hours without data nobody can tell a rhythm",
		"profile":     object{"utc": profile(0), "source": profile(1), "target": profile(-5)},
		"distance_km": 6_190.4, "floor_us": 60_690.2, "published_p95_ms": 85,
	})
}

func quantiles(n int) object {
	return object{"n": n, "p50_us": 82_134, "p90_us": 84_100, "p95_us": 85_020, "p99_us": 87_650, "p999_us": 93_400, "hours_without_histogram": 0}
}

func profile(east int) []object {
	out := make([]object, 24)
	for h := range out {
		m := median(time.Date(2026, 11, 2, (h-east+24)%24, 0, 0, 0, time.UTC), now)
		out[h] = object{"hour": h, "n": 27, "median_us": m, "q1_us": m - 300, "q3_us": m + 450}
	}
	return out
}

func heatmap(v url.Values) object {
	east := map[string]int{"utc": 0, "source": 1, "target": -5}[v.Get("zone")]
	var cells []object
	for day := range 7 {
		for h := range 24 {
			m := median(time.Date(2026, 11, 2+day, (h-east+24)%24, 0, 0, 0, time.UTC), now) - 81_200
			if day >= 5 {
				m *= 0.4
			}
			c := object{"weekday": day, "hour": h, "n": 4, "median_excess_us": m, "q1_us": m - 200, "q3_us": m + 260}
			if day == 2 && h < 3 {
				c = object{"weekday": day, "hour": h, "n": 0, "median_excess_us": nil, "q1_us": nil, "q3_us": nil}
			}
			cells = append(cells, c)
		}
	}
	zone := map[string]string{"utc": "UTC", "source": "Europe/Amsterdam", "target": "America/New_York"}[v.Get("zone")]
	return with(headOf(700_000, 3_700, 616), object{"clock": v.Get("zone"), "zone": zone, "cells": cells, "changes": []object{}})
}

func distribution(url.Values) object {
	var bins []object
	n := 0
	for i := range 90 {
		from := 79_000 + 200*float64(i)
		count := int(6_000*math.Exp(-math.Pow((from-81_000)/900, 2)) + 4_000*math.Exp(-math.Pow((from-84_300)/1_100, 2)) + 40*math.Exp(-float64(i)/30))
		if from > 92_000 {
			count = 1
		}
		bins = append(bins, object{"from_us": from, "to_us": from + 200, "count": count})
		n += count
	}
	return with(headOf(n, 3_700, 616), object{"n": n, "bins": bins, "quantiles": quantiles(n)})
}

func compared(v url.Values) object {
	d := object{"n": 3_412, "only_a": 12, "only_b": 0, "difference_us": 5_612, "low_us": 5_580, "high_us": 5_650}
	pair := with(object{"source": v.Get("source"), "target": v.Get("target")}, d)
	return with(headOf(680_000, 6_836, nil), object{"path_a": "public", "path_b": "peering", "probe": v.Get("probe"), "kind": "tcp", "statistic": "p50", "pairs": []object{pair}, "all": d, "next": nil})
}

func recovery(url.Values) object {
	seed := make([]object, 24)
	for h := range seed {
		takes := 14_000 + 3_000*math.Cos(2*math.Pi*float64(h-15)/24)
		seed[h] = object{"start_hour": h, "n": 9, "seconds": takes, "fits": takes <= 4*3600}
	}
	return with(headOf(nil, 28, nil), object{
		"probe": "tcp-64", "throughput_probe": "nightly", "rpo_s": 0.35, "sustained": true,
		"throughput":  object{"p5_bps": 0.81e9, "p5_low_bps": nil, "p5_high_bps": 0.92e9, "p50_bps": 1.02e9, "p50_low_bps": 0.99e9, "p50_high_bps": 1.05e9, "n": 28},
		"commit_cost": object{"n": 739_200, "p50_us": 82_134, "p50_low_us": 82_101, "p50_high_us": 82_166, "p99_us": 87_650, "p99_low_us": 87_600, "p99_high_us": 87_702},
		"catch_up_s":  443, "catch_up_low_s": 380.5, "catch_up_high_s": 510, "seed": seed, "window_limited_bps": 4.1e8,
		"findings": []object{{"code": "seed_window", "text": "The first copy takes longer than 4 h when it begins between 09:00 and 20:00 UTC."}},
	})
}
