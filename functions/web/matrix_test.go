package web_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// cell is an expression for the grid's cell of a pair.
func cell(source, target string) string {
	return `((source, target) => {
	const lead = [...document.querySelectorAll("#matrix .line > .lead")].find((e) => e.textContent === source);
	const head = [...document.querySelectorAll("#matrix .headings > .head")].find((e) => e.textContent === target);
	return document.querySelector('#matrix .cell[data-r="' + lead.dataset.r + '"][data-c="' + head.dataset.c + '"]');
})("` + source + `", "` + target + `")`
}

func TestTheMatrixIsShown(t *testing.T) {
	q := newQuery(t)
	b := open(t, q, 1280, 900)
	b.visit("/matrix")
	b.want(`document.querySelectorAll("#matrix .line").length`, "10")
	b.want(`document.querySelectorAll("#matrix .head").length`, "11") // and the endpoint
	b.want(`document.querySelector(".environment").textContent`, "test")
	b.want(`document.title`, "Matrix · Isochrone test")
	b.want(cell("westeurope", "eastus")+".textContent", "82.1")
	b.want(cell("japaneast", "brazilsouth")+".textContent", "timeout")
	b.want(cell("brazilsouth", "southeastasia")+".textContent", "missing")
	b.want(cell("westeurope", "westeurope")+".textContent", "")
	b.want(cell("westeurope", "westeurope")+".ariaLabel", "the same prober")
	b.want(`document.querySelector(".simulated").hidden`, "true")
	b.want("location.hash", "#/matrix") // and no key
	b.want(`document.querySelector(".rests").textContent.startsWith("Rests on 96\u2009167 samples, 99 runs.")`, "true")
}

func TestEveryFigureOfTheMatrix(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/matrix")
	for stat, want := range map[string]struct{ text, says string }{
		"p50":       {"82.1", "p50 82.1 ms (95 %: 81.9 ms to 82.4 ms)"},
		"loss":      {"0", "loss 0 % (95 %: 0 % to 0.460 %)"},
		"stretch":   {"1.29", "light 63.6 ms over 6\u2009483 km"},
		"published": {"−6.87", "published p95 89.0 ms"},
	} {
		b.click("#stat-" + stat)
		b.want("location.hash.includes('stat=')", map[bool]string{true: "false", false: "true"}[stat == "p50"]) // what is usual is not said
		if got := b.text(cell("westeurope", "eastus") + ".textContent"); got != want.text {
			t.Errorf("%s is %q, want %q", stat, got, want.text)
		}
		if got := b.text(cell("westeurope", "eastus") + ".ariaLabel"); !strings.Contains(got, want.says) || !strings.HasPrefix(got, "westeurope → eastus: ") {
			t.Errorf("%s says %q, want %q", stat, got, want.says)
		}
	}
	b.click("#stat-p99")
	b.want(cell("eastus", "westeurope")+".textContent", "few") // 200 samples have no p99
}

// column is the texts of a column of the table, from the top.
func (b *tab) column(key string) []string {
	b.t.Helper()
	return strings.Split(b.text(`(() => {
	const c = document.querySelector('#pairs .head[data-sort="`+key+`"]').dataset.c;
	return [...document.querySelectorAll('#pairs .cell[data-c="' + c + '"]')].map((e) => e.textContent).join("|");
})()`), "|")
}

func TestTheTableSorts(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/matrix?as=table")
	b.click(`#pairs .head[data-sort="p50"] span`)
	if up := b.column("p50"); !slices.Equal(up[:3], []string{"4.50", "4.54", "4.71"}) {
		t.Errorf("ascending: %q", up[:3])
	}
	b.want(`document.querySelector('#pairs .head[data-sort="p50"]').ariaSort`, "ascending")
	b.click(`#pairs .head[data-sort="p50"] span`)
	if down := b.column("p50"); !slices.Equal(down[:3], []string{"311", "287", "285"}) {
		t.Errorf("descending: %q", down[:3])
	}
	b.want("location.hash", "#/matrix?as=table&sort=p50&dir=down")
	// What is absent comes last, whichever way.
	b.do(chromedp.Focus(chromedp.CSS("#pairs")))
	b.press(kb.ArrowDown)
	b.do(chromedp.KeyEvent(kb.End, chromedp.KeyModifiers(2)))
	b.until(`document.querySelector('#pairs .line[aria-rowindex="101"]')`)
	if all := b.column("p50"); !slices.Equal(slices.Sorted(slices.Values(all[len(all)-3:])), []string{"expired", "missing", "timeout"}) {
		t.Errorf("the last are %q", all[len(all)-3:])
	}
}

