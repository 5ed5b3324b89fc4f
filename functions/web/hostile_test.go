package web_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// views are all pages, with all of their parts.
var views = []string{"/matrix", "/matrix?as=table&sort=excess", "/pair?source=westeurope&target=eastus", "/coverage", "/coverage?since=7d", "/probers", "/events"}

var questions = []string{"overview", "matrix", "trend", "heatmap", "distribution", "compare", "recovery", "coverage", "probers", "changes", "alerts"}

// emptied takes all that is in lists out of an answer, or makes every value of a row null.
func emptied(v any, rows bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := object{}
		for k, each := range v {
			out[k] = emptied(each, rows)
		}
		return out
	case []any:
		out := []any{}
		for _, each := range v {
			if rows {
				out = append(out, emptied(each, true))
			}
		}
		return out
	}
	return nil
}

// changed is a server whose every answer went through a function.
func changed(t *testing.T, change func(question string, body any) any) *query {
	t.Helper()
	q := newQuery(t)
	var one sync.Mutex // a page asks several questions at once
	for _, question := range questions {
		say := q.answers[question]
		q.on(question, func(v url.Values) answer {
			a := simulated(t, say(v))
			var body any
			if raw, err := json.Marshal(a.body); err != nil || json.Unmarshal(raw, &body) != nil {
				panic("an answer of the test is no JSON")
			}
			one.Lock()
			defer one.Unlock()
			return answer{200, change(question, body)}
		})
	}
	return q
}

func TestNothingIsThere(t *testing.T) {
	q := changed(t, func(question string, body any) any {
		if question == "overview" { // a configuration, and no data yet
			return body
		}
		return emptied(body, false)
	})
	b := open(t, q, 1280, 900)
	for _, view := range views {
		b.visit(view)
		b.want(`[...document.querySelectorAll("main .fault")].map((e) => e.textContent).join()`, "")
		b.want(`document.querySelectorAll("main .note").length > 0`, "true")
		b.want(`[...document.querySelectorAll(".figure b")].every((e) => e.textContent === "–" || e.textContent === "– of –")`, "true")
		b.want(`/undefined|NaN|null|Infinity/.test(document.body.innerText)`, "false")
	}
}

func TestEverythingIsNull(t *testing.T) {
	q := changed(t, func(_ string, body any) any { return emptied(body, true) })
	b := open(t, q, 1280, 900)
	for _, view := range views {
		b.visit(view)
		b.want(`[...document.querySelectorAll("main .fault")].map((e) => e.textContent).join()`, "")
		b.want(`/undefined|NaN|null|Infinity/.test(document.body.innerText)`, "false")
	}
}

