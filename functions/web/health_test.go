package web_test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestCoverageByProberAndHour(t *testing.T) {
	q := newQuery(t)
	b := open(t, q, 1280, 900)
	b.visit("/coverage")
	row := func(prober string) string {
		return `((prober) => [...[...document.querySelectorAll("#coverage .line")].find((l) => l.querySelector(".lead").textContent === prober).querySelectorAll(".cell")].map((c) => c.textContent))("` + prober + `")`
	}
	b.want(row("southafricanorth")+`.slice(0, 2).join() + "…" + `+row("southafricanorth")+`.slice(12, 17).join()`, "90,100…100,17,17,17,100")
	b.want(row("westus2")+".slice(0, 8).join()", "100,–,–,–,–,–,–,100")       // before it was added nothing was planned
	b.want(row("brazilsouth")+".at(-1)", ">99")                               // 119 of 120 are not all
	b.want(row("australiaeast")+".at(-1) + "+row("eastus")+".at(-1)", "100…") // what is awaited is not lacking yet
	b.do(chromedp.Focus(chromedp.CSS("#coverage")))
	b.press(kb.ArrowDown)
	b.press(kb.End)
	b.want(`document.querySelector(".detail").textContent`, "brazilsouth, 2026-11-30 11:00 UTC: 119 of 120 received; 1 expired")
	b.choose("#since", "7d")
	b.want(`document.querySelectorAll("#coverage .head").length`, "9") // all, and eight days, the first and last of them cut
	b.want(`document.querySelector("#coverage .corner").textContent`, "% by day")
}

func TestCoverageInPages(t *testing.T) {
	q := newQuery(t)
	whole := coverage(map[string][]string{"since": {"24h"}})
	q.on("coverage", func(v url.Values) answer {
		page := with(object{}, whole)
		page["probers"], page["next"] = whole["probers"].([]object)[:6], "page-2"
		if len(v["next"]) > 0 {
			page["probers"], page["next"] = whole["probers"].([]object)[6:], nil
		}
		return answer{200, page}
	})
	b := open(t, q, 1280, 900)
	b.visit("/coverage")
	b.want(`document.querySelectorAll("#coverage .line").length`, "10")
	if asked := q.questions(); !slices.Contains(asked, "coverage?since=24h&next=page-2") {
		t.Errorf("asked %q", asked)
	}
}

func TestProbersThatAreIllComeFirst(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/probers")
	b.want(`[...document.querySelectorAll("#probers tbody th")].map((e) => e.textContent).join()`, "brazilsouth,southafricanorth,australiaeast,eastus,westeurope")
	b.want(`document.querySelectorAll("#probers tbody tr")[2].innerText.replaceAll("\t", "|")`, "southafricanorth|southafricanorth|▲ silent|2 h ago|0.4.0|Standard_D4s_v5|0.420 ms|public, peering")
	b.want(`document.querySelectorAll("#probers tr.finding")[0].textContent.startsWith("It never registered: start it")`, "true")
	b.want(`document.querySelectorAll("#probers tbody tr")[0].innerText.replaceAll("\t", "|")`, "brazilsouth|brazilsouth|▲ never registered|–|–|–|–|–")
}

func TestEventsInPages(t *testing.T) {
	q := newQuery(t)
	b := open(t, q, 1280, 900)
	b.visit("/events")
	b.want(`[...document.querySelectorAll("#alerts tbody tr")].map((r) => r.cells[0].textContent + " " + r.cells[1].textContent).join()`, "▲ lasts coverage,ended deviation")
	b.want(`document.querySelector("#alerts a").textContent`, "westeurope → eastus, public, tcp-64")
	b.want(`document.querySelectorAll("#changes tbody tr").length`, "2")
	b.click("#more")
	b.until(`document.querySelectorAll("#changes tbody tr").length === 3`)
	b.want(`document.querySelector("#more")`, "null")
	b.click(`#changes tbody a`)
	b.until(`document.querySelector("h1").textContent === "westeurope → eastus"`)
	b.settled()
}

func TestAnAppWithoutAlerts(t *testing.T) {
	q := newQuery(t)
	q.on("alerts", says(404, refused("there is no question alerts", "")))
	b := open(t, q, 1280, 900)
	b.allow("status of 404")
	b.visit("/events")
	b.want(`document.querySelector("#alerts").textContent`, "")
	b.want(`document.querySelectorAll("#changes tbody tr").length`, "2")
}