func TestTheGridsOrder(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/matrix")
	first := `document.querySelector("#matrix .line .lead").textContent`
	b.want(first, "australiaeast")
	b.choose("#order", "east")
	b.want(first, "westus2")
	b.choose("#order", "value")
	b.want(first, "australiaeast") // the farthest from all others
	b.want(`document.querySelector("#matrix .head").textContent`, "australiaeast")
}

func TestPathAndProbeAreSwitched(t *testing.T) {
	q := newQuery(t)
	b := open(t, q, 1280, 900)
	b.visit("/matrix?probe=tcp-64")
	b.choose("#path", "peering")
	b.want(cell("westeurope", "eastus")+".textContent", "76.5")
	b.want("location.hash", "#/matrix?path=peering&probe=tcp-64")
	b.want("document.activeElement.tagName", "BODY") // nothing had the focus
	if asked := q.questions(); !slices.Contains(asked, "matrix?path=peering&probe=tcp-64") || len(asked) != 3 {
		t.Errorf("asked %q", asked)
	}
	b.choose("#path", "public")
	if asked := q.questions(); len(asked) != 3 { // it is there already
		t.Errorf("asked %q", asked)
	}
	b.click("#reload")
	if asked := q.questions(); len(asked) != 5 {
		t.Errorf("asked %q", asked)
	}
}

func TestFindKeepsTheCaret(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/matrix")
	b.do(chromedp.Focus(chromedp.CSS("#find")), chromedp.KeyEvent("west"))
	b.until(`location.hash === "#/matrix?find=west" && document.activeElement.id === "find"`)
	b.do(chromedp.KeyEvent("us"))
	b.until(`location.hash === "#/matrix?find=westus"`)
	b.settled()
	b.want(`document.querySelector("#find").value`, "westus")
	b.want(`[...document.querySelectorAll("#matrix .head")].map((e) => e.textContent).includes("westus2")`, "true")
	b.do(chromedp.KeyEvent("zzz"))
	b.until(`document.querySelector("main .note")?.textContent === "No source or target has “westuszzz” in its name."`)
}

func TestKeysAlone(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/matrix")
	b.press(kb.Tab)
	b.want("document.activeElement.id", "skip")
	b.want(`getComputedStyle(document.activeElement).left`, "12px") // it is seen now
	b.press(kb.Enter)
	b.want("document.activeElement.id", "main")
	for range 30 {
		if b.press(kb.Tab); b.text("document.activeElement.id") == "matrix" {
			break
		}
	}
	b.want("document.activeElement.id", "matrix")
	b.want(`getComputedStyle(document.querySelector(".cursor")).outlineStyle`, "solid")
	b.press(kb.ArrowDown, kb.ArrowDown, kb.ArrowRight)
	b.want(`document.getElementById(document.querySelector("#matrix").getAttribute("aria-activedescendant")).ariaLabel.split(":")[0]`, "eastus → brazilsouth")
	b.want(`document.querySelector("#detail").textContent.split(":")[0]`, "eastus → brazilsouth")
	b.press("?")
	b.want(`document.querySelector("dialog h2").textContent`, "p50, the median round trip")
	b.press(kb.Escape)
	b.until(`!document.querySelector("dialog")`)
	b.want("document.activeElement.id", "matrix")
	b.press(kb.Enter)
	b.until(`document.querySelector("h1").textContent === "eastus → brazilsouth"`)
	b.settled()
}
