package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestADeepLinkShowsWhatItsSenderSaw(t *testing.T) {
	q := newQuery(t)
	b := open(t, q, 1280, 900)
	const view = "/pair?path=peering&probe=tcp-64&source=westeurope&target=eastus&since=7d&zone=target&zero=1&rate=5MB%2Fs&theme=dark"
	b.visit(view)
	b.want("location.hash", "#"+view)
	b.want(`document.querySelector("h1").textContent`, "westeurope → eastus")
	b.want(`["from", "to", "path", "probe", "since", "theme"].map((id) => document.getElementById(id).value).join()`, "westeurope,eastus,peering,tcp-64,7d,dark")
	b.want(`document.querySelector("#zone-target").ariaPressed + document.querySelector("#zero-1").ariaPressed`, "truetrue")
	b.want(`document.querySelector("#recovery-rate").value`, "5MB/s")
	b.want("document.documentElement.dataset.theme", "dark")
	for _, want := range []string{"trend?source=westeurope&target=eastus&path=peering&probe=tcp-64&since=7d", "heatmap?source=westeurope&target=eastus&path=peering&probe=tcp-64&since=7d&zone=target",
		"compare?paths=peering%2Cpublic&source=westeurope&target=eastus&probe=tcp-64&since=7d", "recovery?source=westeurope&target=eastus&path=peering&change_rate=5MB%2Fs&size=2TB&window=4h&outage=30m",
		"trend?source=westeurope&target=eastus&path=peering&probe=nightly&since=7d"} {
		if asked := q.questions(); !slices.Contains(asked, want) {
			t.Errorf("did not ask %q, but %q", want, asked)
		}
	}
}

func TestAPairsFigures(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/pair?source=westeurope&target=eastus")
	figure := func(name string) string {
		return b.text(`[...document.querySelectorAll(".figure")].find((f) => f.querySelector("dt").firstChild.data === "` + name + `").querySelector("dd").innerText.replace("\n", "; ")`)
	}
	for name, want := range map[string]string{
		"p50": "82.1 ms; n 739\u2009200", "published": "85.0 ms; a p95; ours is +0.020 ms from it", "light": "60.7 ms; over 6\u2009190 km", "stretch": "1.35 ×; p50 over light", "hours with data": "616 of 672", "daily rhythm": "–; a gap of 56 hours: over 3 hours without data nobody can tell a rhythm",
		"trend": "+12.4 µs a day; 95 %: −3.10 to +40.2, p 0.210, n 616 hours", "sustained": "yes; at worst the last 350 ms of changes lost", "a commit waits": "82.1 ms; 95 %: 82.1 ms to 82.2 ms; p99 87.7 ms, n 739\u2009200",
		"throughput p5": "810 Mbit/s; p50 1.02 Gbit/s, n 28 hours", "catching up": "7.38 min; 95 %: 6.34 min to 8.50 min; after the outage", "one connection": "410 Mbit/s; at the most, by its window",
	} {
		if got := figure(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	b.want(`document.querySelector("#changes tbody tr").innerText.replaceAll("\t", "|")`, "2026-11-20 00:00 UTC|81.1 ms|84.2 ms|+3.10 ms|rerouted: the floor moved|3e-9")
	b.want(`document.querySelector("#series .caption").textContent`, "56 of 672 hours have no data and are hatched.")
	b.want(`document.querySelector("#compare .headline").textContent`, "+5.61 ms 95 %: +5.58 to +5.65 ms")
	b.want(`document.querySelectorAll("#heatmap text").length >= 7 * 24`, "true")
	b.want(`document.querySelectorAll("svg style, [style*=url]").length`, "0")
}

func TestTheClockIsSwitched(t *testing.T) {
	q := newQuery(t)
	b := open(t, q, 1280, 900)
	b.visit("/pair?source=westeurope&target=eastus")
	b.until(`document.querySelector("#profile .caption").textContent.startsWith("Hours in UTC.")`)
	b.click("#zone-source")
	b.want(`document.querySelector("#profile .caption").textContent.split(".")[0]`, "Hours in Europe/Amsterdam (source)")
	b.want(`document.querySelector("#heatmap .caption").textContent.includes("hours in Europe/Amsterdam.")`, "true")
	b.want("location.hash.includes('zone=source')", "true")
	b.until(`document.activeElement.id === "zone-source"`) // whoever switches by key can go on
	b.want(`document.querySelector("#zone-source").ariaPressed`, "true")
}

func TestTheSeriesIsReadByKey(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/pair?source=westeurope&target=eastus")
	b.until(`document.querySelector("#series .lines canvas")`)
	b.do(chromedp.Focus(chromedp.CSS("#series .lines")))
	b.press(kb.ArrowLeft)
	m := median(time.Date(2026, time.November, 30, 10, 0, 0, 0, time.UTC), time.Time{})
	b.want(`document.querySelector("#series .readout").textContent.replace(/p99 [0-9.]+/, "p99 …")`, fmt.Sprintf("2026-11-30 10:00 UTC · p99 … ms · baseline 83.0 ms · p50 %.1f ms · loss 0.050 %% · n 1\u2009200, 6 runs", m/1000))
	b.press(kb.Home)
	for range 14 + 1 {
		b.press(kb.PageDown)
	}
	b.want(`document.querySelector("#series .readout").textContent`, "2026-11-17 12:00 UTC · no data")
}

func TestRecoveryIsReckonedAnew(t *testing.T) {
	q := newQuery(t)
	b := open(t, q, 1280, 900)
	b.visit("/pair?source=westeurope&target=eastus")
	b.text(`document.querySelector("#recovery-outage").value = "2h"`)
	b.click("#reckon")
	if asked := strings.Join(q.questions(), "\n"); !strings.Contains(asked, "change_rate=20MB%2Fs&size=2TB&window=4h&outage=2h") {
		t.Errorf("asked %s", asked)
	}
	b.want("location.hash.includes('outage=2h')", "true")
}

func TestAPartThatFailsTakesOnlyItsOwnPlace(t *testing.T) {
	q := newQuery(t)
	q.on("heatmap", says(503, refused("storage could not be reached", "try again in a minute")))
	b := open(t, q, 1280, 900)
	b.allow("status of 503")
	b.visit("/pair?source=westeurope&target=eastus")
	b.want(`document.querySelector("#heatmap .fault b").textContent`, "storage could not be reached")
	b.want(`document.querySelectorAll(".fault").length`, "1")
	q.on("heatmap", says(200, heatmap(map[string][]string{"zone": {"utc"}})))
	b.click("#heatmap .fault button")
	b.until(`document.querySelector("#heatmap svg")`)
}

func TestAPairIsChosen(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/pair")
	b.choose("#from", "uksouth")
	b.choose("#to", "orders-db") // an endpoint
	b.want(`document.querySelector("h1").textContent`, "uksouth → orders-db")
	b.click("#to-matrix")
	b.until(`document.querySelector("h1").textContent === "Matrix"`)
	b.do(chromedp.NavigateBack())
	b.until(`document.querySelector("h1").textContent === "uksouth → orders-db"`)
	b.settled()
}
