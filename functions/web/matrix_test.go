package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// cell is the text of the grid's cell at a row and a column.
const cellScript = `(source, target) => {
	const lead = [...document.querySelectorAll(".line > .lead")].find((e) => e.textContent === source);
	const head = [...document.querySelectorAll(".headings > .head")].find((e) => e.textContent === target);
	return document.querySelector('.cell[data-r="' + lead.dataset.r + '"][data-c="' + head.dataset.c + '"]');
}`

func cell(source, target string) string {
	return "(" + cellScript + `)("` + source + `", "` + target + `")`
}

func TestTheMatrixIsShown(t *testing.T) {
	q := newQuery(t)
	b := open(t, q, 1280, 900)
	b.visit("/matrix")
	b.until(`document.querySelectorAll("#matrix .line").length === 10`)
	b.want(`document.querySelector(".environment").textContent`, "test")
	b.want(cell("westeurope", "eastus")+".textContent", "82.1")
	b.want(cell("japaneast", "brazilsouth")+".textContent", "timeout")
	b.want(cell("brazilsouth", "southeastasia")+".textContent", "missing")
	b.want(cell("westeurope", "westeurope")+".textContent", "")
	b.want(`document.querySelector(".simulated").hidden`, "true")
	b.want("location.hash", "#/matrix") // and no key
}

func TestKeysMoveInTheGrid(t *testing.T) {
	b := open(t, newQuery(t), 1280, 900)
	b.visit("/matrix")
	b.do(chromedp.Focus(chromedp.CSS("#matrix")))
	b.press(kb.ArrowDown, kb.ArrowRight, kb.ArrowRight)
	b.want(`document.querySelector(".cursor").dataset.r + "," + document.querySelector(".cursor").dataset.c`, "1,2")
}