// spoilt puts markup and script into every text, and numbers of any size into every number.
func spoilt(v any, n *int) any {
	*n++
	switch v := v.(type) {
	case map[string]any:
		out := object{}
		for k, each := range v {
			out[k] = spoilt(each, n)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, each := range v {
			out[i] = spoilt(each, n)
		}
		return out
	case string:
		if strings.HasPrefix(v, "2026-") { // times stay, for the pages to have something to show
			return v
		}
		return fmt.Sprintf(`<img src=x onerror="window.bad=1"><script>window.bad=1</script>%s"'&javascript:window.bad=1`, v)
	case float64:
		return []float64{1e300, -1e300, 5e-324, -v, v * 1e9}[*n%5]
	case nil, bool:
		return []any{"text", 1e308, map[string]any{"a": 1.0}, []any{nil}}[*n%4]
	}
	return v
}

func TestHostileAnswers(t *testing.T) {
	n := 0
	q := changed(t, func(question string, body any) any {
		if question == "overview" {
			clean := body.(object)
			probes := clean["probes"]
			body = spoilt(body, &n)
			body.(object)["default"], body.(object)["probes"], body.(object)["paths"] = object{"path": "public", "probe": "tcp-64"}, probes, []string{"public", "<b>"}
			return body
		}
		return spoilt(body, &n)
	})
	for _, width := range []int64{1280, 360} {
		b := open(t, q, width, 900)
		for _, view := range append(views, "/pair?source=%3Cimg+src%3Dx+onerror%3D%22window.bad%3D1%22%3E&target=%3Cscript%3Ewindow.bad%3D1%3C%2Fscript%3E&zone=target&path=%22%3E%3Cb%3E&theme=%22%3E%3Cb%3E&since=%3Cb%3E&other=x", "/nothing?as=<b>&stat=<b>&sort=constructor&dir=__proto__&__proto__=1") {
			b.visit(view)
			b.want("window.bad", "undefined")
			if view == "/matrix" || view == "/events" { // it is there, as text
				b.want(`document.querySelector("main").innerText.includes("<img src=x onerror=")`, "true")
			}
			b.want(`document.querySelectorAll("img, script:not([src]), iframe, object, embed, a[href^=javascript]").length`, "0")
			b.want(`[...document.querySelectorAll("*")].filter((e) => [...e.attributes].some((a) => a.name.startsWith("on"))).length`, "0")
			b.want(`[...document.querySelectorAll("main .fault")].map((e) => e.textContent).filter((t) => t.includes("fault of its own")).join()`, "")
			b.want("document.documentElement.scrollWidth <= innerWidth", "true")
		}
	}
}

// many is a matrix of n probers, each to each.
func many(n int) object {
	var cells []object
	for s := range n {
		for t := range n {
			if s == t {
				continue
			}
			us := 1_000 + 3_000*float64((s*7+t*13)%97)
			cells = append(cells, object{"source": fmt.Sprintf("region-%03d", s), "target": fmt.Sprintf("region-%03d", t), "state": "measured", "slot": now, "age_s": 187, "n": 1000, "sent": 1000, "lost": 0,
				"p50_us": us, "p50_low_us": us - 20, "p50_high_us": us + 20, "p99_us": us + 900, "loss_ratio": 0, "loss_ratio_low": 0, "loss_ratio_high": 0.0038, "distance_km": 1_000, "floor_us": 980, "excess_us": us - 980, "stretch": us / 980})
		}
	}
	return with(headOf(n*1000, n, nil), object{"path": "public", "probe": "tcp-64", "kind": "tcp", "newest_slot": now, "series": len(cells), "measured": len(cells), "stale": 0, "failed": 0, "missing": 0, "degraded": 0, "cells": cells})
}

// The time to show ten thousand series is in the log and asserted nowhere: it is this machine's.
func TestTenThousandSeries(t *testing.T) {
	const n = 101 // 10,100 ordered pairs
	q := newQuery(t)
	body, err := json.Marshal(many(n))
	if err != nil {
		t.Fatal(err)
	}
	q.on("matrix", says(200, body))
	b := open(t, q, 1280, 900)
	took := func() string {
		return b.text(`(() => { const all = performance.getEntriesByName("show"); return Math.round(all[all.length - 1].duration) + " ms" })()`)
	}
	b.visit("/matrix")
	t.Logf("%d series (%d kB of JSON), asked for and shown: %s", n*(n-1), len(body)/1024, took())
	b.click("#stat-p99")
	t.Logf("another figure of them: %s", took())
	b.click("#as-table")
	t.Logf("as a table: %s", took())
	b.click(`#pairs .head[data-sort="p50"] span`)
	t.Logf("sorted: %s", took())
	b.want(`document.querySelector("#pairs").ariaRowCount`, "10101")
	b.want(`document.querySelectorAll("#pairs *").length < 2000`, "true") // what is out of sight is not there
	b.text(`document.querySelector("#pairs").scrollTop = 1e9`)
	b.until(`document.querySelector('#pairs .line[aria-rowindex="10101"]')`)
	t.Logf("a screen of the table drawn anew: %s", b.text(`(() => {
		const grid = document.querySelector("#pairs"), began = performance.now();
		for (let i = 0; i < 20; i++) { grid.scrollTop = i * 9000; grid.dispatchEvent(new KeyboardEvent("keydown", { key: "PageDown" })); grid.offsetHeight; }
		return ((performance.now() - began) / 20).toFixed(1) + " ms";
	})()`))
}
