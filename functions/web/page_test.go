package web_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestTheKeyIsAskedForOnce(t *testing.T) {
	q := newQuery(t)
	b := open(t, q, 1280, 900)
	b.allow("status of 401")
	b.do(chromedp.Navigate(q.URL + "/api/dashboard"))
	b.until(`document.querySelector("dialog input")`)
	b.want("document.activeElement.id", "key")
	b.do(chromedp.KeyEvent("wrong" + kb.Enter))
	b.until(`document.querySelector("dialog .fault")?.textContent === "The key was not accepted. Enter another."`)
	b.do(chromedp.KeyEvent(theKey + kb.Enter))
	b.until(`document.querySelector("#matrix")`)
	b.settled()
	b.want(`document.querySelectorAll("dialog").length`, "0")
	b.do(chromedp.Reload())
	b.until(`document.querySelector("#matrix")`)
	b.settled()
	b.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/matrix?find=west&code=%C3%A9"`)) // which is none
	b.until(`location.hash === "#/matrix?find=west"`)
	b.settled()
	b.want(`document.querySelectorAll("main .fault, dialog").length`, "0")
	b.want(`document.documentElement.outerHTML.includes("`+theKey+`")`, "false")
	b.want(`JSON.stringify({...sessionStorage}) + JSON.stringify({...localStorage}) + document.cookie`, `{"isochrone-key":"`+theKey+`"}{}`)
}

func TestAnErrorIsShownWithItsRemedy(t *testing.T) {
	q := newQuery(t)
	q.on("overview", says(503, refused("storage could not be reached", "look whether the account is there, then try again")))
	b := open(t, q, 1280, 900)
	b.allow("status of 503")
	b.visit("/matrix")
	b.want(`document.querySelector(".fault").innerText.replaceAll("\n\n", "|")`, "storage could not be reached|look whether the account is there, then try again|Try again")
	q.on("overview", says(200, fixture(t, "overview.json")))
	b.click(".fault button")
	b.until(`document.querySelector("#matrix")`)
}

func TestAnAnswerThatIsNone(t *testing.T) {
	for name, body := range map[string]string{"no JSON": "<html>gateway</html>", "cut": `{"environment": "te`, "another shape": `[1, 2]`, "null": `null`} {
		t.Run(name, func(t *testing.T) {
			q := newQuery(t)
			q.on("overview", says(200, []byte(body)))
			b := open(t, q, 1280, 900)
			b.visit("/matrix")
			b.want(`document.querySelectorAll(".fault, .note").length > 0`, "true")
		})
	}
}

func TestTheTheme(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/matrix")
	const page, strongest = `getComputedStyle(document.body).backgroundColor`, `getComputedStyle(document.querySelector(".ramp span:last-child")).backgroundColor`
	b.want(page, "rgb(255, 255, 255)")
	b.want(strongest, "rgb(8, 58, 102)")
	b.choose("#theme", "dark")
	b.want(page, "rgb(16, 21, 27)")
	b.want(strongest, "rgb(194, 226, 248)") // a dark page's strong is light
	b.want("location.hash", "#/matrix?theme=dark")
	b.click("#to-coverage")
	b.until(`document.querySelector("h1").textContent.startsWith("Coverage")`)
	b.want(page, "rgb(16, 21, 27)")
}

func TestSimulatedFiguresAreMarked(t *testing.T) {
	for question, view := range map[string]string{"matrix": "/matrix", "trend": "/pair?source=westeurope&target=eastus", "coverage": "/coverage", "probers": "/probers", "changes": "/events"} {
		t.Run(question, func(t *testing.T) {
			q := newQuery(t)
			say := q.answers[question]
			q.on(question, func(v url.Values) answer { return simulated(t, say(v)) })
			b := open(t, q, 1280, 900)
			b.visit(view)
			b.want(`document.querySelector(".simulated").hidden`, "false")
			b.want(`document.querySelector(".simulated b").textContent`, "Simulated data.")
			other := map[bool]string{true: "#to-probers", false: "#to-matrix"}[question == "matrix"]
			b.click(other) // which is measured
			b.until(`document.querySelector(".simulated").hidden`)
		})
	}
}

// Every figure has its explanation a click away: what it is, when to trust it, where it comes from.
func TestEveryFigureIsExplained(t *testing.T) {
	for _, view := range []string{"/matrix", "/matrix?as=table", "/pair?source=westeurope&target=eastus", "/coverage", "/probers", "/events"} {
		t.Run(view, func(t *testing.T) {
			b := open(t, newQuery(t), 1280, 900)
			b.visit(view)
			b.want(`[...document.querySelectorAll("main h2, main dt, #pairs .head, #pairs .corner")].filter((e) => !e.querySelector(".about")).map((e) => e.textContent).join()`, "")
			keys := strings.Split(b.text(`[...new Set([...document.querySelectorAll(".about")].map((e) => e.dataset.about))].join()`), ",")
			if keys[0] == "" {
				t.Fatal("nothing is explained")
			}
			for _, key := range keys {
				b.text(`document.querySelector('[data-about="` + key + `"]').click()`)
				b.want(`[...document.querySelectorAll("dialog p")].filter((p) => p.textContent.length > 20).length`, "3")
				b.press(kb.Escape)
				b.until(`!document.querySelector("dialog")`)
			}
		})
	}
}
